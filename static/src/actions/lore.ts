// Lorebooks and their entries, written here or imported.
import { download } from "../lib/download.ts";
import { t } from "../lib/i18n.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import { setBooks } from "../model/lore.ts";
import { openDialog, notify } from "../model/page.ts";
import { ApiError, allCharacters, session, sessions } from "../net/api.ts";
import { sendBook } from "../net/cards.ts";
import * as api from "../net/lore.ts";
import { personas } from "../net/personas.ts";
import { notifyImported } from "./cards.ts";
import { register } from "./commands.ts";
import { clearDialogErrors } from "./dialog-errors.ts";
import { attempt } from "./error-text.ts";
import { restore } from "./library.ts";
import type { Id, LoreEntry, WorldInfoSettings, Lorebook, LorebookBindings } from "../lib/wire.d.ts";
import type { EditableEntry } from "../model/lore.ts";

export type NewEntry = Omit<Partial<LoreEntry>, "uid">;

/** File extensions of lorebooks. */
export const BOOK_EXTENSIONS = ".json,.lorebook,.png";

/**
 * Reads all lorebooks.
 * @returns whether that worked
 */
export async function readBooks(
  how: (work: () => Promise<true>) => Promise<true | undefined> = attempt,
): Promise<boolean> {
  const result = await how(async () => {
    const all: Lorebook[] = [];
    for (let next = undefined as string | null | undefined; next !== null; ) {
      const page = await api.books(next);
      all.push(...page.items);
      next = page.next;
    }
    setBooks(all);
    return true;
  });
  return result === true;
}

/** Runs a background read without an error message when the server is away. */
const ignoreErrors = <T>(work: () => Promise<T>) => work().catch(() => undefined);

/** Reads the lorebooks again, because others may have changed them. */
export const rereadBooks = () => void readBooks(ignoreErrors);

// Books

export async function createBook(name: string, keyFor: (request: unknown) => string) {
  const result = await attempt(() => api.create({ name }, keyFor(name)));
  if (result) await readBooks();
  return result;
}

export async function renameBook(id: Id, name: string) {
  const renamed = await attempt(() => api.rename(id, name));
  if (renamed) await readBooks();
  return renamed !== undefined;
}

export async function removeBook({ id, name }: Lorebook) {
  const isGone = await attempt(async () => {
    await api.remove(id);
    return true;
  });
  if (!isGone) return;
  await readBooks();
  notify({
    tone: "quiet",
    text: t("notice.trashed", { name }),
    action: { label: "command.restore", run: () => void restore(id).then(() => readBooks()) },
  });
}

export const downloadBook = (id: Id) => download(api.bookFile(id));

/** Imports lorebooks of other programs, one after the other, and reports on them. */
export async function importBooks(files: File[]) {
  clearDialogErrors();
  for (const file of files) {
    const result = await attempt(() => sendBook(file));
    if (!result) continue;
    await readBooks();
    notifyImported({ ...result, id: null });
  }
}

// Links

export const readLinks = (id: Id) => attempt(() => api.links(id));

export const setLinks = (id: Id, holds: LorebookBindings) => attempt(() => api.setLinks(id, holds));

/** What a lorebook can be linked to, by the field that names it. */
export type LinkTargets = Record<"sessionIds" | "personaIds" | "characterIds", { id: Id; name: string }[]>;

/** Returns the newest sessions, all personas and characters, and the older sessions to which the book is linked. */
export const readLinkTargets = (holds: LorebookBindings | null): Promise<LinkTargets | undefined> =>
  attempt(async () => {
    const [newest, people, cards] = await Promise.all([sessions(), personas(), allCharacters()]);
    const known = new Set(newest.items.map(({ id }) => id));
    const older = await Promise.all((holds?.sessionIds ?? []).filter((id) => !known.has(id)).map((id) => session(id)));
    return {
      sessionIds: [...older, ...newest.items].map(({ id, title }) => ({ id, name: title })),
      personaIds: people,
      characterIds: cards,
    };
  });

