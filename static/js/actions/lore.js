// Lorebooks and their entries: those that were written here, and those of other programs.
import { download } from "../lib/download.js";
import { t } from "../lib/i18n.js";
import { keyring } from "../lib/once.js";
import { putBooks } from "../model/lore.js";
import { openDialog, tell } from "../model/page.js";
import { ApiError, characters, otherCharacters, session, sessions } from "../net/api.js";
import { sendBook } from "../net/cards.js";
import * as api from "../net/lore.js";
import { personas } from "../net/personas.js";
import { tellOf } from "./cards.js";
import { register } from "./commands.js";
import { doneWithErrors } from "./done-with.js";
import { attempt } from "./failure.js";
import { restore } from "./library.js";

/** @import { Id, LoreEntry, LoreRules, Lorebook, LorebookHolds } from "../lib/wire.d.ts" */
/** @import { Words } from "../model/lore.js" */
/** @typedef {Omit<Partial<LoreEntry>, "uid">} NewEntry */

/** What a lorebook may be called. */
export const BOOKS = ".json,.lorebook,.png";

/** @param {(work: () => Promise<true>) => Promise<true | undefined>} [how] @returns {Promise<boolean>} whether they came */
export async function readBooks(how = attempt) {
  const came = await how(async () => {
    /** @type {Lorebook[]} */
    const all = [];
    for (let next = /** @type {string | null | undefined} */ (undefined); next !== null; ) {
      const page = await api.books(next);
      all.push(...page.items);
      next = page.next;
    }
    putBooks(all);
    return true;
  });
  return came === true;
}

/** Who only looks at the page again is not told that the server is away. @template T @param {() => Promise<T>} work */
const quietly = (work) => work().catch(() => undefined);

/** Reads them again, since others may have changed them. */
export const lookAgain = () => void readBooks(quietly);

// Books

/** @param {string} name @param {(request: unknown) => string} keyFor */
export async function makeBook(name, keyFor) {
  const made = await attempt(() => api.create({ name }, keyFor(name)));
  if (made) await readBooks();
  return made;
}

/** @param {Id} id @param {string} name */
export async function renameBook(id, name) {
  const renamed = await attempt(() => api.rename(id, name));
  if (renamed) await readBooks();
  return renamed !== undefined;
}

/** @param {Lorebook} book */
export async function removeBook({ id, name }) {
  const isGone = await attempt(async () => {
    await api.remove(id);
    return true;
  });
  if (!isGone) return;
  await readBooks();
  tell({ tone: "quiet", text: t("notice.trashed", { name }), act: { label: "command.restore", run: () => void restore(id).then(() => readBooks()) } });
}

/** @param {Id} id */
export const takeBook = (id) => download(api.bookFile(id));

/** Brings books of other programs in, one after the other, and says what came along. @param {File[]} files */
export async function bringBooks(files) {
  doneWithErrors();
  for (const file of files) {
    const came = await attempt(() => sendBook(file));
    if (!came) continue;
    await readBooks();
    tellOf({ ...came, id: null });
  }
}

// For what they hold

/** @param {Id} id */
export const readHolds = (id) => attempt(() => api.holds(id));

/** @param {Id} id @param {LorebookHolds} holds */
export const setHolds = (id, holds) => attempt(() => api.setHolds(id, holds));

/** What a book may hold for, by the field that names it. @typedef {Record<"sessionIds" | "personaIds" | "characterIds", {id: Id, name: string}[]>} Holders */

async function everyCharacter() {
  const { items, next } = await characters();
  return [...items, ...(await otherCharacters(next))];
}

/** The newest stories, all personas and characters, and the older stories for which the book holds. @param {LorebookHolds | null} holds @returns {Promise<Holders | undefined>} */
export const readHolders = (holds) =>
  attempt(async () => {
    const [newest, people, cards] = await Promise.all([sessions(), personas(), everyCharacter()]);
    const known = new Set(newest.items.map(({ id }) => id));
    const older = await Promise.all((holds?.sessionIds ?? []).filter((id) => !known.has(id)).map((id) => session(id)));
    return { sessionIds: [...older, ...newest.items].map(({ id, title }) => ({ id, name: title })), personaIds: people, characterIds: cards };
  });

