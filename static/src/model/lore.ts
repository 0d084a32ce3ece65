// The user's lorebooks without their entries, and unsaved entries of this tab.
import { signal } from "../../vendor/preact.js";
import { readOptions } from "../lib/lore-options.ts";
import { keysOf, readStored, writeStored } from "../lib/storage.ts";
import type { Id, LoreEntry, Lorebook } from "../lib/wire.d.ts";

/** The fields of an entry that the user edits. Options are only there if the user changed them. */
export type EditableEntry = Pick<
  Required<LoreEntry>,
  "comment" | "key" | "content" | "constant" | "disable" | "vectorized"
> &
  Partial<LoreEntry>;

/** An unsaved entry. `before`: the stored entry when editing began. */
interface EntryDraft {
  mine: EditableEntry;
  before: LoreEntry | null;
}

/** `null` if not loaded yet. */
export const books = signal<Lorebook[] | null>(null);

export function setBooks(all: Lorebook[]) {
  books.value = all;
}

export const bookById = (id: Id) => books.value?.find((book) => book.id === id) ?? null;

const WHERE = "sessionStorage";
const keyOf = (id: Id, uid: string | null) => `lore.${id}.${uid ?? ""}`;

/**
 * Returns the unsaved text of an entry.
 * @param id the lorebook
 * @param uid `null` = a new entry
 */
export function readEntryDraft(id: Id, uid: string | null): EntryDraft | null {
  try {
    return JSON.parse(readStored(keyOf(id, uid), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param draft `null` removes it */
export const saveEntryDraft = (id: Id, uid: string | null, draft: EntryDraft | null) =>
  writeStored(keyOf(id, uid), draft && JSON.stringify(draft), WHERE);

/** An unsaved entry made from a passage. It is stored under the passage, because it has no uid yet. */
interface PassageDraft {
  mine: Pick<EditableEntry, "comment" | "key" | "content" | "constant">;
  where: string;
  book: string;
}

const passageKey = (passage: unknown) => `keepLore.${JSON.stringify(passage)}`;

export function readPassageDraft(passage: unknown): PassageDraft | null {
  try {
    return JSON.parse(readStored(passageKey(passage), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param draft `null` removes it */
export const savePassageDraft = (passage: unknown, draft: PassageDraft | null) =>
  writeStored(passageKey(passage), draft && JSON.stringify(draft), WHERE);

/** Returns the uids of unsaved entries of a lorebook; `null` = a new one. */
export const entryDraftsIn = (id: Id): (string | null)[] =>
  keysOf(keyOf(id, ""), WHERE).map((key) => key.slice(keyOf(id, "").length) || null);

/** Whether two entries look the same to the user. */
export const looksSame = (one: Partial<LoreEntry>, other: Partial<LoreEntry>) =>
  visibleFields(one) === visibleFields(other);

const visibleFields = (entry: Partial<LoreEntry>) =>
  JSON.stringify([
    (entry.comment ?? "").trim(),
    entry.key ?? [],
    (entry.content ?? "").replaceAll("\r\n", "\n"),
    entry.constant === true,
    entry.disable === true,
    entry.vectorized === true,
    readOptions(entry),
  ]);
