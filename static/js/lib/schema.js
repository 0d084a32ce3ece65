// From a plugin's state schema and a world to rows that can be drawn. Pure.
import { escapeStep, humanise, steps } from "./text.js";

/** @import { Change, Delta, Json, Schema, UiHint, WorldAt } from "./wire.d.ts" */

/**
 * @typedef {"bar" | "number" | "choice" | "flag" | "list" | "map" | "text" | "group"} Kind
 * @typedef {object} Row
 * @property {string} path JSON Pointer from `vars`
 * @property {string} label
 * @property {string} about
 * @property {Kind} kind
 * @property {Schema} schema
 * @property {Json | undefined} value
 * @property {Row[]} rows of a group
 * @typedef {{plugin: string, title: string, rows: Row[]}} Group
 * @typedef {{path: string, before: Json | undefined, after: Json | undefined, why: string}} Turn
 */

/** @param {WorldAt} at @param {string} locale @returns {Group[]} */
export function groupsOf(at, locale) {
  const vars = at.world.vars ?? {};
  const governed = new Set();
  const groups = (at.schemas ?? []).map(({ plugin, root, schema, title, hidden }) => {
    const path = root.startsWith("/") ? root : `/${escapeStep(root)}`;
    const name = steps(path)[0] ?? root;
    governed.add(name);
    const row = rowOf(schema, schema, vars[name], path, name, locale);
    return { plugin, title: worded(schema, locale) || title || humanise(plugin), rows: shown(row ? row.rows : [], new Set(hidden ?? [])) };
  });
  const free = Object.entries(vars).filter(([name]) => !governed.has(name));
  const rows = free.map(([name, value]) => rowOf({}, {}, value, `/${escapeStep(name)}`, name, locale));
  if (free.length) groups.push({ plugin: "", title: "", rows: rows.filter((row) => row !== null) });
  return groups.filter((group) => group.rows.length > 0);
}

/** The rows without those that the world hides for now. @param {Row[]} rows @param {Set<string>} hidden @returns {Row[]} */
const shown = (rows, hidden) => (hidden.size === 0 ? rows : rows.filter(({ path }) => !hidden.has(path)).map((row) => ({ ...row, rows: shown(row.rows, hidden) })));

/**
 * @param {Schema} whole the schema that `$ref` points into
 * @param {Schema} part
 * @param {Json | undefined} value
 * @param {string} path
 * @param {string} key
 * @param {string} locale
 * @returns {Row | null} null where the schema hides it
 */
function rowOf(whole, part, value, path, key, locale) {
  const schema = withParts(whole, resolved(whole, part));
  if (schema["x-visible"] === false || hintOf(schema).as === "hidden") return null;
  const label = worded(schema, locale) || humanise(key);
  const kind = kindOf(schema, value);
  const rows = kind === "group" ? inner(whole, schema, value, path, locale) : [];
  return { path, label, about: hintOf(schema).description?.[locale] ?? schema.description ?? "", kind, schema, value, rows };
}

/** @param {Schema} whole @param {Schema} schema @param {Json | undefined} value @param {string} path @param {string} locale */
function inner(whole, schema, value, path, locale) {
  const object = value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  const declared = schema.properties ?? {};
  const extra = typeof schema.additionalProperties === "object" ? schema.additionalProperties : {};
  const names = new Set([...Object.keys(declared), ...Object.keys(object)]);
  return [...names]
    .map((name) => rowOf(whole, declared[name] ?? extra, object[name], `${path}/${escapeStep(name)}`, name, locale))
    .filter((row) => row !== null);
}

/** @param {Schema} whole @param {Schema} part @returns {Schema} */
function resolved(whole, part) {
  const name = /^#\/\$defs\/(.+)$/.exec(part.$ref ?? "")?.[1];
  const target = name ? whole.$defs?.[name] : undefined;
  return target ? { ...target, ...part } : part;
}

/** A schema whose own parts can be read without the whole. @param {Schema} whole @param {Schema} schema @returns {Schema} */
function withParts(whole, schema) {
  const { items, additionalProperties: others } = schema;
  return { ...schema, ...(items && { items: resolved(whole, items) }), ...(typeof others === "object" && { additionalProperties: resolved(whole, others) }) };
}

