// Completions at a position of a script, from the server's reference and from the script itself. Pure.
import { KEYWORDS } from "./rhai.ts";
import type { Completion } from "../../vendor/codemirror.js";
import type { PluginReference, ReferenceFunction } from "./wire.d.ts";

/** What is known about the plugin besides the script. */
export interface PluginContext {
  reference: PluginReference;
  settings: string[];
  values: string[];
  words: (hook: string) => string;
}

const callable = ({ name, isProperty, signature, result, description }: ReferenceFunction): Completion => ({
  label: name,
  type: isProperty ? "property" : "function",
  detail: `${signature.replace(/^ctx\./, "").slice(name.length)}${result && ` → ${result}`}`,
  info: description,
  ...(!isProperty && { apply: `${name}(` }),
});

const plain = (names: string[], type: string): Completion[] => [...new Set(names)].map((label) => ({ label, type }));

const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = ""]) => name);

/**
 * Returns the completions after `before` and the column where they start; `null` if there are none.
 * @param before the line up to the cursor
 * @param text the whole script
 * @param isAsked whether the user asked for completions
 */
export function completions(
  before: string,
  text: string,
  { reference, settings, values, words }: PluginContext,
  isAsked: boolean,
): { from: number; options: Completion[] } | null {
  const word = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
  const from = before.length - word.length;
  const ahead = before.slice(0, from);
  const path = /\bctx\.\w+\(\s*"([\w/-]*)$/.exec(before);
  if (path) return { from: before.length - (path[1] ?? "").length, options: plain(values, "constant") };
  if (/\bctx\.config\.$/.test(ahead)) return { from, options: plain(settings, "property") };
  if (/\bctx\.$/.test(ahead)) return { from, options: reference.functions.filter((one) => one.isOfCtx).map(callable) };
  if (/\bglobal::$/.test(ahead)) return { from, options: plain(found(text, /\bconst\s+(\w+)/g), "constant") };
  if (/[.\w]$|"[^"]*$|\/\//.test(ahead) || (word === "" && !isAsked)) return null;
  if (/^\s*fn\s+$/.test(ahead)) return { from, options: hooks(text, reference, words) };
  const own = [
    ...plain(found(text, /\bfn\s+(\w+)/g), "function"),
    ...plain(found(text, /\b(?:let|const|for)\s+(\w+)/g), "variable"),
  ];
  const others = reference.functions.filter((one) => !one.isOfCtx).map(callable);
  const options = [
    { label: "ctx", type: "variable" },
    ...own,
    ...others,
    ...plain(KEYWORDS, "keyword"),
    ...plain(reference.language, "function"),
  ];
  return {
    from,
    options: options.filter(({ label }, i) => label !== word && options.findIndex((one) => one.label === label) === i),
  };
}

/** Returns the hooks that the script does not define yet. */
const hooks = (text: string, reference: PluginReference, words: (hook: string) => string): Completion[] =>
  reference.hooks
    .filter(({ name }) => !new RegExp(`\\bfn\\s+${name}\\b`).test(text))
    .map(({ name, signature, description }) => ({
      label: name,
      type: "function",
      detail: signature.slice(name.length),
      info: words(name) || description,
      apply: name.endsWith("_") ? name : `${signature} {\n    \n}`,
    }));

/** Explains the name at a column of a line; `null` if it is unknown. */
export function explanationAt(line: string, column: number, reference: PluginReference) {
  const start = column - (/\w*$/.exec(line.slice(0, column))?.[0].length ?? 0);
  const name = /^\w+/.exec(line.slice(start))?.[0];
  if (!name) return null;
  const isOfCtx = /\bctx\.$/.test(line.slice(0, start));
  const isOwn = /\.$/.test(line.slice(0, start)) && !isOfCtx;
  const one = isOwn ? undefined : reference.functions.find((known) => known.name === name && known.isOfCtx === isOfCtx);
  const hook = /\bfn\s+$/.test(line.slice(0, start)) ? reference.hooks.find((known) => known.name === name) : undefined;
  const entry = one ?? hook;
  return entry
    ? {
        from: start,
        to: start + name.length,
        name,
        signature: entry.signature,
        result: one?.result ?? "",
        description: entry.description,
      }
    : null;
}
