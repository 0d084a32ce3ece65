// What the server reports with a code and arguments, in the reader's language where the page has words for it.
import { addEnglish, placesOf, t, wordFor } from "./i18n.ts";
import words from "./strings/en-problems.ts";
import { isWestern } from "./text.ts";
import type { Args, Failure } from "./wire.d.ts";

addEnglish(words);

/** The types of JSON in words. */
const typesOf = (kinds: string) =>
  kinds
    .split(", ")
    .map((kind) => wordFor(`type.${kind}`) || kind)
    .join(t("problem.or"));

/** How some arguments are said. */
const SAID: Record<string, (value: string) => string> = {
  kind: typesOf,
  kinds: typesOf,
  choices: (value) => value.replaceAll(", ", t("problem.comma")),
};

const varsOf = (args: Args): Record<string, string> =>
  Object.fromEntries(Object.entries(args).map(([name, value]) => [name, (SAID[name] ?? String)(String(value))]));

/** The text of a key with all of its arguments; undefined where there is none, or an argument is missing. */
export function filled(key: string, args: Args) {
  const text = wordFor(key, varsOf(args));
  const isWhole = placesOf(key).every((name) => args[name] !== undefined && args[name] !== null);
  return text && isWhole ? text : undefined;
}

/** A sentence of a language without capitals ends as its sentences do. */
export const ended = (text: string) => (isWestern(text) ? text : text.replace(/[.。]?$/, "。"));

/** A problem or a note, in the reader's language where the page has words for its code. */
export function told({ code = "", args = {}, message }: Failure) {
  const text = filled(`problem.${code}`, { error: message, ...args });
  if (text === undefined) return message;
  return ended(args.name ? t("problem.at", { name: String(args.name), what: text }) : text);
}
