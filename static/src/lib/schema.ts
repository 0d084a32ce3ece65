// From a plugin's state schema and a world to rows that can be drawn. Pure.
import { escapeStep, humanise, steps, valueAt } from "./text.ts";
import type { Change, Delta, Json, Schema, UiHint, WorldAt } from "./wire.d.ts";

export type Kind = "bar" | "number" | "choice" | "flag" | "list" | "map" | "text" | "group";

export interface Row {
  /** JSON Pointer from `vars` */
  path: string;
  label: string;
  about: string;
  kind: Kind;
  schema: Schema;
  value: Json | undefined;
  /** the value without what is not to be shown of it */
  seen?: Json | undefined;
  /** of a group */
  rows: Row[];
  /** its value stands first in a list, and its description behind it */
  isPair?: boolean;
  /** the world hides it from those who play in it */
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
 * How a schema is looked at: what `$ref` points into, the reader's language, the places that the world hides for now,
 * and whether they are shown all the same.
 */
export interface View {
  whole: Schema;
  locale: string;
  hidden: Set<string>;
  isAll?: boolean;
}

/** @param isAll with what the world hides */
export function groupsOf(at: WorldAt, locale: string, isAll: boolean = false): Group[] {
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
  const own = (name: string, value: Json) =>
    rowOf({ whole: {}, locale, hidden: new Set() }, {}, value, `/${escapeStep(name)}`, name);
  const rows = free.filter(([name]) => name !== MVU).map(([name, value]) => own(name, value));
  const cards = !governed.has(MVU) && vars[MVU] !== undefined ? own(MVU, vars[MVU]) : null;
  if (cards) groups.push({ plugin: MVU, title: "", rows: cards.kind === "group" ? cards.rows : [cards] });
  if (rows.length) groups.push({ plugin: "", title: "", rows: rows.filter((row) => row !== null) });
  return groups.filter((group) => group.rows.length > 0);
}

/** Where cards made for MVU keep their values. */
export const MVU = "stat_data";

/** Whether a path is of such a card's values. */
const isOfCard = (path: string) => path === `/${MVU}` || path.startsWith(`/${MVU}/`);

/** Whether a value is one with its description, `[80, "how well she is"]`, as cards made for MVU write them. */
export const isDescribed = (value: Json | undefined): value is [Json, string] =>
  Array.isArray(value) && value.length === 2 && typeof value[1] === "string" && !isObject(value[0]);

/** A value without its description, where it is one of a card's. */
export const undescribed = (path: string, value: Json | undefined) =>
  isOfCard(path) && isDescribed(value) ? value[0] : value;

/** The place of a row's own value: that of a described one is inside. */
export const placeOf = ({ path, isPair }: Row) => (isPair ? `${path}/0` : path);

/** Whether nobody says what a value is. */
export const isUndeclared = ({ type, enum: choices, properties, additionalProperties, items, "x-ui": hint }: Schema) =>
  [type, choices, properties, additionalProperties, items].every((part) => part === undefined) &&
  (typeof hint === "string" ? hint : (hint?.as ?? "")) === "";

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  value !== null && typeof value === "object" && !Array.isArray(value);

/** @param schema its parts resolved */
export const isHidden = ({ hidden }: View, schema: Schema, path: string) =>
  schema["x-visible"] === false || hintOf(schema).as === "hidden" || hidden.has(path);

/** What a schema says of what is below it. */
export function partOf({ whole }: View, schema: Schema, name: string): Schema {
  const { properties = {}, additionalProperties: others, items } = schema;
  const part = properties[name] ?? (typeof others === "object" ? others : undefined) ?? items ?? {};
  return withParts(whole, resolved(whole, part));
}

/** What a world says of a place of `vars`: its schema, and whether it, or one around it, is not to be shown now. */
export function lookedAt(at: WorldAt, path: string) {
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

/** Whether a place of `vars`, or one around it, is not to be shown now. */
export const isConcealed = (at: WorldAt, path: string) => lookedAt(at, path)?.isOut ?? false;

/** What of a value at a place of `vars` is to be shown. */
export function seenAt(at: WorldAt, path: string, value: Json | undefined) {
  const found = lookedAt(at, path);
  return found ? seenOf(found.view, found.schema, value, path) : value;
}

/** What a card keeps for itself. */
const isForNobody = (path: string, name: string) => name.startsWith("$") && isOfCard(path);

/** A value without what is not to be shown of it. */
function seenOf(view: View, schema: Schema, value: Json | undefined, path: string): Json | undefined {
  if (value === null || typeof value !== "object") return value;
  const isList = Array.isArray(value);
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const part = partOf(view, schema, name);
    const place = `${path}/${escapeStep(name)}`;
    if (isForNobody(place, name)) return [];
    return !view.isAll && isHidden(view, part, place) ? [] : [[name, seenOf(view, part, inner, place)]];
  });
  return isList ? kept.map(([, inner]) => inner as Json) : Object.fromEntries(kept);
}

