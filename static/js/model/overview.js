// What the page that shows a whole tree knows: the outline of the open story, where the reader is in it, what is folded.
import { batch, computed, signal } from "../../vendor/preact.js";
import { recall, remember } from "../lib/storage.js";
import { session } from "./story.js";

/** @import { Outline } from "../tree/outline.js" */
/** @import { Id } from "../lib/wire.d.ts" */
/** @import { ApiError } from "../net/api.js" */

const known = signal(/** @type {{sid: Id, outline: Outline | null, error: ApiError | null} | null} */ (null));
const ofThis = computed(() => (known.value?.sid === session.value?.id ? known.value : null));

/** null: it is being read, or could not be. */
export const outline = computed(() => ofThis.value?.outline ?? null);
/** Why it could not be read. */
export const failure = computed(() => ofThis.value?.error ?? null);

/** The message that the keyboard is at; null: that of HEAD. */
export const cursor = signal(/** @type {Id | null} */ (null));
/** The message whose text is read beside the tree. */
export const reading = signal(/** @type {Id | null} */ (null));

/** The messages that are chosen for something. */
export const marked = signal(/** @type {ReadonlySet<Id>} */ (new Set()));
/** Whether a click chooses a message, and drawing over the tree all in a box. */
export const isMarking = signal(false);
/** The message that what is moved is held over: none (null), or the one that the keyboard is at (undefined). */
export const aimed = signal(/** @type {Id | null | undefined} */ (undefined));

/** Whether it is held over what takes it into the stash. */
export const isOverStash = signal(false);
/** The two messages whose lines are compared beside the tree. */
export const compared = signal(/** @type {{from: Id, to: Id} | null} */ (null));

/** Whether side branches are folded away, and straight runs; the reader's choice stays. */
export const sides = signal(recall("tree.sides") !== "open");
export const runs = signal(recall("tree.runs") === "folded");
/** Messages at which the side branches are the other way round. */
export const flipped = signal(/** @type {ReadonlySet<Id>} */ (new Set()));
/** Messages whose run is drawn whole. */
export const openRuns = signal(/** @type {ReadonlySet<Id>} */ (new Set()));

/** @param {Id} sid @param {Outline} next */
export function putOutline(sid, next) {
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

/** What was read before stays on screen. @param {Id} sid @param {ApiError} error */
export function outlineFailed(sid, error) {
  if (known.peek()?.sid !== sid || known.peek()?.outline == null) known.value = { sid, outline: null, error };
}

/** Another story has other messages. */
function forgetPlace() {
  cursor.value = reading.value = compared.value = null;
  marked.value = new Set();
  isMarking.value = false;
  flipped.value = openRuns.value = new Set();
}

/** @param {Id} id */
export function putCursor(id) {
  batch(() => {
    cursor.value = id;
    aimed.value = undefined;
  });
}

/** One thing at a time has the place beside the tree. @param {Id | null} id */
export function read(id) {
  batch(() => {
    if (id !== null) compared.value = null;
    reading.value = id;
  });
}

/** @param {{from: Id, to: Id} | null} two */
export function compareTwo(two) {
  batch(() => {
    if (two) reading.value = null;
    compared.value = two;
  });
}

/** @param {boolean} is */
export function holdOverStash(is) {
  isOverStash.value = is;
}

/** @param {Iterable<Id>} ids */
export function mark(ids) {
  marked.value = new Set(ids);
}

/** @param {boolean} is */
export function setMarking(is) {
  isMarking.value = is;
}

/** @param {Id | null | undefined} id */
export function aimAt(id) {
  aimed.value = id;
}

/** @param {boolean} folded */
export function foldSides(folded) {
  batch(() => {
    sides.value = folded;
    flipped.value = new Set();
  });
  remember("tree.sides", folded ? null : "open");
}

/** @param {boolean} folded */
export function foldRuns(folded) {
  batch(() => {
    runs.value = folded;
    openRuns.value = new Set();
  });
  remember("tree.runs", folded ? "folded" : null);
}

/** Turns the side branches of one message round. @param {Id} id */
export function flip(id) {
  const next = new Set(flipped.peek());
  if (!next.delete(id)) next.add(id);
  flipped.value = next;
}

/** @param {Id} id */
export function openRun(id) {
  openRuns.value = new Set([...openRuns.peek(), id]);
}