/** @param {Schema} schema @returns {UiHint} */
function hintOf(schema) {
  const hint = schema["x-ui"];
  return typeof hint === "string" ? { as: hint } : (hint ?? {});
}

/** The schema's own title, in the reader's language where it has one. @param {Schema} schema @param {string} locale */
function worded(schema, locale) {
  return hintOf(schema).title?.[locale] || schema.title || "";
}

/** What the schema calls a value in the reader's language, or "". @param {Schema} schema @param {Json | undefined} value @param {string} locale */
export function valueName(schema, value, locale) {
  const named = hintOf(schema).values ?? hintOf(schema.items ?? {}).values;
  return (named?.[locale] ?? named?.["en"])?.[String(value)] ?? "";
}

/** @param {Schema} schema @param {Json | undefined} value @returns {Kind} */
export function kindOf(schema, value) {
  const type = Array.isArray(schema.type) ? schema.type.find((t) => t !== "null") : schema.type;
  const hint = hintOf(schema).as;
  if (hint === "list") return Array.isArray(value) || type === "array" ? "list" : "map";
  if (hint === "text") return "text";
  if (schema.enum) return "choice";
  if (type === "boolean" || typeof value === "boolean") return "flag";
  if (type === "number" || type === "integer" || typeof value === "number") {
    return hint !== "chip" && isRange(schema) ? "bar" : "number";
  }
  if (type === "array" || Array.isArray(value)) return "list";
  if (type === "object" || (value !== null && typeof value === "object")) return schema.properties ? "group" : "map";
  return "text";
}

/** What a new value of a schema begins as. @param {Schema} schema @returns {Json} */
export function startValue(schema) {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum?.length) return schema.enum[0] ?? null;
  switch (kindOf(schema, undefined)) {
    case "bar":
    case "number":
      return Math.min(schema.maximum ?? 1, Math.max(schema.minimum ?? 1, 1));
    case "flag":
      return false;
    case "list":
      return [];
    case "map":
    case "group":
      return {};
    default:
      return "";
  }
}

/** What was expected of a value, as the end of a key of the page's words, with what fills them. @typedef {{key: string, vars?: Record<string, string | number>}} Fault */

/** What is wrong with a value that was put in by hand, as far as a field can let it happen. @param {Schema} schema @param {Json | Error} value @returns {Fault | null} */
export function fault(schema, value) {
  if (value instanceof Error) return { key: value.message };
  if (Array.isArray(value)) return listFault(schema, value) ?? firstFault(schema.items, value);
  if (value !== null && typeof value === "object") return firstFault(schema.additionalProperties, Object.values(value));
  if (typeof value === "string") return textFault(schema, value);
  return typeof value === "number" ? numberFault(schema, value) : null;
}

/** @param {Schema | boolean | undefined} schema @param {Json[]} values */
const firstFault = (schema, values) => values.map((value) => fault(typeof schema === "object" ? schema : {}, value)).find((found) => found !== null) ?? null;

/** @param {Schema} schema @param {Json[]} value @returns {Fault | null} */
function listFault({ minItems = 0, maxItems = Infinity, uniqueItems = false }, value) {
  if (value.length > maxItems) return { key: "items", vars: { n: maxItems } };
  if (value.length < minItems) return { key: "itemsLeast", vars: { n: minItems } };
  return uniqueItems && new Set(value.map((item) => JSON.stringify(item))).size < value.length ? { key: "unique" } : null;
}

/** @param {Schema} schema @param {string} value @returns {Fault | null} */
function textFault({ minLength = 0, maxLength = Infinity, pattern }, value) {
  const length = [...value].length;
  if (length > maxLength) return { key: "length", vars: { n: maxLength } };
  if (length < minLength) return { key: "lengthLeast", vars: { n: minLength } };
  return pattern !== undefined && isOther(pattern, value) ? { key: "pattern", vars: { pattern } } : null;
}

/** Whether a text surely does not follow a pattern; the server reads some that a browser cannot. @param {string} pattern @param {string} value */
function isOther(pattern, value) {
  try {
    return !new RegExp(pattern, "u").test(value);
  } catch {
    return false;
  }
}

