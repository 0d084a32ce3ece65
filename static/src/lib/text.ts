// Small pure functions for text and JSON.
import type { Json } from "./wire.d.ts";

const letters = new Intl.Segmenter();

/** Returns the initial of a name. */
export function initial(name: string | null | undefined) {
  const [first] = letters.segment(name?.trim() || "?");
  return (first?.segment ?? "?").toLocaleUpperCase();
}

/** Cuts a text at marked ranges. Ranges are [start, end) in UTF-16 code units; they may overlap or be out of bounds. */
export function cutAtMarks(text: string, marks: [number, number][]): { text: string; marked: boolean }[] {
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

/** Turns a message of the server into a sentence. Such messages start with a small letter and have no full stop. */
export function sentence(words: string | null | undefined) {
  const text = (words ?? "").trim();
  if (text === "") return "";
  return text.charAt(0).toLocaleUpperCase() + text.slice(1) + (/[.!?…。！？"”`]$/.test(text) ? "" : ".");
}

/** Fills in the names in a card's text outside a session. */
export const withNames = (text: string | null | undefined, { char, user }: { char: string; user: string }) =>
  (text ?? "").replace(/\{\{\s*(char|user)\s*\}\}/gi, (_, which) => (which.toLowerCase() === "char" ? char : user));

/** Removes Markdown marks and HTML tags from a piece of text. */
export const withoutMarkup = (piece: string) =>
  piece.replace(/<\/?[a-z][\w-]*(?:\s+[\w-]+=(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))*\s*\/?>|[*_`]+|^[#>]+\s/gim, "");

/** Returns Markdown as plain text on one line. */
export const plainText = (markdown: string) => markdown.replace(/^[#>\s-]+|[*_`]/gm, "").replace(/\s+/g, " ");

/** Whether a text has no East Asian characters. */
export const isWestern = (text: string) =>
  !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(text);

/** Escapes one step of a JSON Pointer. */
export function escapeStep(key: string) {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function steps(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function valueAt(value: Json | undefined, pointer: string): Json | undefined {
  let at: Json | undefined = value;
  for (const step of steps(pointer)) {
    if (at === null || typeof at !== "object") return undefined;
    at = Array.isArray(at) ? at[Number(step)] : at[step];
  }
  return at;
}

/** Turns a key into a label: "hit_points" and "hitPoints" become "Hit points". */
export function labelFromKey(key: string) {
  const words = key
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .trim()
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Formats a JSON value on one line. */
export function compactJson(value: Json | undefined): string {
  if (value === undefined || value === null) return "–";
  if (Array.isArray(value)) return value.map(compactJson).join(", ") || "–";
  if (typeof value === "object") {
    return (
      Object.entries(value)
        .map(([key, inner]) => `${labelFromKey(key)}: ${compactJson(inner)}`)
        .join(", ") || "–"
    );
  }
  return String(value);
}

/** Formats a number with a sign; minus is "−". */
export function signed(n: number) {
  const rounded = Number(n.toPrecision(12));
  return rounded < 0 ? `−${-rounded}` : `+${rounded}`;
}
