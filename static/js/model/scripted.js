// How scripts show the texts of the open story: who makes it, and what has been made. The texts themselves never change.
import { signal } from "../../vendor/preact.js";

/** @import { Place } from "../lib/scripts.js" */
/** @import { ChatNode } from "../lib/wire.d.ts" */
/** @import { Signal } from "../../vendor/preact.js" */

/** @typedef {"text" | "thoughts"} Part of a message */
/** A text as it is to be shown. `slot`: where; `key`: all that it depends on. @typedef {{slot: string, key: string, text: string, place: Place}} Wish */
/** A script that had no part in a text. @typedef {{name: string, scope: "global" | "preset" | "card", why: "slow" | "large"}} Left */
/** @typedef {{text: string, left: Left[]}} Shown */
/** Who has scripts make texts. `wish`: null where no script runs on a text. @typedef {{wish: (node: ChatNode, part: Part, text: string) => Wish | null, ask: (wish: Wish) => void}} Scripting */

/** Null: no script changes what is shown here. */
export const scripting = signal(/** @type {Scripting | null} */ (null));
/** Grows when the reader's own scripts are others. */
export const age = signal(0);
/** The scripts that took too long in this story, by what they say. */
export const slow = signal(/** @type {ReadonlySet<string>} */ (new Set()));

/** @param {Scripting | null} next */
export function putScripting(next) {
  scripting.value = next;
}

export const scriptsChanged = () => void (age.value += 1);

/** @param {ReadonlySet<string>} all */
export function putSlow(all) {
  slow.value = all;
}

/** What has been made, by all that it depends on, the newest last. @type {Map<string, Shown>} */
const results = new Map();
/** So many letters of them are kept. */
const MOST = 8_000_000;
let kept = 0;

/** What a place shows until what is wanted has been made. @type {Map<string, Signal<(Shown & {key: string}) | null>>} */
const places = new Map();

/** @param {string} slot */
function placeOf(slot) {
  let place = places.get(slot);
  if (!place) places.set(slot, (place = signal(null)));
  return place;
}

/** @param {Wish} wish @returns {Shown | null} null: it has not been made, and nothing before it */
export function shownFor({ slot, key }) {
  const before = placeOf(slot).value;
  const made = results.get(key);
  // What was left out of a text that grew is told of at its end too.
  return made ? { text: made.text, left: before && before.left.length > made.left.length ? before.left : made.left } : before;
}

/** @param {string} key */
export const isMade = (key) => results.has(key);

/** @param {Wish} wish @param {Shown} made */
export function putShown({ slot, key }, { text, left }) {
  const place = placeOf(slot);
  const known = place.peek()?.left ?? [];
  const all = [...known, ...left.filter((one) => !known.some(({ name, scope, why }) => name === one.name && scope === one.scope && why === one.why))];
  if (!results.has(key)) kept += key.length + text.length;
  results.set(key, { text, left: all });
  for (const [old, one] of results) {
    if (kept <= MOST) break;
    results.delete(old);
    kept -= old.length + one.text.length;
  }
  place.value = { key, text, left: all };
}

/** Other scripts, or another story: what was left out is another question. @param {boolean} isElsewhere nothing of it is shown any more */
export function forgetShown(isElsewhere) {
  results.clear();
  kept = 0;
  for (const place of places.values()) {
    const shown = place.peek();
    place.value = shown && !isElsewhere ? { ...shown, key: "", left: [] } : null;
  }
  if (isElsewhere) places.clear();
}
