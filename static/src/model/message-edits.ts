// Unsaved edits of messages, by message. Each tab has its own, and also sees those of other tabs, which may be closed.
import { keysOf, readStored, writeStored } from "../lib/storage.ts";
import { tab } from "../lib/tab.ts";
import { session } from "./session-store.ts";
import type { Id } from "../lib/wire.d.ts";

/** An unsaved edit of another tab, with its storage key. */
export interface OtherTabEdit {
  key: string;
  text: string;
}

/** The edits of this tab. They work without browser storage too. */
const ownEdits: Map<Id, string> = new Map();

/** Keys of edits taken over from other tabs, by message. */
const takenOver: Map<Id, Set<string>> = new Map();

/** The key ends with the session, so that the edits of a session can be found when it is opened. */
const keyOf = (id: Id) => `edit.${id}.${tab}.${session.peek()?.id}`;

/** Returns the unsaved edit of a message; `null` if there is none. */
export const unsavedEditOf = (id: Id) => ownEdits.get(id) ?? readStored(keyOf(id));

/** @param text `null` removes it */
export function saveUnsavedEdit(id: Id, text: string | null) {
  if (text !== null) return void (ownEdits.set(id, text), writeStored(keyOf(id), text));
  ownEdits.delete(id);
  // Another session may be open by now, so the key's end may differ.
  keysOf(`edit.${id}.${tab}`).forEach((key) => writeStored(key, null));
}

/** Returns the messages of the open session with an unsaved edit in any tab. */
export const unsavedEditIds = (): Id[] => [
  ...new Set(
    keysOf("edit.")
      .filter((key) => key.endsWith(`.${session.peek()?.id}`))
      .map((key) => key.split(".")[1] ?? ""),
  ),
];

/** Removes the edits of all tabs for a message that was purged. */
export function deleteUnsavedEdits(id: Id) {
  saveUnsavedEdit(id, null);
  keysOf(`edit.${id}.`).forEach((key) => writeStored(key, null));
}

/** Returns the edits of other tabs for a message. */
export const editsInOtherTabs = (id: Id): OtherTabEdit[] =>
  keysOf(`edit.${id}.`)
    .filter((key) => !key.startsWith(`edit.${id}.${tab}`))
    .map((key) => ({ key, text: readStored(key) ?? "" }));

/**
 * Continues an edit of another tab in this one. The original is kept until the edit is saved here.
 * @returns the current text
 */
export function continueEdit(id: Id, { key, text }: OtherTabEdit): string {
  takenOver.set(id, new Set([...(takenOver.get(id) ?? []), key]));
  return readStored(key) ?? text;
}

export const deleteOtherTabEdit = ({ key }: OtherTabEdit) => writeStored(key, null);

/** Removes an edit that was saved, and the edits that it was taken over from. */
export function deleteSavedEdit(id: Id) {
  saveUnsavedEdit(id, null);
  takenOver.get(id)?.forEach((key) => writeStored(key, null));
  takenOver.delete(id);
}
