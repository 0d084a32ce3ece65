// The next message, while a model drafts it for the reader.
import { computed, signal } from "../../vendor/preact.js";
import { session } from "./story.js";

/** @import { Draft, Id } from "../lib/wire.d.ts" */

/** @typedef {{sid: Id, text: string, status: Draft["status"], place: number}} Drafting */

const known = signal(/** @type {Drafting | null} */ (null));

export const drafting = computed(() => (known.value?.sid === session.value?.id ? known.value : null));

/** @param {Drafting | null} next */
export function putDrafting(next) {
  known.value = next;
}
