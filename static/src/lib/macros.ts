// The macros that scripts need on the page: names, texts of cards, variables, chance, time. Pure. The server fills in
// the macros of prompts and knows all of them (`crates/compat/src/prompt/macros/`). A macro that is unknown here stays
// as text.
import type { Json } from "./wire.d.ts";

/** The values that macros can use. */
interface MacroValues {
  /** Names and texts of cards, by macro. */
  values: Record<string, string>;
  /** The variables of the session. */
  local: Record<string, Json>;
  /** The variables of all sessions. */
  global: Record<string, Json>;
}

/** Maximum nesting depth, number of macros per text, and number of characters that they write. */
const [MAX_DEEP, MAX_MACROS, MAX_WORK] = [32, 20_000, 1 << 22];
const MAX_REPEATS = 10_000;
const MAX_DICE = 10_000;
const MAX_VALUE = 1 << 20;

/** Braces open a macro only before a possible name. */
const MARKS = /\\[{}]|\{\{(?=[\s!?~>#/]*[.$/a-z])|\}\}|::|<(user|bot|char|group|charifnotgroup)>/gi;

/** A mark left in the text; the line breaks around it are removed at the end. */
const TRIM = "{{trim}}";

const number = (text: string) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : null);

/** Returns a value as text. A text that is a number is written as that number. */
function textOf(value: Json | undefined) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return typeof value === "object" ? JSON.stringify(value) : String(value);
  const n = number(value);
  return n !== null && Math.abs(n) <= Number.MAX_SAFE_INTEGER ? String(n) : value;
}

/** Returns the value at a path inside a value. */
function valueInside(value: Json | undefined, keys: string[]): Json | undefined {
  let at = value;
  for (const key of keys) {
    if (at === null || typeof at !== "object") return undefined;
    at = Array.isArray(at) ? at[Number(key)] : Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

/** Parses JSON text; `undefined` if it is invalid. Values that are no text stay. */
function parseJson(value: Json | undefined): Json | undefined {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** Removes keys that are never shown: those that start with `$`. */
function withoutInternal(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((one) => withoutInternal(one) ?? null);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (key.startsWith("$") ? [] : [[key, withoutInternal(one) ?? null]])),
  );
}

/** Variables as one text sees them. What its macros write is only visible in this text. */
class Variables {
  kept: Record<string, Json>;
  own = new Map<string, Json | undefined>();

  constructor(values: Record<string, Json>) {
    this.kept = values;
  }

  value(name: string): Json | undefined {
    if (this.own.has(name)) return this.own.get(name);
    if (Object.hasOwn(this.kept, name)) return this.kept[name];
    const [first = "", ...rest] = name.split(/[./]/);
    const root = this.own.has(first)
      ? this.own.get(first)
      : Object.hasOwn(this.kept, first)
        ? this.kept[first]
        : undefined;
    return rest.length > 0 ? valueInside(root, rest) : undefined;
  }

  /** @param path in the notation of MVU cards */
  at(path: string) {
    const keys = [...path.trim().matchAll(/\[\s*["'`]?([^\]]*?)["'`]?\s*\]|[^.[/]+/g)].map(([all, key]) => key ?? all);
    const [first = "", ...rest] = keys;
    return valueInside(this.value(first), rest);
  }

  set(name: string, value: Json | undefined) {
    if (typeof value === "string" && value.length > MAX_VALUE) return;
    this.own.set(name, value);
  }

  add(name: string, more: string) {
    const now = this.value(name);
    const list = parseJson(now);
    if (Array.isArray(list)) return this.set(name, JSON.stringify([...list, more]));
    const [one, other] = [number(textOf(now) || "0"), number(more)];
    this.set(name, one !== null && other !== null ? one + other : textOf(now) + more);
  }
}

/** Returns a random generator for numbers from 0 up to, not including, 1. The same text gives the same numbers. */
function randomFor(text: string) {
  let seed = 2166136261;
  for (let i = 0; i < text.length; i += 1) seed = Math.imul(seed ^ text.charCodeAt(i), 16777619);
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Returns the choices of a macro.
 * @param args several choices, or one text separated by commas; `\,` does not separate
 */
const choices = (args: string[]) =>
  args.length === 1 ? (args[0] ?? "").split(/(?<!\\),/).map((one) => one.trim().replaceAll("\\,", ",")) : args;

function roll(written: string, draw: () => number) {
  const dice = /^(?:([1-9]\d{0,5})?d([1-9]\d{0,8}|%)([+-]\d{1,9})?|([1-9]\d{0,8}))$/i.exec(written.trim());
  if (!dice) return "";
  const [, count = "1", sides, more = "0", alone] = dice;
  if (Number(count) > MAX_DICE) return null;
  const most = Number(alone ?? (sides === "%" ? 100 : sides));
  let total = Number(more);
  for (let n = 0; n < Number(count); n += 1) total += Math.floor(draw() * most) + 1;
  return String(total);
}

const two = (n: number) => String(n).padStart(2, "0");
const moment = (how: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-US", how).format(new Date());

/** Fills in the macros in the pieces of one text. */
export class Macros {
  values: Map<string, string>;
  local: Variables;
  global: Variables;
  random: () => number;
  macros = 0;
  work = 0;

  /** @param text the text being changed; it is the seed for random numbers */
  constructor({ values, local, global }: MacroValues, text: string) {
    this.values = new Map(Object.entries(values).map(([name, value]) => [name.toLowerCase(), value]));
    this.local = new Variables(local);
    this.global = new Variables(global);
    this.random = randomFor(text);
  }

  /** @param speaker the name that `{{char}}` becomes */
  fill(text: string, speaker: string | null) {
    if (!/[{}<]/.test(text)) return text;
    return finishText(this.#read(text, speaker));
  }

  /** Reads the text once from left to right. An unclosed macro stays as text, but macros inside it are filled in. */
  #read(text: string, speaker: string | null) {
    const open: { raw: string; args: string[] }[] = [{ raw: "", args: [""] }];
    let at = 0;
    const put = (part: string) => {
      const frame = open.at(-1) as { raw: string; args: string[] };
      frame.raw += part;
      frame.args.push((frame.args.pop() ?? "") + part);
    };
    for (const found of text.matchAll(MARKS)) {
      const [mark, angle] = found;
      put(text.slice(at, found.index));
      at = found.index + mark.length;
      const inner = open.at(-1) as { raw: string; args: string[] };
      if (mark === "{{" && open.length <= MAX_DEEP) open.push({ raw: "", args: [""] });
      else if (mark === "}}" && open.length > 1) {
        open.pop();
        const said = this.#said(inner.args, speaker);
        put(said ?? `{{${inner.raw}}}`);
      } else if (mark === "::" && open.length > 1) {
        inner.raw += mark;
        inner.args.push("");
      } else put((angle && this.#named(angle.toLowerCase() === "bot" ? "char" : angle, speaker)) || mark);
    }
    put(text.slice(at));
    return open.map(({ raw }) => raw).join("{{");
  }

  /**
   * @param parts of a macro, between its colons
   * @returns `null` if it stays as text
   */
  #said([head = "", ...rest]: string[], speaker: string | null): string | null {
    this.macros += 1;
    if (this.macros > MAX_MACROS || this.work > MAX_WORK) return null;
    const text = this.#answer(head, rest, speaker);
    this.work += text?.length ?? 0;
    return text;
  }

  #answer(head: string, rest: string[], speaker: string | null): string | null {
    if (/^\s*\/\/(?!\/)/.test(head)) return "";
    const variable = /^\s*([.$])([a-z][\w-]*)\s*$/i.exec(head);
    if (variable && rest.length === 0)
      return textOf((variable[1] === "$" ? this.global : this.local).value(variable[2] ?? ""));
    const written = /^[\s!?~>#]*([a-z][\w-]*)(?:\s*:\s*|\s+|$)([\s\S]*)$/i.exec(head);
    if (!written) return null;
    const [, name = "", first = ""] = written;
    // A single argument may follow a space or one colon. Then all further colons belong to it.
    const args = (first.trim() === "" ? rest : [[first, ...rest].join("::")]).map((arg) => arg.trim());
    if (args.length === 0) {
      const plain = this.#named(name, speaker);
      if (plain !== null) return plain;
    }
    const row = ROWS[name.toLowerCase()];
    return row && args.length >= row[0] && args.length <= row[1] ? row[2](this, args) : null;
  }

  #named(name: string, speaker: string | null) {
    const key = name.toLowerCase();
    return key === "char" && speaker !== null ? speaker : (this.values.get(key) ?? null);
  }
}

/** Removes line breaks around the trim mark, and the backslashes of escaped braces. */
const finishText = (text: string) =>
  text.replaceAll(/(?:\r?\n)*\{\{trim\}\}(?:\r?\n)*/g, "").replaceAll(/\\([{}])/g, "$1");

const repeated = (what: string): Row => [
  0,
  1,
  (_, [times = "1"]) => (/^\d+$/.test(times) && Number(times) <= MAX_REPEATS ? what.repeat(Number(times)) : null),
];

/** Minimum and maximum number of arguments, and the function. It returns `null` if the macro stays as text. */
type Row = [number, number, (macros: Macros, args: string[]) => string | null];

const rowsFor = (of: (macros: Macros) => Variables, kind: string): Record<string, Row> => ({
  [`get${kind}var`]: [1, 1, (m, [name = ""]) => textOf(of(m).value(name))],
  [`set${kind}var`]: [2, 2, (m, [name = "", value = ""]) => (of(m).set(name, finishText(value)), "")],
  [`add${kind}var`]: [2, 2, (m, [name = "", value = ""]) => (of(m).add(name, finishText(value)), "")],
  [`inc${kind}var`]: [1, 1, (m, [name = ""]) => (of(m).add(name, "1"), textOf(of(m).value(name)))],
  [`dec${kind}var`]: [1, 1, (m, [name = ""]) => (of(m).add(name, "-1"), textOf(of(m).value(name)))],
  [`has${kind}var`]: [1, 1, (m, [name = ""]) => String(of(m).value(name) !== undefined)],
  [`${kind}varexists`]: [1, 1, (m, [name = ""]) => String(of(m).value(name) !== undefined)],
  [`delete${kind}var`]: [1, 1, (m, [name = ""]) => (of(m).set(name, undefined), "")],
  [`flush${kind}var`]: [1, 1, (m, [name = ""]) => (of(m).set(name, undefined), "")],
  [`get${kind}varkey`]: [2, 2, (m, [name = "", key = ""]) => textOf(valueInside(parseJson(of(m).value(name)), [key]))],
});

const found = (of: (macros: Macros) => Variables): Row => [
  1,
  1,
  (m, [path = ""]) => {
    const value = withoutInternal(of(m).at(path));
    return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
  },
];

const ROWS: Record<string, Row> = {
  ...rowsFor((m) => m.local, ""),
  ...rowsFor((m) => m.global, "global"),
  get_message_variable: found((m) => m.local),
  get_chat_variable: found((m) => m.local),
  get_global_variable: found((m) => m.global),
  newline: repeated("\n"),
  space: repeated(" "),
  noop: [0, 0, () => ""],
  comment: [0, Infinity, () => ""],
  trim: [0, 1, (_, [words]) => words ?? TRIM],
  reverse: [1, 1, (_, [words = ""]) => [...words].reverse().join("")],
  random: [0, Infinity, (m, args) => choices(args)[Math.floor(m.random() * choices(args).length)] ?? ""],
  pick: [0, Infinity, (m, args) => choices(args)[Math.floor(m.random() * choices(args).length)] ?? ""],
  roll: [1, 1, (m, [dice = ""]) => roll(dice, m.random)],
  time: [0, 0, () => moment({ hour: "numeric", minute: "2-digit" })],
  date: [0, 0, () => moment({ dateStyle: "long" })],
  weekday: [0, 0, () => moment({ weekday: "long" })],
  isotime: [0, 0, () => `${two(new Date().getHours())}:${two(new Date().getMinutes())}`],
  isodate: [0, 0, () => `${new Date().getFullYear()}-${two(new Date().getMonth() + 1)}-${two(new Date().getDate())}`],
};
