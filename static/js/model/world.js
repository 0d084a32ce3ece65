// The world at the place on screen, and what the turn that led there changed.
import { computed, signal } from "../../vendor/preact.js";
import { locale } from "../lib/i18n.js";
import { changesOf, groupsOf } from "../lib/schema.js";

/** @import { Delta, Id, WorldAt } from "../lib/wire.d.ts" */
/** @import { ApiError } from "../net/api.js" */

/** @typedef {{nid: Id, at: WorldAt, deltas: Delta[]}} Known */

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
export const turn = computed(() => changesOf(known.value?.deltas ?? []));
export const rolls = computed(() => (known.value?.deltas ?? []).flatMap((delta) => delta.rolls ?? []));

/** Whether a number went down this turn: the moment to learn that one can go back. */
export const lostSomething = () =>
  [...turn.peek().values()].some(({ before, after }) => typeof before === "number" && typeof after === "number" && after < before);
