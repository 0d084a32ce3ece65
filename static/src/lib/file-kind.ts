// Decides where an imported file belongs: by its name, or by its content if the name is not enough.
import type { Unchecked } from "./wire.d.ts";

/**
 * The importer of a file: a story of Clotho, a card, lorebook, persona or preset of another program, or any other
 * foreign file.
 */
type FileKind = "session" | "card" | "book" | "persona" | "preset" | "foreign";

/** Maximum size of a JSON file that is read here, in bytes. A larger one is no card and goes to the foreign import. */
const MAX_JSON = 16 << 20;

/** Maximum number of PNG chunks that are read. The texts of a card are near the beginning or the end. */
const MAX_CHUNKS = 20_000;

export async function fileKind(file: File): Promise<FileKind> {
  switch (extensionOf(file.name)) {
    case "clotho":
      return "session";
    case "lorebook":
      return "book";
    case "charx":
    case "byaf":
    case "yaml":
    case "yml":
      return "card";
    case "png":
      return (await keywords(file)).includes("naidata") ? "book" : "card";
    case "json":
      return file.size > MAX_JSON ? "foreign" : jsonKind(await file.text());
    default:
      return "foreign";
  }
}

const extensionOf = (name: string) => name.slice(name.lastIndexOf(".") + 1).toLowerCase();

export function jsonKind(text: string): FileKind {
  const value = parsed(text);
  if (value === undefined) return guessKind(text);
  if (value === null || typeof value !== "object") return "foreign";
  if (Array.isArray(value)) return value[0]?.findRegex === undefined ? "foreign" : "preset";
  const has = (...keys: string[]) => keys.some((key) => key in value);
  if (has("power_user", "persona_descriptions")) return "persona";
  if (value.spec === "lorebook_v3") return "book";
  if (has("spec") || has("first_mes", "char_name", "char_greeting") || value.kind === "character") return "card";
  if (value.type === "risu" || value.kind === "memory" || has("lorebookVersion") || isEntries(value.entries))
    return "book";
  if (
    has("name") &&
    has("description", "personality", "scenario", "mes_example") &&
    !has("messages", "history", "chat")
  )
    return "card";
  if (Object.keys(value).length === 0) return "card";
  return has(...PRESETS) || TEMPLATES.some((keys) => keys.every((key) => key in value)) ? "preset" : "foreign";
}

/** Keys that only presets have, and key sets of small templates. */
const PRESETS = [
  "prompts",
  "prompt_order",
  "findRegex",
  "qrList",
  "main_text_color",
  "input_sequence",
  "story_string",
  "tail_free_sampling",
  "mirostat_mode",
  "rep_pen_slope",
];
const TEMPLATES = [
  ["prefix", "suffix", "separator"],
  ["name", "content"],
];

/** Keys of one kind of file. Kinds that contain others come first: a card contains a lorebook. */
const MARKS: [FileKind, RegExp][] = [
  ["persona", /"(power_user|persona_descriptions)"\s*:/],
  ["card", /"(spec|first_mes|char_name|char_greeting)"\s*:/],
  ["foreign", /"(messages|mapping|history|mes)"\s*:/],
  ["preset", new RegExp(`"(${PRESETS.join("|")})"\\s*:`)],
  ["book", /"(entries|lorebookVersion)"\s*:/],
];

/** Guesses the kind of JSON that is cut off or has a syntax error. Its importer lets the server report the error. */
const guessKind = (text: string): FileKind => MARKS.find(([, mark]) => mark.test(text))?.[0] ?? "card";

/** Whether the value is the map or list of entries of a lorebook. */
const isEntries = (entries: unknown) => typeof entries === "object" && entries !== null;

/** Returns the parsed JSON, or `undefined` if it is not JSON. */
function parsed(text: string): Unchecked {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}

/** Returns the keywords of a PNG's text chunks without reading the whole picture. */
async function keywords(file: Blob) {
  const found = [];
  for (let at = 8, n = 0; at + 8 < file.size && n < MAX_CHUNKS; n += 1) {
    const head = new Uint8Array(await file.slice(at, at + 8 + 80).arrayBuffer());
    const length = new DataView(head.buffer).getUint32(0);
    const [kind, data] = [text(head.subarray(4, 8)), head.subarray(8, 8 + length)];
    if (/^(tEXt|zTXt|iTXt)$/.test(kind)) found.push(text(data.subarray(0, data.indexOf(0))).toLowerCase());
    if (kind === "IEND") break;
    at += length + 12;
  }
  return found;
}

/** The first bytes of a PNG. */
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/**
 * Returns what is wrong with a file that the server refused, as the word of a reason: it is empty, or a picture without
 * its end.
 */
export async function fileFault(file: Blob): Promise<"empty_file" | "cut_picture" | null> {
  if (file.size === 0) return "empty_file";
  const begin = new Uint8Array(await file.slice(0, PNG.length).arrayBuffer());
  if (PNG.some((byte, i) => begin[i] !== byte)) return null;
  for (let at = PNG.length, n = 0; n < MAX_CHUNKS; n += 1) {
    const head = new Uint8Array(await file.slice(at, at + 8).arrayBuffer());
    if (head.length < 8) return "cut_picture";
    at += new DataView(head.buffer).getUint32(0) + 12;
    if (at > file.size) return "cut_picture";
    if (text(head.subarray(4)) === "IEND") return null;
  }
  return null;
}

const text = (bytes: Uint8Array) => new TextDecoder("latin1").decode(bytes);