/** The bounds of a number as a field knows them: those that exclude their own value only for whole numbers. @param {Schema} schema */
export function boundsOf({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }) {
  const one = type === "integer" ? 1 : 0;
  return { min: minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + one), max: maximum ?? (exclusiveMaximum === undefined ? undefined : exclusiveMaximum - one) };
}

/** @param {Schema} schema @param {number} value @returns {Fault | null} */
function numberFault(schema, value) {
  const { min, max } = boundsOf(schema);
  const isWhole = schema.type === "integer";
  if (value >= (min ?? -Infinity) && value <= (max ?? Infinity) && (!isWhole || Number.isInteger(value))) return null;
  const bounds = min !== undefined && max !== undefined ? "Between" : min !== undefined ? "Least" : max !== undefined ? "Most" : "";
  return { key: `${isWhole ? "integer" : "number"}${bounds}`, vars: { min: min ?? "", max: max ?? "" } };
}

/** @param {Schema} schema */
const isRange = (schema) => schema.minimum !== undefined && schema.maximum !== undefined && schema.maximum > schema.minimum;

/** How full a bar is, 0 to 1. @param {Row} row */
export function fullness(row) {
  const { minimum = 0, maximum = 1 } = row.schema;
  return Math.min(1, Math.max(0, (Number(row.value ?? minimum) - minimum) / (maximum - minimum)));
}

/** A loss of this part of a bar's range is felt; what ticks down by itself loses less at a time. */
const FELT = 0.1;

/** Whether a change is a loss that hurts: much of a bar whose schema says where danger begins. @param {Row | undefined} row @param {Turn} change */
export function isGrave(row, { before, after }) {
  if (row?.kind !== "bar" || hintOf(row.schema).danger === undefined || typeof before !== "number" || typeof after !== "number") return false;
  const { minimum = 0, maximum = 1 } = row.schema;
  return before - after >= FELT * (maximum - minimum);
}

/** Every row, those inside groups too, by its path. @param {Group[]} groups @returns {Map<string, Row>} */
export function rowsByPath(groups) {
  const all = groups.flatMap((group) => group.rows);
  // What is pushed while the loop runs is visited too.
  for (const row of all) all.push(...row.rows);
  return new Map(all.map((row) => [row.path, row]));
}

/** Whether a bar stands where its schema says that it is dangerous. @param {Row} row */
export const isDanger = (row) => Number(row.value ?? 0) <= (hintOf(row.schema).danger ?? -Infinity);

/**
 * What a turn changed: before, after and the reasons given, by path.
 * @param {Delta[]} deltas in order
 * @returns {Map<string, Turn>}
 */
export function changesOf(deltas) {
  /** @type {Map<string, Turn>} */
  const turns = new Map();
  for (const delta of deltas) {
    for (const change of delta.changes ?? []) {
      const earlier = turns.get(change.path);
      const why = reasons(delta, change);
      turns.set(change.path, {
        path: change.path,
        before: earlier ? earlier.before : change.before,
        after: change.after,
        why: [earlier?.why, why].filter(Boolean).join("; "),
      });
    }
  }
  for (const [path, turn] of turns) if (JSON.stringify(turn.before) === JSON.stringify(turn.after)) turns.delete(path);
  return turns;
}

/** @param {Delta} delta @param {Change} change */
function reasons(delta, change) {
  const touching = (delta.operations ?? []).filter(
    (o) => (o.in ?? "vars") === "vars" && (o.path === change.path || `${o.path}/`.startsWith(`${change.path}/`) || change.path.startsWith(`${o.path}/`)),
  );
  return [...new Set(touching.map((o) => o.why).filter(Boolean))].join("; ");
}

/** A change at the row itself or below it. @param {Map<string, Turn>} turns @param {string} path */
export function changeAt(turns, path) {
  const own = turns.get(path);
  if (own) return own;
  const below = [...turns.values()].filter((turn) => turn.path.startsWith(`${path}/`));
  return below.length ? { path, before: undefined, after: undefined, why: below.map((turn) => turn.why).filter(Boolean).join("; ") } : null;
}
