// From a plugin's state schema and a world to rows that can be drawn. Pure.
import { escapeStep, humanise, steps, valueAt } from "./text.js";

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
 * @property {Json | undefined} [seen] the value without what is not to be shown of it
 * @property {Row[]} rows of a group
 * @property {boolean} [isPair] its value stands first in a list, and its description behind it
 * @property {boolean} [isSecret] the world hides it from those who play in it
 * @typedef {{plugin: string, title: string, rows: Row[]}} Group
 * @typedef {{path: string, before: Json | undefined, after: Json | undefined, why: string}} Turn
 */

/** How a schema is looked at: what `$ref` points into, the reader's language, the places that the world hides for now, and whether they are shown all the same. @typedef {{whole: Schema, locale: string, hidden: Set<string>, isAll?: boolean}} View */

/** @param {WorldAt} at @param {string} locale @param {boolean} [isAll] with what the world hides @returns {Group[]} */
export function groupsOf(at, locale, isAll = false) {
  const vars = at.world.vars ?? {};
  const governed = new Set();
  const groups = (at.schemas ?? []).map(({ plugin, root, schema, title, hidden }) => {
    const path = root.startsWith("/") ? root : `/${escapeStep(root)}`;
    const name = steps(path)[0] ?? root;
    governed.add(name);
    const row = rowOf({ whole: schema, locale, hidden: new Set(hidden ?? []), isAll }, schema, vars[name], path, name);
    return { plugin, title: worded(schema, locale) || title || humanise(plugin), rows: row ? row.rows : [] };
  });
  const free = Object.entries(vars).filter(([name]) => !governed.has(name));
  const own = (/** @type {string} */ name, /** @type {Json} */ value) => rowOf({ whole: {}, locale, hidden: new Set() }, {}, value, `/${escapeStep(name)}`, name);
  const rows = free.filter(([name]) => name !== MVU).map(([name, value]) => own(name, value));
  const cards = !governed.has(MVU) && vars[MVU] !== undefined ? own(MVU, vars[MVU]) : null;
  if (cards) groups.push({ plugin: MVU, title: "", rows: cards.kind === "group" ? cards.rows : [cards] });
  if (rows.length) groups.push({ plugin: "", title: "", rows: rows.filter((row) => row !== null) });
  return groups.filter((group) => group.rows.length > 0);
}

/** Where cards made for MVU keep their values. */
export const MVU = "stat_data";

/** Whether a path is of such a card's values. @param {string} path */
const isOfCard = (path) => path === `/${MVU}` || path.startsWith(`/${MVU}/`);

/** Whether a value is one with its description, `[80, "how well she is"]`, as cards made for MVU write them. @param {Json | undefined} value @returns {value is [Json, string]} */
export const isDescribed = (value) => Array.isArray(value) && value.length === 2 && typeof value[1] === "string" && !isObject(value[0]);

/** A value without its description, where it is one of a card's. @param {string} path @param {Json | undefined} value */
export const undescribed = (path, value) => (isOfCard(path) && isDescribed(value) ? value[0] : value);

/** The place of a row's own value: that of a described one is inside. @param {Row} row */
export const placeOf = ({ path, isPair }) => (isPair ? `${path}/0` : path);

/** Whether nobody says what a value is. @param {Schema} schema */
export const isUndeclared = ({ type, enum: choices, properties, additionalProperties, items, "x-ui": hint }) =>
  [type, choices, properties, additionalProperties, items].every((part) => part === undefined) && (typeof hint === "string" ? hint : (hint?.as ?? "")) === "";

/** @param {Json | undefined} value @returns {value is {[key: string]: Json}} */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** @param {View} view @param {Schema} schema its parts resolved @param {string} path */
export const isHidden = ({ hidden }, schema, path) => schema["x-visible"] === false || hintOf(schema).as === "hidden" || hidden.has(path);

/** What a schema says of what is below it. @param {View} view @param {Schema} schema @param {string} name @returns {Schema} */
export function partOf({ whole }, schema, name) {
  const { properties = {}, additionalProperties: others, items } = schema;
  const part = properties[name] ?? (typeof others === "object" ? others : undefined) ?? items ?? {};
  return withParts(whole, resolved(whole, part));
}

/** What a world says of a place of `vars`: its schema, and whether it, or one around it, is not to be shown now. @param {WorldAt} at @param {string} path */
export function lookedAt(at, path) {
  const [root = "", ...below] = steps(path);
  const found = at.schemas?.find((one) => (steps(one.root.startsWith("/") ? one.root : `/${one.root}`)[0] ?? "") === root);
  if (!found) return null;
  const view = { whole: found.schema, locale: "", hidden: new Set(found.hidden ?? []) };
  let schema = withParts(found.schema, found.schema);
  let place = `/${escapeStep(root)}`;
  let isOut = false;
  for (const name of below) {
    schema = partOf(view, schema, name);
    place += `/${escapeStep(name)}`;
    isOut ||= isHidden(view, schema, place);
  }
  return { view, schema, isOut, plugin: found.plugin };
}

/** Whether a place of `vars`, or one around it, is not to be shown now. @param {WorldAt} at @param {string} path */
export const isConcealed = (at, path) => lookedAt(at, path)?.isOut ?? false;

/** What of a value at a place of `vars` is to be shown. @param {WorldAt} at @param {string} path @param {Json | undefined} value */
export function seenAt(at, path, value) {
  const found = lookedAt(at, path);
  return found ? seenOf(found.view, found.schema, value, path) : value;
}

