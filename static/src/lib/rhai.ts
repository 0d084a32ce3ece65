// Syntax colours for the files of a plugin: Rhai, and simple TOML and JSON. They are CodeMirror stream parsers, but do
// not import CodeMirror. Pure.
import type { StreamParser, StringStream } from "../../vendor/codemirror.js";

export const KEYWORDS = (
  "let const if else switch do while until loop for in continue break return throw try catch fn private import " +
  "export as this global true false"
).split(" ");
const WORDS = new Set(KEYWORDS);
const ATOMS = new Set(["true", "false", "this", "global"]);
const NUMBER = /^(?:0x[\da-f_]+|0o[0-7_]+|0b[01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:e[-+]?\d+)?)/i;

/**
 * The state of the tokenizer. `comments`: depth of nested comments; `depth`: depth of brackets. `texts`: the open
 * back-tick strings, each with the number of open braces in its `${`.
 */
interface Place {
  comments: number;
  texts: number[];
  depth: number;
  before: string;
}

function comment(stream: StringStream, place: Place) {
  while (place.comments > 0 && !stream.eol()) {
    if (stream.match("*/")) place.comments -= 1;
    else if (stream.match("/*")) place.comments += 1;
    else stream.next();
  }
  return "comment";
}

/** Reads a back-tick string to its end or its next `${`. */
function long(stream: StringStream, place: Place) {
  while (!stream.eol()) {
    if (stream.match("${")) return ((place.texts[place.texts.length - 1] = 1), "string");
    if (stream.next() === "`") return (place.texts.pop(), "string");
  }
  return "string";
}

/** @param before the preceding word or dot */
function kindOf(stream: StringStream, word: string, before: string) {
  const isCall = Boolean(stream.match(/^\s*!?\(/, false));
  if (before === ".") return isCall ? "propertyName.function" : "propertyName";
  if (before === "fn") return "variableName.function.definition";
  if (ATOMS.has(word)) return "atom";
  if (WORDS.has(word)) return "keyword";
  return word === "ctx" ? "variableName.special" : isCall ? "variableName.function" : "variableName";
}

function bracket(stream: StringStream, place: Place) {
  const top = place.texts.length - 1;
  const sign = stream.next();
  const isOpen = sign === "{" || sign === "(" || sign === "[";
  const braces = (place.texts[top] ?? 0) + (sign === "{" ? 1 : sign === "}" ? -1 : 0);
  if (top >= 0) place.texts[top] = braces;
  // The brace that ends `${` belongs to the string.
  if (top >= 0 && sign === "}" && braces === 0) return "string";
  place.depth = Math.max(0, place.depth + (isOpen ? 1 : -1));
  return "bracket";
}

function token(stream: StringStream, place: Place): string | null {
  if (place.comments > 0) return comment(stream, place);
  if (place.texts.at(-1) === 0) return long(stream, place);
  if (stream.eatSpace()) return null;
  if (stream.match("//")) return (stream.skipToEnd(), "comment");
  if (stream.match("/*")) return ((place.comments = 1), comment(stream, place));
  const before = place.before;
  place.before = "";
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/)) return "string";
  if (stream.eat("`")) return (place.texts.push(0), long(stream, place));
  if (stream.match(NUMBER)) return "number";
  if (stream.match(/^[A-Za-z_]\w*/)) {
    place.before = stream.current();
    return kindOf(stream, stream.current(), before);
  }
  if (stream.match(/^[{}()[\]]/, false)) return bracket(stream, place);
  if (stream.match(/^\?*\.(?!\.)/)) return ((place.before = "."), "operator");
  if (stream.match(/^[-+*/%&|^<>=!?.:#]+?/)) return "operator";
  return (stream.next(), "punctuation");
}

export const rhai: StreamParser<Place> = {
  name: "rhai",
  startState: () => ({ comments: 0, texts: [], depth: 0, before: "" }),
  copyState: (place) => ({ ...place, texts: [...place.texts] }),
  token,
  indent: ({ depth, comments, texts }, after, { unit }) =>
    comments > 0 || texts.at(-1) === 0 ? null : unit * Math.max(0, depth - Number(/^\s*[}\])]/.test(after))),
  languageData: {
    commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
    closeBrackets: { brackets: ["(", "[", "{", '"', "`"] },
    indentOnInput: /^\s*[}\])]$/,
  },
};

export const toml: StreamParser<unknown> = {
  name: "toml",
  startState: () => ({}),
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match("#")) return (stream.skipToEnd(), "comment");
    if (stream.sol() && stream.match(/^\[\[?[^\]]*\]\]?/)) return "heading";
    if (stream.match(/^[\w."'-]+(?=\s*=)/)) return "propertyName";
    if (stream.match(/^(?:"(?:[^"\\]|\\.)*"?|'[^']*'?)/)) return "string";
    if (stream.match(/^(?:true|false)\b/)) return "atom";
    if (stream.match(/^[-+]?\d[\w.:+-]*/)) return "number";
    return (stream.next(), "punctuation");
  },
  languageData: { commentTokens: { line: "#" } },
};

export const json: StreamParser<unknown> = {
  name: "json",
  startState: () => ({}),
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return stream.match(/^\s*:/, false) ? "propertyName" : "string";
    if (stream.match(/^(?:true|false|null)\b/)) return "atom";
    if (stream.match(/^-?\d[\d.eE+-]*/)) return "number";
    return (stream.next(), "punctuation");
  },
};
