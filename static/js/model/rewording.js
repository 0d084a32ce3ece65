// The words of edits that were begun and not saved, by the message they are of.
import { recall, remember } from "../lib/storage.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** Also where the browser keeps nothing. @type {Map<Id, string>} */
const words = new Map();

/** What was typed last in the place of a message; null: nothing, or it was saved or given up. @param {Id} id */
export const wordsOf = (id) => words.get(id) ?? recall(`edit.${id}`);

/** @param {Id} id @param {string | null} text null forgets it */
export function keepWords(id, text) {
  if (text === null) words.delete(id);
  else words.set(id, text);
  remember(`edit.${id}`, text);
}
