// Turns a plugin's state schema and a state into rows for display. Pure.
import { escapeStep, labelFromKey, steps, valueAt } from "./text.ts";
import type { Change, Delta, Json, Schema, UiHint, NodeWorld } from "./wire.d.ts";

export type Kind = "bar" | "number" | "choice" | "flag" | "list" | "map" | "text" | "group";

export interface Row {
  /** JSON Pointer from `vars`. */
  path: string;
  label: string;
  description: string;
  kind: Kind;
  schema: Schema;
  value: Json | undefined;
  /** The value without its hidden parts. */
  visible?: Json | undefined;
  /** The rows inside a group. */
  rows: Row[];
  /** Whether the value is a list of the actual value and its description. */
  isPair?: boolean;
  /** Whether the value is hidden from players. */
  isSecret?: boolean;
}

export interface Group {
  plugin: string;
  title: string;
  rows: Row[];
}

export interface Turn {
  path: string;
  before: Json | undefined;
  after: Json | undefined;
  why: string;
}

/**
 * How a schema is viewed: the whole schema for `$ref`, the user's language, the paths that are hidden now. `showsHidden`
 * shows them anyway.
 */
export interface View {
  whole: Schema;
  locale: string;
  hidden: Set<string>;
  showsHidden?: boolean;
}

/**
 * Returns the groups of rows of a state.
 * @param isAll includes hidden values
 */
export function groupsOf(at: NodeWorld, locale: string, isAll: boolean = false): Group[] {
  const vars = at.world.vars ?? {};
  const governed = new Set();
  const groups = (at.schemas ?? []).map(({ plugin, root, schema, title, hidden }) => {
    const path = root.startsWith("/") ? root : `/${escapeStep(root)}`;
    const name = steps(path)[0] ?? root;
    governed.add(name);
    const row = rowOf(
      { whole: schema, locale, hidden: new Set(hidden ?? []), showsHidden: isAll },
      schema,
      vars[name],
      path,
      name,
    );
    return { plugin, title: titleOf(schema, locale) || title || labelFromKey(plugin), rows: row ? row.rows : [] };
  });
  const free = Object.entries(vars).filter(([name]) => !governed.has(name));
  const own = (name: string, value: Json) =>
    rowOf({ whole: {}, locale, hidden: new Set() }, {}, value, `/${escapeStep(name)}`, name);
  const rows = free.filter(([name]) => name !== MVU).map(([name, value]) => own(name, value));
  const cards = !governed.has(MVU) && vars[MVU] !== undefined ? own(MVU, vars[MVU]) : null;
  if (cards) groups.push({ plugin: MVU, title: "", rows: cards.kind === "group" ? cards.rows : [cards] });
  if (rows.length) groups.push({ plugin: "", title: "", rows: rows.filter((row) => row !== null) });
  return groups.filter((group) => group.rows.length > 0);
}

/** The root where cards made for MVU keep their values. */
export const MVU = "stat_data";

/** Whether a path belongs to the values of such a card. */
const isOfCard = (path: string) => path === `/${MVU}` || path.startsWith(`/${MVU}/`);

/** Whether a value has the form of MVU cards with a description: `[80, "how well she is"]`. */
export const isDescribed = (value: Json | undefined): value is [Json, string] =>
  Array.isArray(value) && value.length === 2 && typeof value[1] === "string" && !isObject(value[0]);

/** Returns the value of an MVU card without its description. */
export const withoutDescription = (path: string, value: Json | undefined) =>
  isOfCard(path) && isDescribed(value) ? value[0] : value;

/** Returns the path of a row's value. A described value is inside its pair. */
export const placeOf = ({ path, isPair }: Row) => (isPair ? `${path}/0` : path);

/** Whether the schema says nothing about a value. */
export const isUndeclared = ({ type, enum: choices, properties, additionalProperties, items, "x-ui": hint }: Schema) =>
  [type, choices, properties, additionalProperties, items].every((part) => part === undefined) &&
  (typeof hint === "string" ? hint : (hint?.as ?? "")) === "";

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  value !== null && typeof value === "object" && !Array.isArray(value);

/**
 * Whether a value is hidden.
 * @param schema with resolved parts
 */
export const isHidden = ({ hidden }: View, schema: Schema, path: string) =>
  schema["x-visible"] === false || hintOf(schema).as === "hidden" || hidden.has(path);

/** Returns the schema of a child. */
export function partOf({ whole }: View, schema: Schema, name: string): Schema {
  const { properties = {}, additionalProperties: others, items } = schema;
  const part = properties[name] ?? (typeof others === "object" ? others : undefined) ?? items ?? {};
  return withParts(whole, resolved(whole, part));
}

