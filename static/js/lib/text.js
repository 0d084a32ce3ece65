// Small pure functions over text and JSON.

/** @import { Json } from "./wire.d.ts" */

const letters = new Intl.Segmenter();

/** The first letter a name is known by. @param {string | null | undefined} name */
export function initial(name) {
  const [first] = letters.segment(name?.trim() || "?");
  return (first?.segment ?? "?").toLocaleUpperCase();
}

/**
 * Cuts a text at mark ranges. Ranges are [start, end) in UTF-16 code units and may overlap or lie outside.
 * @param {string} text
 * @param {[number, number][]} marks
 * @returns {{text: string, marked: boolean}[]}
 */
export function cutAtMarks(text, marks) {
  const parts = [];
  let at = 0;
  for (const [start, end] of [...marks].sort((a, b) => a[0] - b[0])) {
    const from = Math.max(at, start);
    if (end <= from) continue;
    parts.push({ text: text.slice(at, from), marked: false }, { text: text.slice(from, end), marked: true });
    at = end;
  }
  parts.push({ text: text.slice(at), marked: false });
  return parts.filter((part) => part.text !== "");
}

/** The server's words begin small and end without a period; a reader gets a sentence. @param {string | null | undefined} words */
export function sentence(words) {
  const text = (words ?? "").trim();
  if (text === "") return "";
  return text.charAt(0).toLocaleUpperCase() + text.slice(1) + (/[.!?…。！？"”`]$/.test(text) ? "" : ".");
}

/** The text of a card where nobody plays it yet: with names for the marks that stand for them. @param {string | null | undefined} text @param {{char: string, user: string}} names */
export const withNames = (text, { char, user }) => (text ?? "").replace(/\{\{\s*(char|user)\s*\}\}/gi, (_, which) => (which.toLowerCase() === "char" ? char : user));

/** A piece of Markdown without its marks, and without the tags of HTML that models write. @param {string} piece */
export const unmarked = (piece) => piece.replace(/<\/?[a-z][\w-]*(?:\s+[\w-]+=(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))*\s*\/?>|[*_`]+|^[#>]+\s/gim, "");

/** Markdown as it is read aloud: without its marks. @param {string} markdown */
export const plain = (markdown) => markdown.replace(/^[#>\s-]+|[*_`]/gm, "").replace(/\s+/g, " ");

/** Whether a text has no character of an East Asian script. @param {string} text */
export const isWestern = (text) => !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(text);

/** One step of a JSON Pointer. @param {string} key */
export function escapeStep(key) {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** @param {string} pointer @returns {string[]} */
export function steps(pointer) {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** @param {Json | undefined} value @param {string} pointer @returns {Json | undefined} */
export function valueAt(value, pointer) {
  /** @type {Json | undefined} */
  let at = value;
  for (const step of steps(pointer)) {
    if (at === null || typeof at !== "object") return undefined;
    at = Array.isArray(at) ? at[Number(step)] : at[step];
  }
  return at;
}

/** "hit_points" and "hitPoints" -> "Hit points" @param {string} key */
export function humanise(key) {
  const words = key.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A JSON value on one line for a reader. @param {Json | undefined} value @returns {string} */
export function brief(value) {
  if (value === undefined || value === null) return "–";
  if (Array.isArray(value)) return value.map(brief).join(", ") || "–";
  if (typeof value === "object") {
    return Object.entries(value).map(([key, inner]) => `${humanise(key)}: ${brief(inner)}`).join(", ") || "–";
  }
  return String(value);
}

/** A number with its sign, with a true minus. @param {number} n */
export function signed(n) {
  const rounded = Number(n.toPrecision(12));
  return rounded < 0 ? `−${-rounded}` : `+${rounded}`;
}
