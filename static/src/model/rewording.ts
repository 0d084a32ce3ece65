// Unsaved edits of messages, by message. Each tab has its own, and also sees those of other tabs, which may be closed.
import { keysOf, readStored, writeStored } from "../lib/storage.ts";
import { tab } from "../lib/tab.ts";
import { session } from "./story.ts";
import type { Id } from "../lib/wire.d.ts";

/** An unsaved edit of another tab, with its storage key. */
export interface Others {
  key: string;
  text: string;
}

/** The edits of this tab. They work without browser storage too. */
const words: Map<Id, string> = new Map();

/** Keys of edits taken over from other tabs, by message. */
const taken: Map<Id, Set<string>> = new Map();

/** The key ends with the session, so that the edits of a session can be found when it is opened. */
const keyOf = (id: Id) => `edit.${id}.${tab}.${session.peek()?.id}`;

/** Returns the unsaved edit of a message; `null` if there is none. */
export const wordsOf = (id: Id) => words.get(id) ?? readStored(keyOf(id));

/** @param text `null` removes it */
export function keepWords(id: Id, text: string | null) {
  if (text !== null) return void (words.set(id, text), writeStored(keyOf(id), text));
  words.delete(id);
  // Another session may be open by now, so the key's end may differ.
  keysOf(`edit.${id}.${tab}`).forEach((key) => writeStored(key, null));
}

/** Returns the messages of the open session with an unsaved edit in any tab. */
export const begunHere = (): Id[] => [
  ...new Set(
    keysOf("edit.")
      .filter((key) => key.endsWith(`.${session.peek()?.id}`))
      .map((key) => key.split(".")[1] ?? ""),
  ),
];

/** Removes the edits of all tabs for a message that was purged. */
export function forgetWords(id: Id) {
  keepWords(id, null);
  keysOf(`edit.${id}.`).forEach((key) => writeStored(key, null));
}

/** Returns the edits of other tabs for a message. */
export const wordsElsewhere = (id: Id): Others[] =>
  keysOf(`edit.${id}.`)
    .filter((key) => !key.startsWith(`edit.${id}.${tab}`))
    .map((key) => ({ key, text: readStored(key) ?? "" }));

/**
 * Continues an edit of another tab in this one. The original is kept until the edit is saved here.
 * @returns the current text
 */
export function takeOver(id: Id, { key, text }: Others): string {
  taken.set(id, new Set([...(taken.get(id) ?? []), key]));
  return readStored(key) ?? text;
}

export const forgetOthers = ({ key }: Others) => writeStored(key, null);

/** Removes an edit that was saved, and the edits that it was taken over from. */
export function wordsSaved(id: Id) {
  keepWords(id, null);
  taken.get(id)?.forEach((key) => writeStored(key, null));
  taken.delete(id);
}
