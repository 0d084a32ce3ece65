// The reader's lorebooks, without their entries.
import { signal } from "../../vendor/preact.js";

/** @import { Id, Lorebook } from "../lib/wire.d.ts" */

/** Null: nobody has looked yet. */
export const books = signal(/** @type {Lorebook[] | null} */ (null));

/** @param {Lorebook[]} all */
export function putBooks(all) {
  books.value = all;
}

/** @param {Id} id */
export const bookById = (id) => books.value?.find((book) => book.id === id) ?? null;
