// Texts of the open session as regex scripts display them: who makes them, and the results. The stored texts never
// change.
import { signal } from "../../vendor/preact.js";
import type { Place } from "../lib/regex-scripts.ts";
import type { ChatNode } from "../lib/wire.d.ts";
import type { Signal } from "../../vendor/preact.js";

/** The part of a message. */
export type TextPart = "text" | "thoughts";

/** A text to be displayed. `slot`: its place; `key`: everything the result depends on. */
export interface DisplayRequest {
  slot: string;
  key: string;
  text: string;
  place: Place;
}

/** A script that was left out for a text. */
export interface LeftOutScript {
  name: string;
  scope: "global" | "preset" | "card";
  why: "slow" | "large";
}

export interface DisplayResult {
  text: string;
  left: LeftOutScript[];
}

/** What runs the scripts. `requestFor`: `null` if no script applies to the text. */
export interface DisplayScripts {
  requestFor: (node: ChatNode, part: TextPart, text: string) => DisplayRequest | null;
  process: (request: DisplayRequest) => void;
}

/** `null` if no script changes the display here. */
export const displayScripts = signal<DisplayScripts | null>(null);
/** Grows when the user's own scripts change. */
export const scriptsVersion = signal(0);
/** Scripts that took too long in this session, by their content. */
export const slowScripts = signal<ReadonlySet<string>>(new Set());

export function setDisplayScripts(next: DisplayScripts | null) {
  displayScripts.value = next;
}

export const scriptsChanged = () => void (scriptsVersion.value += 1);

export function setSlowScripts(all: ReadonlySet<string>) {
  slowScripts.value = all;
}

/** Results by key, the newest last. */
const results: Map<string, DisplayResult> = new Map();
/** Maximum number of characters in `results`. */
const MAX = 8_000_000;
let resultsSize = 0;

/** The result that a place shows until the next one is ready. */
const places: Map<string, Signal<(DisplayResult & { key: string }) | null>> = new Map();

function placeOf(slot: string) {
  let place = places.get(slot);
  if (!place) places.set(slot, (place = signal(null)));
  return place;
}

/** Returns the result, or the place's previous one; `null` if there is neither. */
export function displayResult({ slot, key }: DisplayRequest): DisplayResult | null {
  const before = placeOf(slot).value;
  const result = results.get(key);
  // Scripts that were left out while a text grew are still reported at its end.
  return result
    ? { text: result.text, left: before && before.left.length > result.left.length ? before.left : result.left }
    : before;
}

export const hasResult = (key: string) => results.has(key);

export function storeResult({ slot, key }: DisplayRequest, { text, left }: DisplayResult) {
  const place = placeOf(slot);
  const known = place.peek()?.left ?? [];
  const all = [
    ...known,
    ...left.filter(
      (one) => !known.some(({ name, scope, why }) => name === one.name && scope === one.scope && why === one.why),
    ),
  ];
  if (!results.has(key)) resultsSize += key.length + text.length;
  results.set(key, { text, left: all });
  for (const [old, one] of results) {
    if (resultsSize <= MAX) break;
    results.delete(old);
    resultsSize -= old.length + one.text.length;
  }
  place.value = { key, text, left: all };
}

/**
 * Forgets all results, because the scripts or the session changed.
 * @param isElsewhere whether the session changed, so that nothing stays on screen
 */
export function clearResults(isElsewhere: boolean) {
  results.clear();
  resultsSize = 0;
  for (const place of places.values()) {
    const shown = place.peek();
    place.value = shown && !isElsewhere ? { ...shown, key: "", left: [] } : null;
  }
  if (isElsewhere) places.clear();
}
