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
  withoutDescription,
  valueName,
} from "../lib/schema.ts";
import { compactJson, escapeStep, labelFromKey, steps } from "../lib/text.ts";
import { deltaOf, deltasVersion } from "./deltas.ts";
import { showsHidden } from "./page.ts";
import { stateNode, nodeOf, watchedReply } from "./session-store.ts";
import type { Row } from "../lib/schema.ts";
import type { Delta, Id, Json, Operation, NodeWorld } from "../lib/wire.d.ts";
import type { ApiError } from "../net/api.ts";

/** `turn`: the nodes of the last turn; `deltasVersion`: see `model/deltas.ts`. */
interface LoadedWorld {
  nid: Id;
  at: NodeWorld;
  turn: Id[];
  deltasVersion: number;
}

export const loadedWorld = signal<LoadedWorld | null>(null);
export const worldError = signal<ApiError | null>(null);

export function setWorld(next: LoadedWorld | null) {
  loadedWorld.value = next;
  worldError.value = null;
}

export function setWorldError(error: ApiError) {
  worldError.value = error;
}

/** Whether the state on screen is an older one, which stays until the newest is read. */
export const isWorldStale = computed(() => {
  const world = loadedWorld.value;
  if (!world || worldError.value) return false;
  const headFollows = nodeOf(watchedReply.value)?.status === "complete";
  return headFollows || world.nid !== stateNode() || world.deltasVersion !== deltasVersion.value;
});

export const groups = computed(() =>
  loadedWorld.value ? groupsOf(loadedWorld.value.at, locale.value, showsHidden.value) : [],
);
/** How many events the panel shows. */
const MOST_EVENTS = 20;

/** The texts of the newest events of the branch, the newest first. */
export const storyEvents = computed(() => {
  const events: Json[] = loadedWorld.value?.at.world.events ?? [];
  return events.slice(-MOST_EVENTS).reverse().map(eventText);
});

/** Returns the text of an event, whatever its form. */
function eventText(event: Json) {
  const text = typeof event === "object" && event !== null && !Array.isArray(event) ? event.text : event;
  return typeof text === "string" ? text : compactJson(event);
}

/** Every drawn row by its path. */
export const rows = computed(() => rowsByPath(groups.value));

const deltas = computed(
  () => (loadedWorld.value?.turn ?? []).map(deltaOf).filter((delta) => delta !== null) as Delta[],
);
export const turnChanges = computed(() => changesOf(deltas.value.map(visibleDelta)));
export const turnRolls = computed(() => deltas.value.flatMap((delta) => delta.rolls ?? []));

/** Whether this turn had rolls and a serious loss. Then the user learns that one can go back. */
export const hasSeriousLoss = () =>
  turnRolls.peek().length > 0 &&
  [...turnChanges.peek().values()].some((change) => isSeriousLoss(rows.peek().get(change.path), change));

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
  steps(path)[0] === MVU && !loadedWorld.value?.at.schemas?.some(({ root }) => root.replace(/^\//, "") === MVU);

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
const isHidden = (path: string) => loadedWorld.value !== null && isConcealed(loadedWorld.value.at, path);

/** Whether a path is only shown because hidden state is visible. */
export const isShownSecret = (path: string) => showsHidden.value && isHidden(path);

/** Whether a path is hidden from the user. */
export const isWithheld = (path: string) => !showsHidden.value && isHidden(path);

const isSame = (one: Json | undefined, two: Json | undefined) => JSON.stringify(one) === JSON.stringify(two);

/** Returns a change without the hidden parts of its values; `null` if nothing visible changed. */
export function visibleChange<C extends { path: string; before?: Json | undefined; after?: Json | undefined }>(
  change: C,
): C | null {
  if (showsHidden.value) return change;
  const at = loadedWorld.value?.at;
  if (!at || isConcealed(at, change.path)) return null;
  const [before, after] = [change.before, change.after].map((value) => visibleValueAt(at, change.path, value));
  if (isSame(before, after) && !isSame(change.before, change.after)) return null;
  return { ...change, ...("before" in change && { before }), ...("after" in change && { after }) };
}

/** Returns an operation without the hidden parts of its value; `null` if its path is hidden. */
export function visibleOperation<O extends Operation>(operation: O): O | null {
  const { in: section = "vars", path, key, from, value } = operation;
  if (section !== "vars" || showsHidden.value) return operation;
  const seen =
    from !== undefined && isWithheld(from)
      ? null
      : visibleChange({ path: key === undefined ? path : `${path}/${escapeStep(key)}`, after: value });
  return seen && { ...operation, ...(value !== undefined && { value: seen.after ?? null }) };
}

export const isNotNull = <T>(it: T | null): it is T => it !== null;

/** Returns the part of a delta that the user may see. */
export function visibleDelta<D extends Delta>(delta: D): D {
  if (showsHidden.value) return delta;
  const { changes, operations } = delta;
  return {
    ...delta,
    ...(changes && { changes: changes.map(visibleChange).filter(isNotNull) }),
    ...(operations && { operations: operations.map(visibleOperation).filter(isNotNull) }),
  };
}

/** Returns the name of a path, even if the state on screen lacks or hides it. */
export const pathLabel = (path: string) =>
  labelOf(path) ?? (isOfCard(path) ? steps(path).slice(1) : steps(path)).map(labelFromKey).join(" · ");

/** Returns a value in the schema's words for the user's language, if it has some. */
export function valueText(row: Row | undefined, stored: Json | undefined) {
  const value = row?.isPair ? withoutDescription(row.path, stored) : stored;
  const own = row && valueName(row.schema, value, locale.value);
  if (own) return own;
  return typeof value === "string" && /^[a-z]+([_ '-][a-z]+)*$/.test(value) ? labelFromKey(value) : compactJson(value);
}
