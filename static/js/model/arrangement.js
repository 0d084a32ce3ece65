// How the open session is arranged beside its line: names on nodes, what lies in the stash, what is being moved.
import { computed, signal } from "../../vendor/preact.js";
import { recall, remember } from "../lib/storage.js";
import { session } from "./story.js";

/** @import { Fragment, Id, Label } from "../lib/wire.d.ts" */

/**
 * What is being moved or copied until a place for it is chosen: a fragment, or a message with what follows it, `from` this
 * session or another one.
 * @typedef {{piece: {fragmentId: Id} | {nodeId: Id}, from: Id, name: string, isCopy: boolean}} Moving
 * @typedef {{sid: Id, labels: Label[], fragments: Fragment[]}} Known
 */

const known = signal(/** @type {Known | null} */ (null));
const carried = signal(/** @type {{sid: Id, what: Moving} | null} */ (null));

/** What is known is known of one session only. */
const ofThis = computed(() => (known.value?.sid === session.value?.id ? known.value : null));

/** null: nobody has asked yet. */
export const fragments = computed(() => ofThis.value?.fragments ?? null);

/** The names of the story, also those of what lies in the stash. */
export const labels = computed(() => ofThis.value?.labels ?? []);

const byNode = computed(() => {
  /** @type {Map<Id, Label[]>} */
  const map = new Map();
  for (const label of labels.value) map.set(label.nodeId, [...(map.get(label.nodeId) ?? []), label]);
  return map;
});

/** @param {Id} id */
export const labelsOf = (id) => byNode.value.get(id) ?? [];

/** @param {Known} next */
export function putArrangement(next) {
  known.value = next;
}

export const moving = computed(() => (carried.value?.sid === session.value?.id ? (carried.value?.what ?? null) : null));

/** @param {Moving | null} what @param {Id | undefined} sid the session in which a place for it is chosen */
export function carry(what, sid = session.peek()?.id) {
  carried.value = what && sid ? { sid, what } : null;
}

const picked = signal(/** @type {{sid: Id, ids: Id[]} | null} */ (null));

/** The messages that are chosen for something; null: none are being chosen. */
export const chosen = computed(() => (picked.value?.sid === session.value?.id ? (picked.value?.ids ?? null) : null));

/** @param {Id[] | null} ids */
export function choose(ids) {
  const sid = session.peek()?.id;
  picked.value = ids && sid ? { sid, ids } : null;
}

/** Whether the stash lies open beside the whole tree; the reader's choice stays. */
export const stashBeside = signal(recall("tree.stash") === "open");

/** @param {boolean} open */
export function layStashBeside(open) {
  stashBeside.value = open;
  remember("tree.stash", open ? "open" : null);
}
