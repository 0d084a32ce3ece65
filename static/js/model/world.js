// The world at the place on screen, and what the turn that led there changed.
import { computed, signal } from "../../vendor/preact.js";
import { locale } from "../lib/i18n.js";
import { changesOf, groupsOf, isGrave, rowsByPath, valueName } from "../lib/schema.js";
import { brief, escapeStep, humanise, steps } from "../lib/text.js";
import { deltaOf } from "./deltas.js";

/** @import { Row } from "../lib/schema.js" */
/** @import { Delta, Id, Json, WorldAt } from "../lib/wire.d.ts" */
/** @import { ApiError } from "../net/api.js" */

/** `turn`: the nodes of the turn that led here; `age`: of the knowledge, see `model/deltas.js`. @typedef {{nid: Id, at: WorldAt, turn: Id[], age: number}} Known */

export const known = signal(/** @type {Known | null} */ (null));
export const failed = signal(/** @type {ApiError | null} */ (null));

/** @param {Known | null} next */
export function putWorld(next) {
  known.value = next;
  failed.value = null;
}

/** @param {ApiError} error */
export function worldFailed(error) {
  failed.value = error;
}

export const groups = computed(() => (known.value ? groupsOf(known.value.at, locale.value) : []));
/** Every row that is drawn, by its path. */
export const rows = computed(() => rowsByPath(groups.value));

const deltas = computed(() => /** @type {Delta[]} */ ((known.value?.turn ?? []).map(deltaOf).filter((delta) => delta !== null)));
export const turn = computed(() => changesOf(deltas.value));
export const rolls = computed(() => deltas.value.flatMap((delta) => delta.rolls ?? []));

/** Whether the dice of this turn cost dearly: the moment to learn that one can go back. */
export const lostDearly = () => rolls.peek().length > 0 && [...turn.peek().values()].some((change) => isGrave(rows.peek().get(change.path), change));

// What places and values are called

/** The name a reader knows a path by; null where the schema hides it. @param {string} path */
export function labelOf(path) {
  const parts = steps(path);
  for (let n = parts.length; n > 0; n -= 1) {
    const row = rows.value.get(`/${parts.slice(0, n).map(escapeStep).join("/")}`);
    if (row) return [row.label, ...parts.slice(n).map(humanise)].join(" · ");
  }
  return null;
}

/** The name of a path, also of one that the world on screen has not or hides. @param {string} path */
export const placeName = (path) => labelOf(path) ?? steps(path).map(humanise).join(" · ");

/** A value in the schema's words for the reader's language, where it has some. @param {Row | undefined} row @param {Json | undefined} value */
export function nameOf(row, value) {
  const own = row && valueName(row.schema, value, locale.value);
  if (own) return own;
  return typeof value === "string" && /^[a-z]+([_ '-][a-z]+)*$/.test(value) ? humanise(value) : brief(value);
}
