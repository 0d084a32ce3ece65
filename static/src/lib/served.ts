// What the server says of a model that did not answer, in the reader's language where the page has words for it.
import { t, wordFor } from "./i18n.ts";
import { isWestern, sentence } from "./text.ts";
import { ended, filled } from "./told.ts";
import type { Args, Failure, Json } from "./wire.d.ts";

/** What a model server said, or why there was no connection. */
const wordsOf = ({ cause, words }: Args): Json | undefined => (cause && wordFor(`served.cause.${cause}`)) || words;

function inWords(code: string, args: Args): string | undefined {
  const { last, ...other } = args;
  // A server that rests says what its last failure was.
  const words = last ? inWords(String(last), other) : wordsOf(args);
  const all = words === undefined ? args : { ...args, words };
  return filled(`served.${code}`, all) ?? filled(`served.${code}.bare`, all);
}

/**
 * What is worth reading under the title of a failure: the words of a model server or a plugin, else the whole
 * sentence.
 */
export function detailOf(failure: Failure) {
  const { args, message } = failure;
  if (!args) return sentence(message);
  const words = args.last === undefined && wordsOf(args);
  if (!words) return served(failure);
  const text = [args.status ? `(${args.status})` : "", String(words)].filter(Boolean).join(" ");
  return isWestern(text) ? sentence(text) : ended(text);
}

/**
 * A sentence about a model that did not answer; the name of the model stands before it.
 * @param failure what older versions stored is a sentence alone
 */
export function served(failure: Failure | string | null | undefined) {
  const {
    code = "",
    args = {},
    message,
  }: Failure = typeof failure === "object" && failure !== null ? failure : { message: failure ?? "" };
  const own = inWords(code, args);
  if (own === undefined) return [wordFor(`failure.${code}`), sentence(message)].filter(Boolean).join(" ");
  const whole = isWestern(own) ? sentence(own) : ended(own);
  return args.model ? t("problem.at", { name: String(args.model), what: whole }) : whole;
}
