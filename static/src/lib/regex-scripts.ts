// What the regex scripts of cards, presets and users do to displayed texts, as in SillyTavern. Pure. Runs only in a
// worker (`script-worker.js`), because a foreign pattern may never end. The server does the same for prompts
// (`crates/compat/src/prompt/scripts/`). It also reads the scripts for the page, and decides what is accidental in
// SillyTavern. The same recorded cases test both.
//
// The page runs them because they run on the whole text with each drawing. With 32 long replies at once, they would
// take the server 3.4 times the CPU time of the replies themselves, and more with more replies (`docs/performance.md`).
import { Macros } from "./macros.ts";
import type { Id, Json, DisplayScript } from "./wire.d.ts";

/** Kinds of text, with their numbers in script files. */
export const PLACEMENT = { user: 1, reply: 2, narrator: 3, thoughts: 6 };

/** Which text it is. */
export interface Place {
  /** Its kind, as in PLACEMENT. */
  placement: number;
  /** How the text arrived. `done`: scripts for arriving texts have already run at its source. */
  origin: "written" | "edited" | "done";
  /** Number of counted messages after it; `null` = it has no place among them. */
  depth: number | null;
  /** The character whose scripts and names apply. */
  character: Id | null;
  /** The speaker, if it is not the character. */
  speaker: string | null;
}

/** Fills in macros. A speaker replaces the character's name. */
type Fill = (text: string, speaker: string | null) => string;

/** Maximum number of characters that a text can grow. */
const MAX_GROWTH = 1 << 20;

const appliesAtDepth = ({ minDepth, maxDepth }: DisplayScript, depth: number | null) =>
  depth === null || ((minDepth === null || depth >= minDepth) && (maxDepth === null || depth <= maxDepth));

/**
 * Returns the positions of the scripts that run on a text, in order. First come scripts that change the stored text,
 * then those for display.
 */
export function stepsOf(scripts: DisplayScript[], { placement, origin, depth, character }: Place) {
  const fits = (script: DisplayScript) =>
    script.placements.includes(placement) && (script.characterId === null || script.characterId === character);
  const places = (is: (script: DisplayScript) => boolean) =>
    scripts.flatMap((script, i) => (fits(script) && is(script) ? [i] : []));
  const isKept = (script: DisplayScript) =>
    !script.isForDisplay && !script.isForPrompts && (origin === "written" || script.isOnEdit);
  return [
    ...(origin === "done" ? [] : places(isKept)),
    ...places((script) => script.isForDisplay && appliesAtDepth(script, depth)),
  ];
}

/**
 * Runs scripts on a text. `left`: the scripts left out because they made it too large.
 * @param begins called before each script, with its input
 */
export function runScripts(
  scripts: DisplayScript[],
  steps: number[],
  text: string,
  { speaker }: Place,
  fill: Fill,
  begins: (step: number, text: string) => void = () => {},
) {
  const most = text.length + MAX_GROWTH;
  const left: number[] = [];
  let now = text;
  for (const step of steps) {
    const script = scripts[step];
    if (!script || now === "") continue;
    begins(step, now);
    try {
      now = runScript(script, now, speaker, fill, most);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      left.push(step);
    }
  }
  return { text: now, left };
}