/**
 * @param found the value
 * @param isInSecret what is around it is hidden
 * @returns null where the schema or the world hides it
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
  if (isSecret && !view.isAll) return null;
  const label = worded(schema, locale) || humanise(key);
  const isFree = isUndeclared(schema);
  const isPair = isFree && isOfCard(path) && isDescribed(found);
  const value = isPair ? found[0] : found;
  const kind = isFree && isObject(value) && Object.keys(value).length > 0 ? "group" : kindOf(schema, value);
  const rows = kind === "group" ? inner(view, schema, value, path, isSecret) : [];
  const about = isPair ? String(found[1]) : (hintOf(schema).description?.[locale] ?? schema.description ?? "");
  return {
    path,
    label,
    about,
    kind,
    schema,
    value,
    seen: seenOf(view, schema, value, path),
    rows,
    ...(isPair && { isPair }),
    ...(isSecret && { isSecret }),
  };
}

function inner(view: View, schema: Schema, value: Json | undefined, path: string, isSecret: boolean) {
  const object = value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  const names = new Set([...Object.keys(schema.properties ?? {}), ...Object.keys(object)]);
  return [...names]
    .filter((name) => !isForNobody(path, name))
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

/** Of like things each is called by its own name, and not by what all of them are. */
function named(part: Schema, schema: Schema, name: string): Schema {
  if (schema.properties?.[name] !== undefined) return part;
  return { ...part, title: "", "x-ui": { ...hintOf(part), title: {} } };
}

/** Whether things can be added to a group: it is a map of like things. */
export const isOpen = (schema: Schema) =>
  schema.properties === undefined && typeof schema.additionalProperties === "object";

/** Whether the schema wants a value as a chip. */
export const isChip = (schema: Schema) => hintOf(schema).as === "chip";

function resolved(whole: Schema, part: Schema): Schema {
  const name = /^#\/\$defs\/(.+)$/.exec(part.$ref ?? "")?.[1];
  const target = name ? whole.$defs?.[name] : undefined;
  return target ? { ...target, ...part } : part;
}

/** A schema whose own parts can be read without the whole. */
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

/** The schema's own title, in the reader's language where it has one. */
function worded(schema: Schema, locale: string) {
  return hintOf(schema).title?.[locale] || schema.title || "";
}

/** What the schema calls a value in the reader's language, or "". */
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
    return schema.properties || areThings(schema, value) ? "group" : "map";
  return "text";
}

/** Whether a value is a map of things that have parts of their own. */
function areThings({ additionalProperties: others }: Schema, value: Json | undefined) {
  const hasSome = value !== null && typeof value === "object" && Object.keys(value).length > 0;
  return hasSome && typeof others === "object" && others.properties !== undefined;
}

const isRange = (schema: Schema) =>
  schema.minimum !== undefined && schema.maximum !== undefined && schema.maximum > schema.minimum;

/** How full a bar is, 0 to 1. */
export function fullness(row: Row) {
  const { minimum = 0, maximum = 1 } = row.schema;
  return Math.min(1, Math.max(0, (Number(row.value ?? minimum) - minimum) / (maximum - minimum)));
}

/** A loss of this part of a bar's range is felt; what ticks down by itself loses less at a time. */
const FELT = 0.1;

/** Whether a change is a loss that hurts: much of a bar whose schema says where danger begins. */
export function isGrave(row: Row | undefined, { before, after }: Turn) {
  if (
    row?.kind !== "bar" ||
    hintOf(row.schema).danger === undefined ||
    typeof before !== "number" ||
    typeof after !== "number"
  )
    return false;
  const { minimum = 0, maximum = 1 } = row.schema;
  return before - after >= FELT * (maximum - minimum);
}

/** Every row, those inside groups too, by its path. */
export function rowsByPath(groups: Group[]): Map<string, Row> {
  const all = groups.flatMap((group) => group.rows);
  // What is pushed while the loop runs is visited too.
  for (const row of all) all.push(...row.rows);
  return new Map(all.map((row) => [row.path, row]));
}

/** Whether a bar stands where its schema says that it is dangerous. */
export const isDanger = (row: Row) => Number(row.value ?? 0) <= (hintOf(row.schema).danger ?? -Infinity);

/**
 * What a turn changed: before, after and the reasons given, by path.
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

/** What has to be done to make one value of another: of what nobody declared only what differs, at its own place. */
export function stepsBetween(
  path: string,
  before: Json | undefined,
  after: Json,
): { op: "set" | "remove"; path: string; value?: Json }[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isDescribed(before) && isDescribed(after) && before[1] === after[1])
    return stepsBetween(`${path}/0`, before[0], after[0]);
  if (!isObject(before) || !isObject(after)) return [{ op: "set", path, value: after }];
  const gone = Object.keys(before).filter((name) => !(name in after));
  return [
    ...gone.map((name) => ({ op: "remove" as const, path: `${path}/${escapeStep(name)}` })),
    ...Object.entries(after).flatMap(([name, value]) =>
      stepsBetween(`${path}/${escapeStep(name)}`, before[name], value),
    ),
  ];
}

/** A change at the row itself, below it, or around it. */
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
