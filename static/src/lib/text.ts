// Small pure functions over text and JSON.
import type { Json } from "./wire.d.ts";

const letters = new Intl.Segmenter();

/** The first letter a name is known by. */
export function initial(name: string | null | undefined) {
  const [first] = letters.segment(name?.trim() || "?");
  return (first?.segment ?? "?").toLocaleUpperCase();
}

/** Cuts a text at mark ranges. Ranges are [start, end) in UTF-16 code units and may overlap or lie outside. */
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

/** The server's words begin small and end without a period; a reader gets a sentence. */
export function sentence(words: string | null | undefined) {
  const text = (words ?? "").trim();
  if (text === "") return "";
  return text.charAt(0).toLocaleUpperCase() + text.slice(1) + (/[.!?…。！？"”`]$/.test(text) ? "" : ".");
}

/** The text of a card where nobody plays it yet: with names for the marks that stand for them. */
export const withNames = (text: string | null | undefined, { char, user }: { char: string; user: string }) =>
  (text ?? "").replace(/\{\{\s*(char|user)\s*\}\}/gi, (_, which) => (which.toLowerCase() === "char" ? char : user));

/** A piece of Markdown without its marks, and without the tags of HTML that models write. */
export const unmarked = (piece: string) =>
  piece.replace(/<\/?[a-z][\w-]*(?:\s+[\w-]+=(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))*\s*\/?>|[*_`]+|^[#>]+\s/gim, "");

/** Markdown as it is read aloud: without its marks. */
export const plain = (markdown: string) => markdown.replace(/^[#>\s-]+|[*_`]/gm, "").replace(/\s+/g, " ");

/** Whether a text has no character of an East Asian script. */
export const isWestern = (text: string) =>
  !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(text);

/** One step of a JSON Pointer. */
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

/** "hit_points" and "hitPoints" -> "Hit points" */
export function humanise(key: string) {
  const words = key
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .trim()
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A JSON value on one line for a reader. */
export function brief(value: Json | undefined): string {
  if (value === undefined || value === null) return "–";
  if (Array.isArray(value)) return value.map(brief).join(", ") || "–";
  if (typeof value === "object") {
    return (
      Object.entries(value)
        .map(([key, inner]) => `${humanise(key)}: ${brief(inner)}`)
        .join(", ") || "–"
    );
  }
  return String(value);
}

/** A number with its sign, with a true minus. */
export function signed(n: number) {
  const rounded = Number(n.toPrecision(12));
  return rounded < 0 ? `−${-rounded}` : `+${rounded}`;
}
