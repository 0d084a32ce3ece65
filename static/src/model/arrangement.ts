// The arrangement of the open session besides its branch: labels, the stash, and what is being moved.
import { computed, signal } from "../../vendor/preact.js";
import { readStored, writeStored } from "../lib/storage.ts";
import { session } from "./session-store.ts";
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

interface Arrangement {
  sid: Id;
  labels: Label[];
  fragments: Fragment[];
}

const arrangement = signal<Arrangement | null>(null);
const movingAnywhere = signal<{ sid: Id; what: Moving } | null>(null);

/** The data belong to one session only. */
const ofOpenSession = computed(() => (arrangement.value?.sid === session.value?.id ? arrangement.value : null));

/** `null` if not loaded yet. */
export const fragments = computed(() => ofOpenSession.value?.fragments ?? null);

/** The labels of the session, including those in the stash. */
export const labels = computed(() => ofOpenSession.value?.labels ?? []);

const byNode = computed(() => {
  const map: Map<Id, Label[]> = new Map();
  for (const label of labels.value) map.set(label.nodeId, [...(map.get(label.nodeId) ?? []), label]);
  return map;
});

export const labelsOf = (id: Id) => byNode.value.get(id) ?? [];

export function setArrangement(next: Arrangement) {
  arrangement.value = next;
}

export const moving = computed(() =>
  movingAnywhere.value?.sid === session.value?.id ? (movingAnywhere.value?.what ?? null) : null,
);

/**
 * Starts or ends a move.
 * @param sid the session in which the place is chosen
 */
export function setMoving(what: Moving | null, sid: Id | undefined = session.peek()?.id) {
  movingAnywhere.value = what && sid ? { sid, what } : null;
}

const selection = signal<{ sid: Id; ids: Id[] } | null>(null);

/** The selected messages; `null` if nothing is being selected. */
export const selectedIds = computed(() =>
  selection.value?.sid === session.value?.id ? (selection.value?.ids ?? null) : null,
);

export function setSelectedIds(ids: Id[] | null) {
  const sid = session.peek()?.id;
  selection.value = ids && sid ? { sid, ids } : null;
}

/** Whether the stash is open next to the whole tree. The choice is remembered. */
export const isStashOpen = signal(readStored("tree.stash") === "open");

export function setStashOpen(open: boolean) {
  isStashOpen.value = open;
  writeStored("tree.stash", open ? "open" : null);
}
