// Failures of model servers as sentences, in the user's language if the page has a text for them.
import { t, optionalText } from "./i18n.ts";
import { isWestern, sentence } from "./text.ts";
import { withFullStop, filledText } from "./coded-message.ts";
import type { Args, Failure, Json } from "./wire.d.ts";

/** Returns what a model server said, why there was no connection, or what is wrong with the settings of a provider. */
function serverWords(args: Args): Json | undefined {
  const { cause, reason, words } = args;
  return (
    (cause && optionalText(`served.cause.${cause}`)) || (reason && filledText(`provider.${reason}`, args)) || words
  );
}

function translatedFailure(code: string, args: Args): string | undefined {
  const { last, ...other } = args;
  // While a server is paused, the report contains its last failure.
  const words = last ? translatedFailure(String(last), other) : serverWords(args);
  const all = words === undefined ? args : { ...args, words };
  return filledText(`served.${code}`, all) ?? filledText(`served.${code}.bare`, all);
}

/**
 * Returns the text under the title of a failure: the words of a model server or plugin, otherwise the whole sentence.
 */
export function failureDetail(failure: Failure) {
  const { args, message } = failure;
  if (!args) return sentence(message);
  const words = args.last === undefined && serverWords(args);
  if (!words) return modelFailureText(failure);
  const text = [args.status ? `(${args.status})` : "", String(words)].filter(Boolean).join(" ");
  return isWestern(text) ? sentence(text) : withFullStop(text);
}

/**
 * Returns a sentence about a model that failed. The model's name comes first.
 * @param failure older versions stored only a sentence
 */
export function modelFailureText(failure: Failure | string | null | undefined) {
  const {
    code = "",
    args = {},
    message,
  }: Failure = typeof failure === "object" && failure !== null ? failure : { message: failure ?? "" };
  const own = translatedFailure(code, args);
  if (own === undefined) return [optionalText(`failure.${code}`), sentence(message)].filter(Boolean).join(" ");
  const whole = isWestern(own) ? sentence(own) : withFullStop(own);
  return args.model ? t("problem.at", { name: String(args.model), what: whole }) : whole;
}
