// The world at the place on screen, and what the turn that led there changed.
import { computed, signal } from "../../vendor/preact.js";
import { locale } from "../lib/i18n.js";
import { changesOf, groupsOf, isGrave, rowsByPath } from "../lib/schema.js";
import { deltaOf } from "./deltas.js";

/** @import { Delta, Id, WorldAt } from "../lib/wire.d.ts" */
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
