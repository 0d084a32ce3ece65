// Hidden values of a state, and how they can appear in texts of rules, prompts and tools. Pure.
import { isHidden, schemaAt, partOf } from "./schema.ts";
import { escapeStep, steps } from "./text.ts";
import type { Delta, Json, Schema, NodeWorld } from "./wire.d.ts";
import type { View } from "./schema.ts";

/** A hidden path with a current or former value. `isWhole`: no parent of it is hidden. */
interface Secret {
  plugin: string;
  names: string[];
  isWhole: boolean;
  value: Json | undefined;
}

/**
 * `own`: the hidden keys of each plugin; `said`: current and former values by name; `texts`: values that are long
 * enough to be recognised.
 */
export interface Secrets {
  own: Map<string, Set<string>>;
  said: Map<string, Set<string>>;
  texts: string[];
}

/** Minimum length of a telling text in characters. Shorter ones appear in other texts by chance. */
const MIN_LENGTH = 4;
const MIN_LENGTH_HAN = 2;

function secretsIn(
  view: View,
  schema: Schema,
  value: Json | undefined,
  path: string,
  plugin: string,
  isOut: boolean = false,
): Secret[] {
  const parts = value !== null && typeof value === "object" ? (value as { [name: string]: Json }) : {};
  return [...new Set([...Object.keys(schema.properties ?? {}), ...Object.keys(parts)])].flatMap((name) => {
    const part = partOf(view, schema, name);
    const place = `${path}/${escapeStep(name)}`;
    const isHere = isOut || isHidden(view, part, place);
    const names = Array.isArray(value) ? [] : [name, part.title ?? ""].filter(Boolean);
    const below = parts[name] === undefined ? [] : secretsIn(view, part, parts[name], place, plugin, isHere);
    return [...(isHere ? [{ plugin, names, isWhole: !isOut, value: parts[name] }] : []), ...below];
  });
}

/** Returns the hidden parts of a value at a path. */
function secretsAt(at: NodeWorld, path: string, value: Json | undefined): Secret[] {
  const found = schemaAt(at, path);
  if (!found) return [];
  const { view, schema, isOut, plugin } = found;
  const own = isOut
    ? [{ plugin, names: [steps(path).at(-1) ?? "", schema.title ?? ""].filter(Boolean), isWhole: true, value }]
    : [];
  return [...own, ...secretsIn(view, schema, value, path, plugin, isOut)];
}

/** Returns what a state hides, and the earlier values of it that are known. */
export function secretsOf(at: NodeWorld, deltas: Delta[]): Secrets {
  const all = Object.entries(at.world.vars).flatMap(([name, value]) => secretsAt(at, `/${escapeStep(name)}`, value));
  for (const { changes = [], operations = [] } of deltas) {
    for (const { path, before, after } of changes)
      all.push(...secretsAt(at, path, before), ...secretsAt(at, path, after));
    for (const one of operations)
      if ((one.in ?? "vars") === "vars")
        all.push(...secretsAt(at, one.key === undefined ? one.path : `${one.path}/${escapeStep(one.key)}`, one.value));
  }
  const secrets: Secrets = { own: new Map(), said: new Map(), texts: [] };
  const add = (to: Map<string, Set<string>>, key: string, value: string) =>
    to.set(key, (to.get(key) ?? new Set()).add(value));
  const texts = new Set<string>();
  for (const { plugin, names, isWhole, value } of all) {
    if (isWhole && names[0]) add(secrets.own, plugin, names[0]);
    if (value === undefined || value === null || typeof value === "object") continue;
    const small = String(value).toLocaleLowerCase();
    for (const name of names) add(secrets.said, name, small);
    if (typeof value === "string" && value.length >= (/\p{Script=Han}/u.test(value) ? MIN_LENGTH_HAN : MIN_LENGTH))
      texts.add(small);
  }
  return { ...secrets, texts: [...texts] };
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Whether a text reveals a hidden value: it contains the value, or the name followed by the value. */
export function reveals({ said, texts }: Secrets, text: string) {
  const small = text.toLocaleLowerCase();
  if (texts.some((one) => small.includes(one))) return true;
  return [...said].some(([name, values]) => {
    const called = `(?<![\\p{L}\\p{N}])${escaped(name.toLocaleLowerCase())}`;
    const between = "(?:\\s+(?:is|was)\\s+|\\s*[是为]\\s*|[^\\p{L}\\p{N}\\n-]{1,5})";
    const found = small.matchAll(new RegExp(`${called}${between}(-?[\\p{L}\\p{N}]+(?:\\.\\p{N}+)?)`, "gu"));
    return [...found].some(([, value = ""]) => values.has(value));
  });
}

/** Whether a problem or note is about a hidden path. Its key is at the start of the message. */
export const isAbout = ({ own }: Secrets, message: string) =>
  [...own.values()].some((keys) =>
    [...keys].some((key) => message.startsWith(`${key}: `) || message.startsWith(`${key}/`)),
  );

/** Returns an input or output of a plugin without hidden keys and without texts that reveal them. */
export function withoutSecrets(secrets: Secrets, plugin: string, value: Json): Json {
  if (typeof value === "string") return reveals(secrets, value) ? "…" : value;
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(secrets, plugin, one));
  const isOne = (key: string, inner: Json) =>
    secrets.own.get(plugin)?.has(key) || secrets.said.get(key)?.has(String(inner).toLocaleLowerCase());
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      isOne(key, inner) ? [] : [[key, withoutSecrets(secrets, plugin, inner)]],
    ),
  );
}
