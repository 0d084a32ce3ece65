// The world at the place on screen, and what the turn that led there changed.
import { computed, signal } from "../../vendor/preact.js";
import { locale, t } from "../lib/i18n.ts";
import {
  MVU,
  changesOf,
  groupsOf,
  isConcealed,
  isGrave,
  rowsByPath,
  seenAt,
  undescribed,
  valueName,
} from "../lib/schema.ts";
import { brief, escapeStep, humanise, steps } from "../lib/text.ts";
import { deltaOf } from "./deltas.ts";
import { seesAll } from "./page.ts";
import type { Row } from "../lib/schema.ts";
import type { Delta, Id, Json, Operation, WorldAt } from "../lib/wire.d.ts";
import type { ApiError } from "../net/api.ts";

/** `turn`: the nodes of the turn that led here; `age`: of the knowledge, see `model/deltas.ts`. */
interface Known {
  nid: Id;
  at: WorldAt;
  turn: Id[];
  age: number;
}

export const known = signal<Known | null>(null);
export const failed = signal<ApiError | null>(null);

export function putWorld(next: Known | null) {
  known.value = next;
  failed.value = null;
}

export function worldFailed(error: ApiError) {
  failed.value = error;
}

export const groups = computed(() => (known.value ? groupsOf(known.value.at, locale.value, seesAll.value) : []));
/** Every row that is drawn, by its path. */
export const rows = computed(() => rowsByPath(groups.value));

const deltas = computed(() => (known.value?.turn ?? []).map(deltaOf).filter((delta) => delta !== null) as Delta[]);
export const turn = computed(() => changesOf(deltas.value.map(seenDelta)));
export const rolls = computed(() => deltas.value.flatMap((delta) => delta.rolls ?? []));

/** Whether the dice of this turn cost dearly: the moment to learn that one can go back. */
export const lostDearly = () =>
  rolls.peek().length > 0 && [...turn.peek().values()].some((change) => isGrave(rows.peek().get(change.path), change));

// What places and values are called

/** The name a reader knows a path by; null where the schema hides it. */
export function labelOf(path: string) {
  if (isWithheld(path)) return null;
  const parts = steps(path);
  if (isOfCard(path)) return cardLabel(path);
  for (let n = parts.length; n > 0; n -= 1) {
    const row = rows.value.get(`/${parts.slice(0, n).map(escapeStep).join("/")}`);
    if (row) return [row.label, ...parts.slice(n).map(humanise)].join(" · ");
  }
  return null;
}

/** Whether a path is of the values of a card made for MVU, which no schema tells of. */
const isOfCard = (path: string) =>
  steps(path)[0] === MVU && !known.value?.at.schemas?.some(({ root }) => root.replace(/^\//, "") === MVU);

/**
 * "Rin · Mood": such a card's values are known by all that is around them; the place inside a described one is no
 * name; null: it is for nobody.
 */
function cardLabel(path: string) {
  const inner = steps(path).slice(1);
  if (inner.some((name) => name.startsWith("$"))) return null;
  const around = rows.value.get(path.slice(0, path.lastIndexOf("/")));
  const names = around?.isPair && inner.at(-1) === "0" ? inner.slice(0, -1) : inner;
  return names.map(humanise).join(" · ") || t("world.card");
}

// What a reader may see. A world that is not known yet may hide anything.

/** Whether the world on screen hides a place, whoever looks. */
const isHidden = (path: string) => known.value !== null && isConcealed(known.value.at, path);

/** Whether a place is shown to this reader alone, and not to those who play. */
export const isSecret = (path: string) => seesAll.value && isHidden(path);

/** Whether a place is kept from this reader. */
export const isWithheld = (path: string) => !seesAll.value && isHidden(path);

const isSame = (one: Json | undefined, two: Json | undefined) => JSON.stringify(one) === JSON.stringify(two);

/** A change without what is not to be shown of its values; null where nothing of it is. */
export function seenOf<C extends { path: string; before?: Json | undefined; after?: Json | undefined }>(
  change: C,
): C | null {
  if (seesAll.value) return change;
  const at = known.value?.at;
  if (!at || isConcealed(at, change.path)) return null;
  const [before, after] = [change.before, change.after].map((value) => seenAt(at, change.path, value));
  if (isSame(before, after) && !isSame(change.before, change.after)) return null;
  return { ...change, ...("before" in change && { before }), ...("after" in change && { after }) };
}

/** An operation without what is not to be shown of its value; null where it is about what is not. */
export function seenOperation<O extends Operation>(operation: O): O | null {
  const { in: section = "vars", path, key, from, value } = operation;
  if (section !== "vars" || seesAll.value) return operation;
  const seen =
    from !== undefined && isWithheld(from)
      ? null
      : seenOf({ path: key === undefined ? path : `${path}/${escapeStep(key)}`, after: value });
  return seen && { ...operation, ...(value !== undefined && { value: seen.after ?? null }) };
}

export const isThere = <T>(it: T | null): it is T => it !== null;

/** What a reader may see of what was done. */
export function seenDelta<D extends Delta>(delta: D): D {
  if (seesAll.value) return delta;
  const { changes, operations } = delta;
  return {
    ...delta,
    ...(changes && { changes: changes.map(seenOf).filter(isThere) }),
    ...(operations && { operations: operations.map(seenOperation).filter(isThere) }),
  };
}

/** The name of a path, also of one that the world on screen has not or hides. */
export const placeName = (path: string) =>
  labelOf(path) ?? (isOfCard(path) ? steps(path).slice(1) : steps(path)).map(humanise).join(" · ");

/** A value in the schema's words for the reader's language, where it has some. */
export function nameOf(row: Row | undefined, stored: Json | undefined) {
  const value = row?.isPair ? undescribed(row.path, stored) : stored;
  const own = row && valueName(row.schema, value, locale.value);
  if (own) return own;
  return typeof value === "string" && /^[a-z]+([_ '-][a-z]+)*$/.test(value) ? humanise(value) : brief(value);
}