function runScript(script: DisplayScript, text: string, speaker: string | null, fill: Fill, most: number) {
  const pattern = patternOf(findOf(script, fill));
  if (!pattern) return text;
  const pieces = parseReplacement(script.replace);
  const isPlain = pieces.every((piece) => typeof piece === "string");
  let trim: string[] | null = null;
  let grown = text.length;
  return text.replace(pattern, (...found: unknown[]) => {
    const names = (typeof found.at(-1) === "object" ? found.pop() : {}) as Record<string, unknown>;
    const groups = found.slice(0, -2);
    trim ??= isPlain ? [] : script.trim.map((part) => fill(part, speaker)).filter(Boolean);
    const groupText = (group: unknown) =>
      (trim as string[]).reduce((rest, away) => rest.replaceAll(away, ""), typeof group === "string" ? group : "");
    const put = (piece: ReplacementPart) =>
      typeof piece === "string" ? piece : groupText("name" in piece ? names[piece.name] : groups[piece.group]);
    let instead = "";
    for (const piece of pieces) {
      instead += put(piece);
      if (grown + instead.length > most) throw new RangeError("too large");
    }
    const filled = /[{<\\]/.test(instead) ? fill(instead, null) : instead;
    grown += filled.length;
    if (grown > most) throw new RangeError("too large");
    return filled;
  });
}

/** A piece of a replacement. */
type ReplacementPart = string | { group: number } | { name: string };

/** Reads a replacement: `$1`, `$<name>`, and `{{match}}` in any case, which is `$0`. */
export function parseReplacement(replace: string): ReplacementPart[] {
  const pieces: ReplacementPart[] = [];
  let from = 0;
  for (const found of replace.matchAll(/\{\{match\}\}|\$(\d+)|\$<([^>]+)>/gi)) {
    const [all, number, name] = found;
    if (found.index > from) pieces.push(replace.slice(from, found.index));
    pieces.push(name === undefined ? { group: Number(number ?? 0) } : { name });
    from = found.index + all.length;
  }
  if (from < replace.length) pieces.push(replace.slice(from));
  return pieces;
}

/** Returns the pattern text of a script with its macros filled in. */
function findOf({ find, macros }: DisplayScript, fill: Fill) {
  if (macros === "plain") return find;
  return macros === "raw" ? fill(find, null) : filledAndEscaped(find, fill);
}

/** Fills in macros one by one and escapes their values. A macro that stays as text is not escaped. */
function filledAndEscaped(find: string, fill: Fill) {
  let out = "";
  let at = 0;
  for (let start = find.indexOf("{{"); start >= 0; start = find.indexOf("{{", at)) {
    const end = endOfMacro(find, start);
    if (end < 0) break;
    const one = find.slice(start, end);
    const filled = fill(one, null);
    out +=
      find.slice(at, start) +
      (filled === one ? one : filled.replace(/[\n\r\t\v\f\0.^$*+?{}[\]\\/|()]/g, (c) => ESCAPES[c] ?? `\\${c}`));
    at = end;
  }
  return out + find.slice(at);
}

const ESCAPES: Record<string, string> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\f": "\\f",
  "\0": "\\0",
};

/** Returns the end of the macro that starts here; -1 if it has none. */
function endOfMacro(text: string, start: number) {
  let depth = 0;
  for (const found of text.slice(start).matchAll(/\{\{|\}\}/g)) {
    depth += found[0] === "{{" ? 1 : -1;
    if (depth <= 0) return start + found.index + 2;
  }
  return -1;
}

/** Letters that count as flags. The engine does not support all of them. */
const FLAGS = "gmixXsuUAJ";

const patterns: Map<string, RegExp | null> = new Map();
const MAX_PATTERNS = 4_096;

/** Returns the pattern of a script; `null` if it is invalid. */
function patternOf(find: string) {
  let pattern = patterns.get(find);
  if (pattern === undefined) {
    pattern = read(find);
    if (patterns.size < MAX_PATTERNS) patterns.set(find, pattern);
  }
  return pattern;
}

/**
 * Reads a pattern. Only the first non-empty line counts. Between slashes, the letters after the last slash are flags.
 * With unknown or repeated flags, the whole text is the pattern.
 */
function read(find: string) {
  const line = find.split(/[\n\r\u2028\u2029]/).find(Boolean) ?? "";
  const slashed = /^\/(.+)\/([^/]*)$/.exec(line);
  const flags = /^[a-z]*/i.exec(slashed?.[2] ?? "")?.[0] ?? "";
  const areFlags = [...flags].every((flag, i) => FLAGS.includes(flag) && flags.indexOf(flag) === i);
  try {
    if (!slashed) return new RegExp(line);
    return areFlags ? new RegExp(slashed[1] ?? "", flags) : new RegExp(find);
  } catch {
    return null;
  }
}

/** What is needed to run scripts on texts. */
export interface ScriptSetup {
  items: DisplayScript[];
  /** The first one applies if no other does. */
  casts: { characterId: Id | null; values: Record<string, string> }[];
  globals: Record<string, Json>;
  /** The variables of the session. */
  local: Record<string, Json>;
}

/**
 * Returns the displayed form of a text.
 * @param without scripts that do not run
 */
export function displayedText(
  { items, casts, globals, local }: ScriptSetup,
  text: string,
  place: Place,
  without: number[] = [],
  begins?: (step: number, text: string) => void,
) {
  const { values = {} } = casts.find(({ characterId }) => characterId === place.character) ?? casts[0] ?? {};
  const macros = new Macros({ values, local, global: globals }, text);
  const steps = stepsOf(items, place).filter((step) => !without.includes(step));
  return runScripts(items, steps, text, place, (part, speaker) => macros.fill(part, speaker), begins);
}