/** What a card keeps for itself. @param {string} path @param {string} name */
const isForNobody = (path, name) => name.startsWith("$") && isOfCard(path);

/** A value without what is not to be shown of it. @param {View} view @param {Schema} schema @param {Json | undefined} value @param {string} path @returns {Json | undefined} */
function seenOf(view, schema, value, path) {
  if (value === null || typeof value !== "object") return value;
  const isList = Array.isArray(value);
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const part = partOf(view, schema, name);
    const place = `${path}/${escapeStep(name)}`;
    if (isForNobody(place, name)) return [];
    return !view.isAll && isHidden(view, part, place) ? [] : [[name, seenOf(view, part, inner, place)]];
  });
  return isList ? kept.map(([, inner]) => /** @type {Json} */ (inner)) : Object.fromEntries(kept);
}

/**
 * @param {View} view
 * @param {Schema} part
 * @param {Json | undefined} found the value
 * @param {string} path
 * @param {string} key
 * @param {boolean} [isInSecret] what is around it is hidden
 * @returns {Row | null} null where the schema or the world hides it
 */
function rowOf(view, part, found, path, key, isInSecret = false) {
  const { whole, locale } = view;
  const schema = withParts(whole, resolved(whole, part));
  const isSecret = isInSecret || isHidden(view, schema, path);
  if (isSecret && !view.isAll) return null;
  const label = worded(schema, locale) || humanise(key);
  const isFree = isUndeclared(schema);
  const isPair = isFree && isOfCard(path) && isDescribed(found);
  const value = isPair ? found[0] : found;
  const kind = isFree && isObject(value) && Object.keys(value).length > 0 ? "group" : kindOf(schema, value);
  const rows = kind === "group" ? inner(view, schema, value, path, isSecret) : [];
  const about = isPair ? String(found[1]) : (hintOf(schema).description?.[locale] ?? schema.description ?? "");
  return { path, label, about, kind, schema, value, seen: seenOf(view, schema, value, path), rows, ...(isPair && { isPair }), ...(isSecret && { isSecret }) };
}

/** @param {View} view @param {Schema} schema @param {Json | undefined} value @param {string} path @param {boolean} isSecret */
function inner(view, schema, value, path, isSecret) {
  const object = value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  const names = new Set([...Object.keys(schema.properties ?? {}), ...Object.keys(object)]);
  return [...names]
    .filter((name) => !isForNobody(path, name))
    .map((name) => rowOf(view, named(partOf(view, schema, name), schema, name), object[name], `${path}/${escapeStep(name)}`, name, isSecret))
    .filter((row) => row !== null);
}

/** Of like things each is called by its own name, and not by what all of them are. @param {Schema} part @param {Schema} schema @param {string} name @returns {Schema} */
function named(part, schema, name) {
  if (schema.properties?.[name] !== undefined) return part;
  return { ...part, title: "", "x-ui": { ...hintOf(part), title: {} } };
}

/** Whether things can be added to a group: it is a map of like things. @param {Schema} schema */
export const isOpen = (schema) => schema.properties === undefined && typeof schema.additionalProperties === "object";

/** Whether the schema wants a value as a chip. @param {Schema} schema */
export const isChip = (schema) => hintOf(schema).as === "chip";

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
  if (type === "object" || (value !== null && typeof value === "object")) return schema.properties || areThings(schema, value) ? "group" : "map";
  return "text";
}

/** Whether a value is a map of things that have parts of their own. @param {Schema} schema @param {Json | undefined} value */
function areThings({ additionalProperties: others }, value) {
  const hasSome = value !== null && typeof value === "object" && Object.keys(value).length > 0;
  return hasSome && typeof others === "object" && others.properties !== undefined;
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

/**
 * What has to be done to make one value of another: of what nobody declared only what differs, at its own place.
 * @param {string} path @param {Json | undefined} before @param {Json} after
 * @returns {{op: "set" | "remove", path: string, value?: Json}[]}
 */
export function stepsBetween(path, before, after) {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isDescribed(before) && isDescribed(after) && before[1] === after[1]) return stepsBetween(`${path}/0`, before[0], after[0]);
  if (!isObject(before) || !isObject(after)) return [{ op: "set", path, value: after }];
  const gone = Object.keys(before).filter((name) => !(name in after));
  return [...gone.map((name) => ({ op: /** @type {const} */ ("remove"), path: `${path}/${escapeStep(name)}` })), ...Object.entries(after).flatMap(([name, value]) => stepsBetween(`${path}/${escapeStep(name)}`, before[name], value))];
}

/** A change at the row itself, below it, or around it. @param {Map<string, Turn>} turns @param {string} path */
export function changeAt(turns, path) {
  const own = turns.get(path);
  if (own) return own;
  const around = [...turns.values()].find((turn) => path.startsWith(`${turn.path}/`));
  if (around) {
    const [before, after] = [around.before, around.after].map((value) => valueAt(value, path.slice(around.path.length)));
    return JSON.stringify(before) === JSON.stringify(after) ? null : { path, before, after, why: around.why };
  }
  const below = [...turns.values()].filter((turn) => turn.path.startsWith(`${path}/`));
  return below.length ? { path, before: undefined, after: undefined, why: [...new Set(below.map((turn) => turn.why).filter(Boolean))].join("; ") } : null;
}
