// What the page that shows a whole tree knows: the outline of the open story, where the reader is in it, what is
// folded.
import { batch, computed, signal } from "../../vendor/preact.js";
import { recall, remember } from "../lib/storage.ts";
import { session } from "./story.ts";
import type { Outline } from "../tree/outline.ts";
import type { Id } from "../lib/wire.d.ts";
import type { ApiError } from "../net/api.ts";

const known = signal<{ sid: Id; outline: Outline | null; error: ApiError | null } | null>(null);
const ofThis = computed(() => (known.value?.sid === session.value?.id ? known.value : null));

/** null: it is being read, or could not be. */
export const outline = computed(() => ofThis.value?.outline ?? null);
/** Why it could not be read. */
export const failure = computed(() => ofThis.value?.error ?? null);

/** The message that the keyboard is at; null: that of HEAD. */
export const cursor = signal<Id | null>(null);
/** The message whose text is read beside the tree. */
export const reading = signal<Id | null>(null);

/** The messages that are chosen for something. */
export const marked = signal<ReadonlySet<Id>>(new Set());
/** Whether a click chooses a message, and drawing over the tree all in a box. */
export const isMarking = signal(false);
/** The message that what is moved is held over: none (null), or the one that the keyboard is at (undefined). */
export const aimed = signal<Id | null | undefined>(undefined);

/** Whether it is held over what takes it into the stash. */
export const isOverStash = signal(false);
/** The two messages whose lines are compared beside the tree. */
export const compared = signal<{ from: Id; to: Id } | null>(null);

/** Whether side branches are folded away, and straight runs; the reader's choice stays. */
export const sides = signal(recall("tree.sides") !== "open");
export const runs = signal(recall("tree.runs") === "folded");
/** Messages at which the side branches are the other way round. */
export const flipped = signal<ReadonlySet<Id>>(new Set());
/** Messages whose run is drawn whole. */
export const openRuns = signal<ReadonlySet<Id>>(new Set());

export function putOutline(sid: Id, next: Outline) {
  batch(() => {
    if (known.peek()?.sid !== sid) forgetPlace();
    known.value = { sid, outline: next, error: null };
    // What is no longer in the tree is not chosen either.
    const there = [...marked.peek()].filter((id) => next.at.has(id));
    if (there.length < marked.peek().size) marked.value = new Set(there);
    const two = compared.peek();
    if (two && !(next.at.has(two.from) && next.at.has(two.to))) compared.value = null;
  });
}

/** What was read before stays on screen. */
export function outlineFailed(sid: Id, error: ApiError) {
  if (known.peek()?.sid !== sid || known.peek()?.outline == null) known.value = { sid, outline: null, error };
}

/** Another story has other messages. */
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

/** One thing at a time has the place beside the tree. */
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
  remember("tree.sides", folded ? null : "open");
}

export function foldRuns(folded: boolean) {
  batch(() => {
    runs.value = folded;
    openRuns.value = new Set();
  });
  remember("tree.runs", folded ? "folded" : null);
}

/** Turns the side branches of one message round. */
export function flip(id: Id) {
  const next = new Set(flipped.peek());
  if (!next.delete(id)) next.add(id);
  flipped.value = next;
}

export function openRun(id: Id) {
  openRuns.value = new Set([...openRuns.peek(), id]);
}
