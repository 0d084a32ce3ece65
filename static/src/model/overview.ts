// The state of the page with the whole tree: the outline of the open session, the user's position, and what is folded.
import { batch, computed, signal } from "../../vendor/preact.js";
import { readStored, writeStored } from "../lib/storage.ts";
import { session } from "./story.ts";
import type { Outline } from "../tree/outline.ts";
import type { Id } from "../lib/wire.d.ts";
import type { ApiError } from "../net/api.ts";

const known = signal<{ sid: Id; outline: Outline | null; error: ApiError | null } | null>(null);
const ofThis = computed(() => (known.value?.sid === session.value?.id ? known.value : null));

/** `null` while it is loading, or if loading failed. */
export const outline = computed(() => ofThis.value?.outline ?? null);
/** Why it could not be loaded. */
export const failure = computed(() => ofThis.value?.error ?? null);

/** The message at the keyboard cursor; `null` = the one of HEAD. */
export const cursor = signal<Id | null>(null);
/** The message whose text is open next to the tree. */
export const reading = signal<Id | null>(null);

/** The selected messages. */
export const marked = signal<ReadonlySet<Id>>(new Set());
/** Whether a click selects a message and dragging selects a box. */
export const isMarking = signal(false);
/** The message over which a moved part is held: `null` = none, `undefined` = the one at the keyboard cursor. */
export const aimed = signal<Id | null | undefined>(undefined);

/** Whether the moved part is held over the stash. */
export const isOverStash = signal(false);
/** The two messages whose branches are compared next to the tree. */
export const compared = signal<{ from: Id; to: Id } | null>(null);

/** Whether side branches and straight runs are folded. The choice is remembered. */
export const sides = signal(readStored("tree.sides") !== "open");
export const runs = signal(readStored("tree.runs") === "folded");
/** Messages whose side branches are the exception to `sides`. */
export const flipped = signal<ReadonlySet<Id>>(new Set());
/** Messages whose run is drawn in full. */
export const openRuns = signal<ReadonlySet<Id>>(new Set());

export function putOutline(sid: Id, next: Outline) {
  batch(() => {
    if (known.peek()?.sid !== sid) forgetPlace();
    known.value = { sid, outline: next, error: null };
    // Removes the selection of messages that are no longer in the tree.
    const there = [...marked.peek()].filter((id) => next.at.has(id));
    if (there.length < marked.peek().size) marked.value = new Set(there);
    const two = compared.peek();
    if (two && !(next.at.has(two.from) && next.at.has(two.to))) compared.value = null;
  });
}

/** Stores a failure. An outline that was loaded before stays on screen. */
export function outlineFailed(sid: Id, error: ApiError) {
  if (known.peek()?.sid !== sid || known.peek()?.outline == null) known.value = { sid, outline: null, error };
}

/** Resets what refers to the messages of another session. */
function forgetPlace() {
  cursor.value = reading.value = compared.value = null;
  marked.value = new Set();
  isMarking.value = false;
  flipped.value = openRuns.value = new Set();
}

export function putCursor(id: Id) {
  batch(() => {
    cursor.value = id;
    aimed.value = undefined;
  });
}

/** Only one panel fits next to the tree. */
export function read(id: Id | null) {
  batch(() => {
    if (id !== null) compared.value = null;
    reading.value = id;
  });
}

export function compareTwo(two: { from: Id; to: Id } | null) {
  batch(() => {
    if (two) reading.value = null;
    compared.value = two;
  });
}

export function holdOverStash(is: boolean) {
  isOverStash.value = is;
}

export function mark(ids: Iterable<Id>) {
  marked.value = new Set(ids);
}

export function setMarking(is: boolean) {
  isMarking.value = is;
}

export function aimAt(id: Id | null | undefined) {
  aimed.value = id;
}

export function foldSides(folded: boolean) {
  batch(() => {
    sides.value = folded;
    flipped.value = new Set();
  });
  writeStored("tree.sides", folded ? null : "open");
}

export function foldRuns(folded: boolean) {
  batch(() => {
    runs.value = folded;
    openRuns.value = new Set();
  });
  writeStored("tree.runs", folded ? "folded" : null);
}

/** Folds or unfolds the side branches of one message. */
export function flip(id: Id) {
  const next = new Set(flipped.peek());
  if (!next.delete(id)) next.add(id);
  flipped.value = next;
}

export function openRun(id: Id) {
  openRuns.value = new Set([...openRuns.peek(), id]);
}
