// The state of the page with the whole tree: the outline of the open session, the user's position, and what is folded.
import { batch, computed, signal } from "../../vendor/preact.js";
import { readStored, writeStored } from "../lib/storage.ts";
import { session } from "./session-store.ts";
import type { Outline } from "../tree/outline.ts";
import type { Id } from "../lib/wire.d.ts";
import type { ApiError } from "../net/api.ts";

const stored = signal<{ sid: Id; outline: Outline | null; error: ApiError | null } | null>(null);
const ofOpenSession = computed(() => (stored.value?.sid === session.value?.id ? stored.value : null));

/** `null` while it is loading, or if loading failed. */
export const outline = computed(() => ofOpenSession.value?.outline ?? null);
/** Why it could not be loaded. */
export const failure = computed(() => ofOpenSession.value?.error ?? null);

/** The message at the keyboard cursor; `null` = the one of HEAD. */
export const cursor = signal<Id | null>(null);
/** The message whose text is open next to the tree. */
export const openMessage = signal<Id | null>(null);

/** The selected messages. */
export const selected = signal<ReadonlySet<Id>>(new Set());
/** Whether a click selects a message and dragging selects a box. */
export const isSelecting = signal(false);
/** The message over which a moved part is held: `null` = none, `undefined` = the one at the keyboard cursor. */
export const dropTarget = signal<Id | null | undefined>(undefined);

/** Whether the moved part is held over the stash. */
export const isOverStash = signal(false);
/** The two messages whose branches are compared next to the tree. */
export const compared = signal<{ from: Id; to: Id } | null>(null);

/** Whether side branches and straight runs are folded. The choice is remembered. */
export const areSidesFolded = signal(readStored("tree.sides") !== "open");
export const areRunsFolded = signal(readStored("tree.runs") === "folded");
/** Messages whose side branches are the exception to `areSidesFolded`. */
export const sideExceptions = signal<ReadonlySet<Id>>(new Set());
/** Messages whose run is drawn in full. */
export const openRuns = signal<ReadonlySet<Id>>(new Set());

export function setOutline(sid: Id, next: Outline) {
  batch(() => {
    if (stored.peek()?.sid !== sid) resetPosition();
    stored.value = { sid, outline: next, error: null };
    // Removes the selection of messages that are no longer in the tree.
    const there = [...selected.peek()].filter((id) => next.at.has(id));
    if (there.length < selected.peek().size) selected.value = new Set(there);
    const two = compared.peek();
    if (two && !(next.at.has(two.from) && next.at.has(two.to))) compared.value = null;
  });
}

/** Stores a failure. An outline that was loaded before stays on screen. */
export function setOutlineFailure(sid: Id, error: ApiError) {
  if (stored.peek()?.sid !== sid || stored.peek()?.outline == null) stored.value = { sid, outline: null, error };
}

/** Resets what refers to the messages of another session. */
function resetPosition() {
  cursor.value = openMessage.value = compared.value = null;
  selected.value = new Set();
  isSelecting.value = false;
  sideExceptions.value = openRuns.value = new Set();
}

export function setCursor(id: Id) {
  batch(() => {
    cursor.value = id;
    dropTarget.value = undefined;
  });
}

/** Only one panel fits next to the tree. */
export function setOpenMessage(id: Id | null) {
  batch(() => {
    if (id !== null) compared.value = null;
    openMessage.value = id;
  });
}

export function setCompared(two: { from: Id; to: Id } | null) {
  batch(() => {
    if (two) openMessage.value = null;
    compared.value = two;
  });
}

export function setOverStash(is: boolean) {
  isOverStash.value = is;
}

export function setSelected(ids: Iterable<Id>) {
  selected.value = new Set(ids);
}

export function setSelecting(is: boolean) {
  isSelecting.value = is;
}

export function setDropTarget(id: Id | null | undefined) {
  dropTarget.value = id;
}

export function setSidesFolded(folded: boolean) {
  batch(() => {
    areSidesFolded.value = folded;
    sideExceptions.value = new Set();
  });
  writeStored("tree.sides", folded ? null : "open");
}

export function setRunsFolded(folded: boolean) {
  batch(() => {
    areRunsFolded.value = folded;
    openRuns.value = new Set();
  });
  writeStored("tree.runs", folded ? "folded" : null);
}

/** Folds or unfolds the side branches of one message. */
export function toggleSides(id: Id) {
  const next = new Set(sideExceptions.peek());
  if (!next.delete(id)) next.add(id);
  sideExceptions.value = next;
}

export function openRun(id: Id) {
  openRuns.value = new Set([...openRuns.peek(), id]);
}