// How all of them are looked through

export const readRules = () => attempt(api.rules);

/**
 * Sets the house rules, unless they are others by now than when they were read. What is left out is as usual.
 * @param {Partial<LoreRules>} rules @param {LoreRules | null} was null: whatever they are
 * @returns {Promise<{kept: LoreRules} | {theirs: LoreRules} | undefined>}
 */
export const setRules = (rules, was) =>
  attempt(async () => {
    const now = was && (await api.rules());
    if (now && JSON.stringify(now) !== JSON.stringify(was)) return { theirs: now };
    return { kept: await api.setRules(rules) };
  });

// Entries

/** @param {Id} id @param {string} [cursor] */
export const readEntries = (id, cursor) => attempt(() => api.entries(id, cursor));

/** The same, for who only looks again. @param {Id} id @param {string} [cursor] */
export const seeEntries = (id, cursor) => quietly(() => api.entries(id, cursor));

/** What came of writing an entry: somebody else may have changed it since it was seen, or taken it out. @typedef {{is: "written" | "changed", entry: LoreEntry} | {is: "gone"}} Written */

/** Writes an entry, over nothing but what was seen there. @param {Id} id @param {string} uid @param {Words} mine @param {Partial<LoreEntry>} seen @returns {Promise<Written | undefined>} */
export const writeEntry = (id, uid, mine, seen) =>
  attempt(async () => {
    try {
      return { is: "written", entry: await api.changeEntry(id, uid, mine, seenOf(seen)) };
    } catch (error) {
      const now = meanwhile(error);
      if (now) return { is: "changed", entry: now };
      if (error instanceof ApiError && error.status === 404) return { is: "gone" };
      throw error;
    }
  });

/** What the reader writes of an entry, as it was seen. @param {Partial<LoreEntry>} entry */
const seenOf = ({ comment, key, content, constant, disable, vectorized }) => ({
  comment: comment ?? null,
  key: key ?? null,
  content: content ?? null,
  constant: constant ?? null,
  disable: disable ?? null,
  vectorized: vectorized ?? null,
});

/** The entry as somebody else has written it meanwhile, where that is why something was refused. @param {unknown} error @returns {LoreEntry | null} */
const meanwhile = (error) => (error instanceof ApiError && error.code === "conflict" && error.details.entry) || null;

/** @param {Id} id @param {NewEntry} entry @param {(request: unknown) => string} keyFor */
export const addEntry = (id, entry, keyFor) => attempt(() => api.addEntry(id, entry, keyFor(entry)));

/** @param {Id} id @param {LoreEntry} entry @param {Partial<LoreEntry>} changes */
export const changeEntry = (id, { uid }, changes) => attempt(() => api.changeEntry(id, String(uid), changes));

/** Takes an entry out as it was seen, and offers to bring it back. @param {Id} id @param {LoreEntry} entry @param {string} name @param {(entry: LoreEntry) => void} put hears of it when it is there again, or as another one */
export async function removeEntry(id, entry, name, put) {
  const isGone = await attempt(async () => {
    try {
      await api.removeEntry(id, String(entry.uid), entry);
      return true;
    } catch (error) {
      const now = meanwhile(error);
      if (!now) throw error;
      put(now);
      tell({ tone: "error", text: t("lore.stays", { name }) });
      return false;
    }
  });
  if (!isGone) return false;
  const keyFor = keyring();
  const run = () => void addEntry(id, entry, keyFor).then((made) => made && (put(made), readBooks()));
  tell({ tone: "quiet", stays: true, text: t("notice.entryGone", { name }), act: { label: "command.undo", run } });
  return true;
}

register({
  id: "page.lore",
  label: "command.lore",
  icon: "lore",
  scope: "page",
  run: () => openDialog({ kind: "lore", bookId: null, uid: null }),
});
