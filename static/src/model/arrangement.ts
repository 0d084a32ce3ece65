// The arrangement of the open session besides its branch: labels, the stash, and what is being moved.
import { computed, signal } from "../../vendor/preact.js";
import { readStored, writeStored } from "../lib/storage.ts";
import { session } from "./story.ts";
import type { Fragment, Id, Label } from "../lib/wire.d.ts";

/**
 * A fragment, or a message with everything after it, that is being moved or copied. It waits for the choice of a place.
 * `from`: its session.
 */
export interface Moving {
  piece: { fragmentId: Id } | { nodeId: Id };
  from: Id;
  name: string;
  isCopy: boolean;
}

interface Known {
  sid: Id;
  labels: Label[];
  fragments: Fragment[];
}

const known = signal<Known | null>(null);
const carried = signal<{ sid: Id; what: Moving } | null>(null);

/** The data belong to one session only. */
const ofThis = computed(() => (known.value?.sid === session.value?.id ? known.value : null));

/** `null` if not loaded yet. */
export const fragments = computed(() => ofThis.value?.fragments ?? null);

/** The labels of the session, including those in the stash. */
export const labels = computed(() => ofThis.value?.labels ?? []);

const byNode = computed(() => {
  const map: Map<Id, Label[]> = new Map();
  for (const label of labels.value) map.set(label.nodeId, [...(map.get(label.nodeId) ?? []), label]);
  return map;
});

export const labelsOf = (id: Id) => byNode.value.get(id) ?? [];

export function putArrangement(next: Known) {
  known.value = next;
}

export const moving = computed(() => (carried.value?.sid === session.value?.id ? (carried.value?.what ?? null) : null));

/**
 * Starts or ends a move.
 * @param sid the session in which the place is chosen
 */
export function carry(what: Moving | null, sid: Id | undefined = session.peek()?.id) {
  carried.value = what && sid ? { sid, what } : null;
}

const picked = signal<{ sid: Id; ids: Id[] } | null>(null);

/** The selected messages; `null` if nothing is being selected. */
export const chosen = computed(() => (picked.value?.sid === session.value?.id ? (picked.value?.ids ?? null) : null));

export function choose(ids: Id[] | null) {
  const sid = session.peek()?.id;
  picked.value = ids && sid ? { sid, ids } : null;
}

/** Whether the stash is open next to the whole tree. The choice is remembered. */
export const stashBeside = signal(readStored("tree.stash") === "open");

export function layStashBeside(open: boolean) {
  stashBeside.value = open;
  writeStored("tree.stash", open ? "open" : null);
}
