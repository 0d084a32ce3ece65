// The words of edits that were begun and not saved, by the message they are of. Each tab has its own, and knows those of the
// others: they may be closed by now.
import { keysOf, recall, remember } from "../lib/storage.js";
import { tab } from "../lib/tab.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** Words of another tab, by the name under which they are kept. @typedef {{key: string, text: string}} Others */

/** Also where the browser keeps nothing. @type {Map<Id, string>} */
const words = new Map();

/** Words of other tabs that were taken over, by message. @type {Map<Id, Set<string>>} */
const taken = new Map();

/** @param {Id} id */
const keyOf = (id) => `edit.${id}.${tab}`;

/** What was typed last in the place of a message; null: nothing, or it was saved or given up. @param {Id} id */
export const wordsOf = (id) => words.get(id) ?? recall(keyOf(id));

/** @param {Id} id @param {string | null} text null forgets it */
export function keepWords(id, text) {
  if (text === null) words.delete(id);
  else words.set(id, text);
  remember(keyOf(id), text);
}

/** What other tabs have typed in the place of a message. @param {Id} id @returns {Others[]} */
export const wordsElsewhere = (id) =>
  keysOf(`edit.${id}`)
    .filter((key) => key !== keyOf(id))
    .map((key) => ({ key, text: recall(key) ?? "" }));

/** The words of another tab go on in this one. They stay what they are until they are saved here. @param {Id} id @param {Others} others @returns {string} as they are by now */
export function takeOver(id, { key, text }) {
  taken.set(id, new Set([...(taken.get(id) ?? []), key]));
  return recall(key) ?? text;
}

/** @param {Others} others */
export const forgetOthers = ({ key }) => remember(key, null);

/** What was typed in the place of a message is a message. @param {Id} id */
export function wordsSaved(id) {
  keepWords(id, null);
  taken.get(id)?.forEach((key) => remember(key, null));
  taken.delete(id);
}
