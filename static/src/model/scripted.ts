// How scripts show the texts of the open story: who makes it, and what has been made. The texts themselves never
// change.
import { signal } from "../../vendor/preact.js";
import type { Place } from "../lib/scripts.ts";
import type { ChatNode } from "../lib/wire.d.ts";
import type { Signal } from "../../vendor/preact.js";

/** of a message */
export type Part = "text" | "thoughts";

/** A text as it is to be shown. `slot`: where; `key`: all that it depends on. */
export interface Wish {
  slot: string;
  key: string;
  text: string;
  place: Place;
}

/** A script that had no part in a text. */
export interface Left {
  name: string;
  scope: "global" | "preset" | "card";
  why: "slow" | "large";
}

export interface Shown {
  text: string;
  left: Left[];
}

/** Who has scripts make texts. `wish`: null where no script runs on a text. */
export interface Scripting {
  wish: (node: ChatNode, part: Part, text: string) => Wish | null;
  ask: (wish: Wish) => void;
}

/** Null: no script changes what is shown here. */
export const scripting = signal<Scripting | null>(null);
/** Grows when the reader's own scripts are others. */
export const age = signal(0);
/** The scripts that took too long in this story, by what they say. */
export const slow = signal<ReadonlySet<string>>(new Set());

export function putScripting(next: Scripting | null) {
  scripting.value = next;
}

export const scriptsChanged = () => void (age.value += 1);

export function putSlow(all: ReadonlySet<string>) {
  slow.value = all;
}

/** What has been made, by all that it depends on, the newest last. */
const results: Map<string, Shown> = new Map();
/** So many letters of them are kept. */
const MOST = 8_000_000;
let kept = 0;

/** What a place shows until what is wanted has been made. */
const places: Map<string, Signal<(Shown & { key: string }) | null>> = new Map();

function placeOf(slot: string) {
  let place = places.get(slot);
  if (!place) places.set(slot, (place = signal(null)));
  return place;
}

/** @returns null: it has not been made, and nothing before it */
export function shownFor({ slot, key }: Wish): Shown | null {
  const before = placeOf(slot).value;
  const made = results.get(key);
  // What was left out of a text that grew is told of at its end too.
  return made
    ? { text: made.text, left: before && before.left.length > made.left.length ? before.left : made.left }
    : before;
}

export const isMade = (key: string) => results.has(key);

export function putShown({ slot, key }: Wish, { text, left }: Shown) {
  const place = placeOf(slot);
  const known = place.peek()?.left ?? [];
  const all = [
    ...known,
    ...left.filter(
      (one) => !known.some(({ name, scope, why }) => name === one.name && scope === one.scope && why === one.why),
    ),
  ];
  if (!results.has(key)) kept += key.length + text.length;
  results.set(key, { text, left: all });
  for (const [old, one] of results) {
    if (kept <= MOST) break;
    results.delete(old);
    kept -= old.length + one.text.length;
  }
  place.value = { key, text, left: all };
}

/**
 * Other scripts, or another story: what was left out is another question.
 * @param isElsewhere nothing of it is shown any more
 */
export function forgetShown(isElsewhere: boolean) {
  results.clear();
  kept = 0;
  for (const place of places.values()) {
    const shown = place.peek();
    place.value = shown && !isElsewhere ? { ...shown, key: "", left: [] } : null;
  }
  if (isElsewhere) places.clear();
}