/** Returns what a state says about a path of `vars`: its schema, and whether it or a parent is hidden now. */
export function schemaAt(at: NodeWorld, path: string) {
  const [root = "", ...below] = steps(path);
  const found = at.schemas?.find(
    (one) => (steps(one.root.startsWith("/") ? one.root : `/${one.root}`)[0] ?? "") === root,
  );
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

/** Whether a path of `vars` or one of its parents is hidden now. */
export const isConcealed = (at: NodeWorld, path: string) => schemaAt(at, path)?.isOut ?? false;

/** Returns a value at a path of `vars` without its hidden parts. */
export function visibleValueAt(at: NodeWorld, path: string, value: Json | undefined) {
  const found = schemaAt(at, path);
  return found ? visibleValue(found.view, found.schema, value, path) : value;
}

/** Whether a value is internal to a card and never shown. */
const isInternal = (path: string, name: string) => name.startsWith("$") && isOfCard(path);

/** Returns a value without its hidden parts. */
function visibleValue(view: View, schema: Schema, value: Json | undefined, path: string): Json | undefined {
  if (value === null || typeof value !== "object") return value;
  const isList = Array.isArray(value);
  const visible = Object.entries(value).flatMap(([name, inner]) => {
    const part = partOf(view, schema, name);
    const place = `${path}/${escapeStep(name)}`;
    if (isInternal(place, name)) return [];
    return !view.showsHidden && isHidden(view, part, place) ? [] : [[name, visibleValue(view, part, inner, place)]];
  });
  return isList ? visible.map(([, inner]) => inner as Json) : Object.fromEntries(visible);
}

/**
 * @param found the value
 * @param isInSecret whether a parent is hidden
 * @returns `null` if the schema or the state hides it
 */
function rowOf(
  view: View,
  part: Schema,
  found: Json | undefined,
  path: string,
  key: string,
  isInSecret: boolean = false,
): Row | null {
  const { whole, locale } = view;
  const schema = withParts(whole, resolved(whole, part));
  const isSecret = isInSecret || isHidden(view, schema, path);
  if (isSecret && !view.showsHidden) return null;
  const label = titleOf(schema, locale) || labelFromKey(key);
  const isFree = isUndeclared(schema);
  const isPair = isFree && isOfCard(path) && isDescribed(found);
  const value = isPair ? found[0] : found;
  const kind = isFree && isObject(value) && Object.keys(value).length > 0 ? "group" : kindOf(schema, value);
  const rows = kind === "group" ? inner(view, schema, value, path, isSecret) : [];
  const about = isPair ? String(found[1]) : (hintOf(schema).description?.[locale] ?? schema.description ?? "");
  return {
    path,
    label,
    description: about,
    kind,
    schema,
    value,
    visible: visibleValue(view, schema, value, path),
    rows,
    ...(isPair && { isPair }),
    ...(isSecret && { isSecret }),
  };
}

function inner(view: View, schema: Schema, value: Json | undefined, path: string, isSecret: boolean) {
  const object = value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  const names = new Set([...Object.keys(schema.properties ?? {}), ...Object.keys(object)]);
  return [...names]
    .filter((name) => !isInternal(path, name))
    .map((name) =>
      rowOf(
        view,
        named(partOf(view, schema, name), schema, name),
        object[name],
        `${path}/${escapeStep(name)}`,
        name,
        isSecret,
      ),
    )
    .filter((row) => row !== null);
}

/** Removes the shared title from the schema of a map's item, so that each item has its own name. */
function named(part: Schema, schema: Schema, name: string): Schema {
  if (schema.properties?.[name] !== undefined) return part;
  return { ...part, title: "", "x-ui": { ...hintOf(part), title: {} } };
}

/** Whether items can be added to a group: it is a map with a schema for its items. */
export const isOpen = (schema: Schema) =>
  schema.properties === undefined && typeof schema.additionalProperties === "object";

/** Whether the schema asks for a chip. */
export const isChip = (schema: Schema) => hintOf(schema).as === "chip";

function resolved(whole: Schema, part: Schema): Schema {
  const name = /^#\/\$defs\/(.+)$/.exec(part.$ref ?? "")?.[1];
  const target = name ? whole.$defs?.[name] : undefined;
  return target ? { ...target, ...part } : part;
}

/** Resolves the direct parts of a schema, so that they can be read without the whole schema. */
function withParts(whole: Schema, schema: Schema): Schema {
  const { items, additionalProperties: others } = schema;
  return {
    ...schema,
    ...(items && { items: resolved(whole, items) }),
    ...(typeof others === "object" && { additionalProperties: resolved(whole, others) }),
  };
}

function hintOf(schema: Schema): UiHint {
  const hint = schema["x-ui"];
  return typeof hint === "string" ? { as: hint } : (hint ?? {});
}

/** Returns the title of a schema, in the user's language if it has one. */
function titleOf(schema: Schema, locale: string) {
  return hintOf(schema).title?.[locale] || schema.title || "";
}

/** Returns the schema's name of a value in the user's language, or "". */
export function valueName(schema: Schema, value: Json | undefined, locale: string) {
  const named = hintOf(schema).values ?? hintOf(schema.items ?? {}).values;
  return (named?.[locale] ?? named?.en)?.[String(value)] ?? "";
}

export function kindOf(schema: Schema, value: Json | undefined): Kind {
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
  if (type === "object" || (value !== null && typeof value === "object"))
    return schema.properties || isMapOfObjects(schema, value) ? "group" : "map";
  return "text";
}

/** Whether a value is a non-empty map of objects with properties. */
function isMapOfObjects({ additionalProperties: others }: Schema, value: Json | undefined) {
  const hasSome = value !== null && typeof value === "object" && Object.keys(value).length > 0;
  return hasSome && typeof others === "object" && others.properties !== undefined;
}

const isRange = (schema: Schema) =>
  schema.minimum !== undefined && schema.maximum !== undefined && schema.maximum > schema.minimum;

/** Returns how full a bar is, from 0 to 1. */
export function fullness(row: Row) {
  const { minimum = 0, maximum = 1 } = row.schema;
  return Math.min(1, Math.max(0, (Number(row.value ?? minimum) - minimum) / (maximum - minimum)));
}

/** Minimum part of a bar's range for a serious loss. Regular small decreases are below it. */
const SERIOUS_LOSS = 0.1;

/** Whether a change is a serious loss of a bar whose schema says where danger begins. */
export function isSeriousLoss(row: Row | undefined, { before, after }: Turn) {
  if (
    row?.kind !== "bar" ||
    hintOf(row.schema).danger === undefined ||
    typeof before !== "number" ||
    typeof after !== "number"
  )
    return false;
  const { minimum = 0, maximum = 1 } = row.schema;
  return before - after >= SERIOUS_LOSS * (maximum - minimum);
}

/** Returns every row by its path, including rows inside groups. */
export function rowsByPath(groups: Group[]): Map<string, Row> {
  const all = groups.flatMap((group) => group.rows);
  // The loop also visits what is pushed while it runs.
  for (const row of all) all.push(...row.rows);
  return new Map(all.map((row) => [row.path, row]));
}

/** Whether a bar is in the range that its schema calls dangerous. */
export const isDanger = (row: Row) => Number(row.value ?? 0) <= (hintOf(row.schema).danger ?? -Infinity);

/**
 * Returns what a turn changed, by path: before, after and the given reasons.
 * @param deltas in order
 */
export function changesOf(deltas: Delta[]): Map<string, Turn> {
  const turns: Map<string, Turn> = new Map();
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

function reasons(delta: Delta, change: Change) {
  const touching = (delta.operations ?? []).filter(
    (o) =>
      (o.in ?? "vars") === "vars" &&
      (o.path === change.path || `${o.path}/`.startsWith(`${change.path}/`) || change.path.startsWith(`${o.path}/`)),
  );
  return [...new Set(touching.map((o) => o.why).filter(Boolean))].join("; ");
}

/**
 * Returns the operations that turn one value into another. In undeclared objects, only the differing values are set,
 * each at its own path.
 */
export function stepsBetween(
  path: string,
  before: Json | undefined,
  after: Json,
): { op: "set" | "remove"; path: string; value?: Json }[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isDescribed(before) && isDescribed(after) && before[1] === after[1])
    return stepsBetween(`${path}/0`, before[0], after[0]);
  if (!isObject(before) || !isObject(after)) return [{ op: "set", path, value: after }];
  const removed = Object.keys(before).filter((name) => !(name in after));
  return [
    ...removed.map((name) => ({ op: "remove" as const, path: `${path}/${escapeStep(name)}` })),
    ...Object.entries(after).flatMap(([name, value]) =>
      stepsBetween(`${path}/${escapeStep(name)}`, before[name], value),
    ),
  ];
}

/** Returns the change at a row's path, above it or below it. */
export function changeAt(turns: Map<string, Turn>, path: string) {
  const own = turns.get(path);
  if (own) return own;
  const around = [...turns.values()].find((turn) => path.startsWith(`${turn.path}/`));
  if (around) {
    const [before, after] = [around.before, around.after].map((value) =>
      valueAt(value, path.slice(around.path.length)),
    );
    return JSON.stringify(before) === JSON.stringify(after) ? null : { path, before, after, why: around.why };
  }
  const below = [...turns.values()].filter((turn) => turn.path.startsWith(`${path}/`));
  return below.length
    ? {
        path,
        before: undefined,
        after: undefined,
        why: [...new Set(below.map((turn) => turn.why).filter(Boolean))].join("; "),
      }
    : null;
}
