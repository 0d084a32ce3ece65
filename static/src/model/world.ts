// The state at the node on screen, and what the turn that led there changed.
import { computed, signal } from "../../vendor/preact.js";
import { locale, t } from "../lib/i18n.ts";
import {
  MVU,
  changesOf,
  groupsOf,
  isConcealed,
  isSeriousLoss,
  rowsByPath,
  visibleValueAt,
  undescribed,
  valueName,
} from "../lib/schema.ts";
import { compactJson, escapeStep, labelFromKey, steps } from "../lib/text.ts";
import { deltaOf } from "./deltas.ts";
import { seesAll } from "./page.ts";
import type { Row } from "../lib/schema.ts";
import type { Delta, Id, Json, Operation, WorldAt } from "../lib/wire.d.ts";
import type { ApiError } from "../net/api.ts";

/** `turn`: the nodes of the last turn; `age`: see `model/deltas.ts`. */
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
/** Every drawn row by its path. */
export const rows = computed(() => rowsByPath(groups.value));

const deltas = computed(() => (known.value?.turn ?? []).map(deltaOf).filter((delta) => delta !== null) as Delta[]);
export const turn = computed(() => changesOf(deltas.value.map(seenDelta)));
export const rolls = computed(() => deltas.value.flatMap((delta) => delta.rolls ?? []));

/** Whether this turn had rolls and a serious loss. Then the user learns that one can go back. */
export const lostDearly = () =>
  rolls.peek().length > 0 &&
  [...turn.peek().values()].some((change) => isSeriousLoss(rows.peek().get(change.path), change));

// Names of paths and values

/** Returns the label of a path; `null` if the schema hides it or does not know it. */
export function labelOf(path: string) {
  if (isWithheld(path)) return null;
  const parts = steps(path);
  if (isOfCard(path)) return cardLabel(path);
  for (let n = parts.length; n > 0; n -= 1) {
    const row = rows.value.get(`/${parts.slice(0, n).map(escapeStep).join("/")}`);
    if (row) return [row.label, ...parts.slice(n).map(labelFromKey)].join(" · ");
  }
  return null;
}

/** Whether a path belongs to an MVU card's values without a schema. */
const isOfCard = (path: string) =>
  steps(path)[0] === MVU && !known.value?.at.schemas?.some(({ root }) => root.replace(/^\//, "") === MVU);

/**
 * Returns the label of such a value with its parents: "Rin · Mood". The index inside a described value is left out.
 * `null` if the value is internal.
 */
function cardLabel(path: string) {
  const inner = steps(path).slice(1);
  if (inner.some((name) => name.startsWith("$"))) return null;
  const around = rows.value.get(path.slice(0, path.lastIndexOf("/")));
  const names = around?.isPair && inner.at(-1) === "0" ? inner.slice(0, -1) : inner;
  return names.map(labelFromKey).join(" · ") || t("world.card");
}

// What the user may see. A state that is not loaded yet may hide anything.

/** Whether the state on screen hides a path, whoever looks. */
const isHidden = (path: string) => known.value !== null && isConcealed(known.value.at, path);

/** Whether a path is only shown because hidden state is visible. */
export const isSecret = (path: string) => seesAll.value && isHidden(path);

/** Whether a path is hidden from the user. */
export const isWithheld = (path: string) => !seesAll.value && isHidden(path);

const isSame = (one: Json | undefined, two: Json | undefined) => JSON.stringify(one) === JSON.stringify(two);

/** Returns a change without the hidden parts of its values; `null` if nothing visible changed. */
export function seenOf<C extends { path: string; before?: Json | undefined; after?: Json | undefined }>(
  change: C,
): C | null {
  if (seesAll.value) return change;
  const at = known.value?.at;
  if (!at || isConcealed(at, change.path)) return null;
  const [before, after] = [change.before, change.after].map((value) => visibleValueAt(at, change.path, value));
  if (isSame(before, after) && !isSame(change.before, change.after)) return null;
  return { ...change, ...("before" in change && { before }), ...("after" in change && { after }) };
}

/** Returns an operation without the hidden parts of its value; `null` if its path is hidden. */
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

/** Returns the part of a delta that the user may see. */
export function seenDelta<D extends Delta>(delta: D): D {
  if (seesAll.value) return delta;
  const { changes, operations } = delta;
  return {
    ...delta,
    ...(changes && { changes: changes.map(seenOf).filter(isThere) }),
    ...(operations && { operations: operations.map(seenOperation).filter(isThere) }),
  };
}

/** Returns the name of a path, even if the state on screen lacks or hides it. */
export const placeName = (path: string) =>
  labelOf(path) ?? (isOfCard(path) ? steps(path).slice(1) : steps(path)).map(labelFromKey).join(" · ");

/** Returns a value in the schema's words for the user's language, if it has some. */
export function nameOf(row: Row | undefined, stored: Json | undefined) {
  const value = row?.isPair ? undescribed(row.path, stored) : stored;
  const own = row && valueName(row.schema, value, locale.value);
  if (own) return own;
  return typeof value === "string" && /^[a-z]+([_ '-][a-z]+)*$/.test(value) ? labelFromKey(value) : compactJson(value);
}
