// How the open session is arranged beside its line: names on nodes, what lies in the stash, what is being moved.
import { computed, signal } from "../../vendor/preact.js";
import { recall, remember } from "../lib/storage.ts";
import { session } from "./story.ts";
import type { Fragment, Id, Label } from "../lib/wire.d.ts";

/**
 * What is being moved or copied until a place for it is chosen: a fragment, or a message with what follows it, `from`
 * this session or another one.
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

/** What is known is known of one session only. */
const ofThis = computed(() => (known.value?.sid === session.value?.id ? known.value : null));

/** null: nobody has asked yet. */
export const fragments = computed(() => ofThis.value?.fragments ?? null);

/** The names of the story, also those of what lies in the stash. */
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

/** @param sid the session in which a place for it is chosen */
export function carry(what: Moving | null, sid: Id | undefined = session.peek()?.id) {
  carried.value = what && sid ? { sid, what } : null;
}

const picked = signal<{ sid: Id; ids: Id[] } | null>(null);

/** The messages that are chosen for something; null: none are being chosen. */
export const chosen = computed(() => (picked.value?.sid === session.value?.id ? (picked.value?.ids ?? null) : null));

export function choose(ids: Id[] | null) {
  const sid = session.peek()?.id;
  picked.value = ids && sid ? { sid, ids } : null;
}

/** Whether the stash lies open beside the whole tree; the reader's choice stays. */
export const stashBeside = signal(recall("tree.stash") === "open");

export function layStashBeside(open: boolean) {
  stashBeside.value = open;
  remember("tree.stash", open ? "open" : null);
}
