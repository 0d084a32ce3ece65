// The words of edits that were begun and not saved, by the message they are of. Each tab has its own, and knows those of the
// others: they may be closed by now.
import { keysOf, recall, remember } from "../lib/storage.js";
import { tab } from "../lib/tab.js";
import { session } from "./story.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** Words of another tab, by the name under which they are kept. @typedef {{key: string, text: string}} Others */

/** Also where the browser keeps nothing. @type {Map<Id, string>} */
const words = new Map();

/** Words of other tabs that were taken over, by message. @type {Map<Id, Set<string>>} */
const taken = new Map();

/** The story stands at the end: words of which the story is known can be looked after when it is opened. @param {Id} id */
const keyOf = (id) => `edit.${id}.${tab}.${session.peek()?.id}`;

/** What was typed last in the place of a message; null: nothing, or it was saved or given up. @param {Id} id */
export const wordsOf = (id) => words.get(id) ?? recall(keyOf(id));

/** @param {Id} id @param {string | null} text null forgets it */
export function keepWords(id, text) {
  if (text !== null) return void (words.set(id, text), remember(keyOf(id), text));
  words.delete(id);
  // Another story may be open by now.
  keysOf(`edit.${id}.${tab}`).forEach((key) => remember(key, null));
}

/** The messages of the open story of which any tab has begun a new text. @returns {Id[]} */
export const begunHere = () => [...new Set(keysOf("edit.").filter((key) => key.endsWith(`.${session.peek()?.id}`)).map((key) => key.split(".")[1] ?? ""))];

/** The message is gone for good, and with it what any tab had begun in its place. @param {Id} id */
export function forgetWords(id) {
  keepWords(id, null);
  keysOf(`edit.${id}.`).forEach((key) => remember(key, null));
}

/** What other tabs have typed in the place of a message. @param {Id} id @returns {Others[]} */
export const wordsElsewhere = (id) =>
  keysOf(`edit.${id}.`)
    .filter((key) => !key.startsWith(`edit.${id}.${tab}`))
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