// Global settings

export const readLoreSettings = () => attempt(api.settings);

/**
 * Sets the global lore settings, unless they changed since they were read. Missing settings get their defaults.
 * @param was the settings as read; null: no check
 */
export const setLoreSettings = (
  rules: Partial<WorldInfoSettings>,
  was: WorldInfoSettings | null,
): Promise<{ kept: WorldInfoSettings } | { theirs: WorldInfoSettings } | undefined> =>
  attempt(async () => {
    const now = was && (await api.settings());
    if (now && JSON.stringify(now) !== JSON.stringify(was)) return { theirs: now };
    return { kept: await api.setSettings(rules) };
  });

// Entries

export const readEntries = (id: Id, cursor?: string) => attempt(() => api.entries(id, cursor));

/** Reads the entries in the background, without error messages. */
export const readEntriesQuietly = (id: Id, cursor?: string) => ignoreErrors(() => api.entries(id, cursor));

/** The result of writing an entry. Somebody else may have changed or deleted it since it was read. */
type EntryWriteResult = { is: "written" | "changed"; entry: LoreEntry } | { is: "gone" };

/** Writes an entry if it is still as the user saw it. */
export const writeEntry = (
  id: Id,
  uid: string,
  mine: EditableEntry,
  seen: Partial<LoreEntry>,
): Promise<EntryWriteResult | undefined> =>
  attempt(async () => {
    try {
      return { is: "written", entry: await api.changeEntry(id, uid, mine, expectedFieldsOf(seen, mine)) };
    } catch (error) {
      const now = currentEntry(error);
      if (now) return { is: "changed", entry: now };
      if (error instanceof ApiError && error.status === 404) return { is: "gone" };
      throw error;
    }
  });

/** Returns the fields that are written, as the user saw them. */
const expectedFieldsOf = (seen: Partial<LoreEntry>, mine: EditableEntry) =>
  Object.fromEntries(Object.keys(mine).map((field) => [field, seen[field as keyof LoreEntry] ?? null]));

/** Returns the current entry if a request was refused because somebody else changed it. */
const currentEntry = (error: unknown): LoreEntry | null =>
  (error instanceof ApiError && error.code === "conflict" && error.details.entry) || null;

/** Returns which entries of a lorebook a text would activate. Nothing is written. */
export const testLorebook = (id: Id, text: string) =>
  attempt(async () => {
    const { silentCount, ...found } = await api.test(id, text);
    return { ...found, silent: silentCount };
  });

export const addEntry = (id: Id, entry: NewEntry, keyFor: (request: unknown) => string) =>
  attempt(() => api.addEntry(id, entry, keyFor(entry)));

export const changeEntry = (id: Id, { uid }: LoreEntry, changes: Partial<LoreEntry>) =>
  attempt(() => api.changeEntry(id, String(uid), changes));

/**
 * Deletes an entry if it is still as the user saw it, and offers to undo that.
 * @param put gets the entry after an undo, or the current entry if somebody else changed it
 */
export async function removeEntry(id: Id, entry: LoreEntry, name: string, put: (entry: LoreEntry) => void) {
  const isGone = await attempt(async () => {
    try {
      await api.removeEntry(id, String(entry.uid), entry);
      return true;
    } catch (error) {
      const now = currentEntry(error);
      if (!now) throw error;
      put(now);
      notify({ tone: "error", text: t("lore.stays", { name }) });
      return false;
    }
  });
  if (!isGone) return false;
  const keyFor = idempotencyKeys();
  const run = () => void addEntry(id, entry, keyFor).then((result) => result && (put(result), readBooks()));
  notify({ tone: "quiet", stays: true, text: t("notice.entryGone", { name }), action: { label: "command.undo", run } });
  return true;
}

register({
  id: "page.lore",
  label: "command.lore",
  icon: "lore",
  scope: "page",
  run: () => openDialog({ kind: "lore", bookId: null, uid: null }),
});
