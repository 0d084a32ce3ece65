// The generation parameters that have fields of their own, in SillyTavern's order. Parameters have OpenAI's names; the
// server renames them for each kind of model server. Further parameters are sent as they are.

import type { Session } from "./wire.d.ts";

/** A number field: name, minimum, maximum and step. */
export const GENERATION_NUMBERS: [name: string, least: number, most: number | undefined, step: string][] = [
  ["max_tokens", 1, undefined, "1"],
  ["temperature", 0, 5, "any"],
  ["top_p", 0, 1, "any"],
  ["top_k", 0, undefined, "1"],
  ["min_p", 0, 1, "any"],
  ["top_a", 0, 1, "any"],
  ["typical_p", 0, 1, "any"],
  ["repetition_penalty", 0, 5, "any"],
  ["frequency_penalty", -2, 2, "any"],
  ["presence_penalty", -2, 2, "any"],
  ["seed", 0, undefined, "1"],
];

const NAMED = new Set([...GENERATION_NUMBERS.map(([name]) => name), "stop"]);

type Params = Session["params"];

/** Returns the parameters without a field of their own. */
export const otherParams = (params: Params): Params =>
  Object.fromEntries(Object.entries(params).filter(([name]) => !NAMED.has(name)));

/** Returns the stop strings as lines. A line break inside one is written as `\n`. */
export function stopLines({ stop }: Params) {
  const all = Array.isArray(stop) ? stop : stop === undefined || stop === null ? [] : [stop];
  return all.map((one) => String(one).replaceAll("\n", "\\n")).join("\n");
}

/**
 * Returns the parameters in a form.
 * @param word returns the text of a field
 * @returns null if the other parameters are no JSON object
 */
export function paramsFromForm(word: (name: string) => string): Params | null {
  const params: Params = {};
  for (const [name] of GENERATION_NUMBERS) if (word(name).trim()) params[name] = Number(word(name));
  const stop = word("stop")
    .split("\n")
    .map((line) => line.replace(/\r$/, "").replaceAll("\\n", "\n"))
    .filter(Boolean);
  if (stop.length > 0) params.stop = [...new Set(stop)];
  const others = objectIn(word("others"));
  return others && { ...others, ...params };
}

/** Parses a JSON object; an empty text is an empty object. */
function objectIn(text: string): Params | null {
  if (!text.trim()) return {};
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Params) : null;
  } catch {
    return null;
  }
}
