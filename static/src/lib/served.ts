// What the server says of a model server that did not answer, in the reader's language where the page has words for it.
import { addEnglish, t, wordFor } from "./i18n.ts";
import words from "./strings/en-why.ts";
import { isWestern, sentence } from "./text.ts";
import type { Key } from "./i18n.ts";

addEnglish(words);

/** What a model server did that took too long. */
const LATE = "accepted no connection|sent no text|fell silent and sent nothing more";

/** The server's sentences, with what they are told by. */
const SAID: [RegExp, Key][] = [
  [/^the provider's settings cannot work: (?<words>.*)$/s, "served.misconfigured"],
  [/^the model server cannot be reached: (?<words>.*)$/s, "served.unreachable"],
  [new RegExp(`^the model server (?:${LATE}) within (?<words>[\\d.]+) s$`), "served.timeout"],
  [/^the model server refused the request \((?<status>\d+)\): (?<words>.*)$/s, "served.refused"],
  [/^the model server asks to wait: (?<words>.*)$/s, "served.wait"],
  [/^the model server failed \((?<status>\d+)\): (?<words>.*)$/s, "served.failedAs"],
  [/^the model server failed: (?<words>.*)$/s, "served.failed"],
  [
    /^the model server failed (?<status>\d+) times in a row and is left alone for \d+ s; the last time: (?<words>.*)$/s,
    "served.resting",
  ],
  [/^the model server's answer cannot be understood: (?<words>.*)$/s, "served.garbled"],
  [/^the reply was cut off before its end$/, "served.cutOff"],
  [/^the vectors of (?<words>.+) are of another size than they were$/, "served.resized"],
];

/** What a system says of a connection. */
const CAUSES: [RegExp, Key][] = [
  [/connection refused(?: \(os error \d+\))?/i, "served.refusedConnection"],
  [/connection reset by peer(?: \(os error \d+\))?/i, "served.reset"],
  [/(?:dns error|failed to lookup address information).*$/is, "served.noName"],
];

const causeOf = (cause: string) =>
  CAUSES.reduce((said, [pattern, key]) => said.replace(pattern, () => t(key)), inWords(cause) ?? cause);

function inWords(message: string): string | undefined {
  for (const [pattern, key] of SAID) {
    const found = pattern.exec(message);
    if (found) return t(key, { status: found.groups?.status ?? "", words: causeOf(found.groups?.words ?? "") });
  }
  return undefined;
}

/**
 * A sentence about a model server; the name of a model before it stays.
 * @param code what kind of failure it is, where the server says so: of a sentence that nobody knows it is told at
 * least that
 */
export function served(message: string | null | undefined, code: string = "") {
  const said = (message ?? "").trim();
  const [, model = "", rest = said] = /^(\S+): (the .*)$/s.exec(said) ?? [];
  const own = inWords(rest);
  if (own === undefined) return [wordFor(`failure.${code}`), sentence(said)].filter(Boolean).join(" ");
  const whole = isWestern(own) ? sentence(own) : own.replace(/[.。]?$/, "。");
  return model ? `${model}: ${whole}` : whole;
}
