// The text of a finding of an import report, from its code and arguments.
import { filledText } from "./coded-message.ts";
import { addEnglish, optionalText } from "./i18n.ts";
import words from "./strings/en-findings.ts";
import { isWestern, sentence } from "./text.ts";
import { number } from "./units.ts";
import type { Args, Finding } from "./wire.d.ts";

addEnglish(words);

/** Returns the arguments as a text shows them. A reason is a word that has a text, or a text of the server. */
function shownArgs({ args = {}, count }: Finding): Args {
  const shown: Args = {};
  for (const [name, value] of Object.entries(args)) shown[name] = typeof value === "number" ? number(value) : value;
  if (typeof args.reason === "string") shown.reason = optionalText(`finding.reason.${args.reason}`) || args.reason;
  return { ...shown, n: count, count: number(count) };
}

/** Returns the text with the most detail for which the finding has all arguments; "" if the page has none. */
export function findingContent(finding: Finding) {
  const { code, fate, args = {} } = finding;
  const shown = shownArgs(finding);
  const parts = [...(typeof args.kind === "string" ? [args.kind] : []), fate, "full"];
  const keys = [...parts.map((part) => `finding.${code}.${part}`), `finding.${code}`, `finding.${code}.bare`];
  for (const key of keys) {
    const text = filledText(key, shown);
    if (text) return isWestern(text) ? sentence(text) : text;
  }
  return "";
}

/** Returns the text for findings with one code that say different things; "" if there is none. */
export function groupContent(code: string, count: number) {
  const shown = { n: count, count: number(count) };
  return filledText(`finding.${code}.bare`, shown) ?? filledText(`finding.${code}`, shown) ?? "";
}
