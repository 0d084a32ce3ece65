// The reader's lorebooks, without their entries; and the words of entries that were begun in this tab and not saved.
import { signal } from "../../vendor/preact.js";
import { keysOf, recall, remember } from "../lib/storage.js";

/** @import { Id, LoreEntry, Lorebook } from "../lib/wire.d.ts" */

/** What a reader writes of an entry. @typedef {Pick<Required<LoreEntry>, "comment" | "key" | "content" | "constant" | "disable" | "vectorized">} Words */
/** Words that were begun; `before`: what stood there then. @typedef {{mine: Words, before: LoreEntry | null}} Begun */

/** Null: nobody has looked yet. */
export const books = signal(/** @type {Lorebook[] | null} */ (null));

/** @param {Lorebook[]} all */
export function putBooks(all) {
  books.value = all;
}

/** @param {Id} id */
export const bookById = (id) => books.value?.find((book) => book.id === id) ?? null;

const WHERE = "sessionStorage";
const keyOf = (/** @type {Id} */ id, /** @type {string | null} */ uid) => `lore.${id}.${uid ?? ""}`;

/** @param {Id} id the book @param {string | null} uid null: of a new entry @returns {Begun | null} */
export function draftOf(id, uid) {
  try {
    return JSON.parse(recall(keyOf(id, uid), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param {Id} id @param {string | null} uid @param {Begun | null} begun null forgets it */
export const keepDraft = (id, uid, begun) => remember(keyOf(id, uid), begun && JSON.stringify(begun), WHERE);

/** What is kept of a passage as lore while it is being written: it belongs to the passage, as no entry is there yet. @typedef {{mine: Omit<Words, "disable" | "vectorized">, where: string, book: string}} Keeping */

const keeping = (/** @type {unknown} */ passage) => `keepLore.${JSON.stringify(passage)}`;

/** @param {unknown} passage @returns {Keeping | null} */
export function keepingOf(passage) {
  try {
    return JSON.parse(recall(keeping(passage), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param {unknown} passage @param {Keeping | null} begun null forgets it */
export const putKeeping = (passage, begun) => remember(keeping(passage), begun && JSON.stringify(begun), WHERE);

/** The entries of a book that were begun and not saved; null is a new one. @param {Id} id @returns {(string | null)[]} */
export const begunIn = (id) => keysOf(keyOf(id, ""), WHERE).map((key) => key.slice(keyOf(id, "").length) || null);

/** Whether a reader would see no difference. @param {Partial<LoreEntry>} one @param {Partial<LoreEntry>} other */
export const alike = (one, other) => seen(one) === seen(other);

/** @param {Partial<LoreEntry>} entry */
const seen = ({ comment, key, content, constant, disable, vectorized }) => JSON.stringify([(comment ?? "").trim(), key ?? [], (content ?? "").replaceAll("\r\n", "\n"), constant === true, disable === true, vectorized === true]);
