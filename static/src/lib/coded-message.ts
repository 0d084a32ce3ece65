// Reports of the server with code and arguments, in the user's language if the page has a text for the code.
import { addEnglish, placeholdersOf, t, optionalText } from "./i18n.ts";
import words from "./strings/en-problems.ts";
import { isWestern, sentence } from "./text.ts";
import type { Args, Failure } from "./wire.d.ts";

addEnglish(words);

/** Returns JSON types in words. */
const typesOf = (kinds: string) =>
  kinds
    .split(", ")
    .map((kind) => optionalText(`type.${kind}`) || kind)
    .join(t("problem.or"));

/** Arguments that are translated before they are filled in. */
const TRANSLATED_ARGUMENTS: Record<string, (value: string) => string> = {
  kind: typesOf,
  kinds: typesOf,
  choices: (value) => value.replaceAll(", ", t("problem.comma")),
};

const varsOf = (args: Args): Record<string, string> =>
  Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, (TRANSLATED_ARGUMENTS[name] ?? String)(String(value))]),
  );

/**
 * Returns the text of a key with all arguments; `undefined` if the text or an argument is missing. The first number in a
 * text chooses its form.
 */
export function filledText(key: string, args: Args) {
  const places = placeholdersOf(key);
  const counted = places.find((name) => typeof args[name] === "number");
  const text = optionalText(key, { ...varsOf(args), ...(counted && { n: Number(args[counted]) }) });
  const isWhole = places.every((name) => args[name] !== undefined && args[name] !== null);
  return text && isWhole ? text : undefined;
}

/** Ends a text in a script without capitals with its own full stop. */
export const withFullStop = (text: string) => (isWestern(text) ? text : text.replace(/[.。]?$/, "。"));

/**
 * Returns a message in the user's language if the page has a text for its code, otherwise the server's sentence.
 * @param family what the keys of its texts start with
 */
export function messageText(family: string, { code = "", args = {}, message }: Failure) {
  const key = `${family}.${code}`;
  const text = filledText(key, args) ?? filledText(`${key}.bare`, args) ?? message;
  return isWestern(text) ? sentence(text) : text;
}

/** Returns a problem or a note in the user's language if the page has a text for its code. */
export function codedMessageText({ code = "", args = {}, message }: Failure) {
  const text = filledText(`problem.${code}`, { error: message, ...args });
  if (text === undefined) return message;
  return withFullStop(args.name ? t("problem.at", { name: String(args.name), what: text }) : text);
}
