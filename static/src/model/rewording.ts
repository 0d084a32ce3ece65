// The words of edits that were begun and not saved, by the message they are of. Each tab has its own, and knows those
// of the others: they may be closed by now.
import { keysOf, recall, remember } from "../lib/storage.ts";
import { tab } from "../lib/tab.ts";
import { session } from "./story.ts";
import type { Id } from "../lib/wire.d.ts";

/** Words of another tab, by the name under which they are kept. */
export interface Others {
  key: string;
  text: string;
}

/** Also where the browser keeps nothing. */
const words: Map<Id, string> = new Map();

/** Words of other tabs that were taken over, by message. */
const taken: Map<Id, Set<string>> = new Map();

/** The story stands at the end: words of which the story is known can be looked after when it is opened. */
const keyOf = (id: Id) => `edit.${id}.${tab}.${session.peek()?.id}`;

/** What was typed last in the place of a message; null: nothing, or it was saved or given up. */
export const wordsOf = (id: Id) => words.get(id) ?? recall(keyOf(id));

/** @param text null forgets it */
export function keepWords(id: Id, text: string | null) {
  if (text !== null) return void (words.set(id, text), remember(keyOf(id), text));
  words.delete(id);
  // Another story may be open by now.
  keysOf(`edit.${id}.${tab}`).forEach((key) => remember(key, null));
}

/** The messages of the open story of which any tab has begun a new text. */
export const begunHere = (): Id[] => [
  ...new Set(
    keysOf("edit.")
      .filter((key) => key.endsWith(`.${session.peek()?.id}`))
      .map((key) => key.split(".")[1] ?? ""),
  ),
];

/** The message is gone for good, and with it what any tab had begun in its place. */
export function forgetWords(id: Id) {
  keepWords(id, null);
  keysOf(`edit.${id}.`).forEach((key) => remember(key, null));
}

/** What other tabs have typed in the place of a message. */
export const wordsElsewhere = (id: Id): Others[] =>
  keysOf(`edit.${id}.`)
    .filter((key) => !key.startsWith(`edit.${id}.${tab}`))
    .map((key) => ({ key, text: recall(key) ?? "" }));

/**
 * The words of another tab go on in this one. They stay what they are until they are saved here.
 * @returns as they are by now
 */
export function takeOver(id: Id, { key, text }: Others): string {
  taken.set(id, new Set([...(taken.get(id) ?? []), key]));
  return recall(key) ?? text;
}

export const forgetOthers = ({ key }: Others) => remember(key, null);

/** What was typed in the place of a message is a message. */
export function wordsSaved(id: Id) {
  keepWords(id, null);
  taken.get(id)?.forEach((key) => remember(key, null));
  taken.delete(id);
}
