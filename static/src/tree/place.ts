// Where in a drawn tree something may be put, and which of several messages lead the others. Pure; the server has the
// last word, and this says the same before anything is let go.
import { FLAG } from "./outline.ts";
import type { Outline } from "./outline.ts";

/** Why something cannot come below a message. */
export type Refusal = "self" | "below" | "there" | "unfinished";

/** Whether a message is another one or follows it, however far below. */
export function isWithin({ parent }: Outline, n: number, top: number) {
  // A parent has a smaller number than what follows it.
  let at = n;
  while (at > top) at = parent[at] ?? -1;
  return at === top;
}

/** Messages that are neither whole nor end anything. */
const UNFINISHED = FLAG.writing | FLAG.failed;

/**
 * @param piece the message that leads what is moved; -1: it hangs nowhere in this tree
 * @param isCopy a copy can hang anywhere
 * @returns null: it may come there
 */
export function refusalOf(outline: Outline, piece: number, isCopy: boolean, to: number): Refusal | null {
  if (((outline.flags[to] ?? 0) & UNFINISHED) !== 0) return "unfinished";
  if (piece < 0 || isCopy) return null;
  if (piece === to) return "self";
  if (isWithin(outline, to, piece)) return "below";
  return outline.parent[piece] === to ? "there" : null;
}

/** Whether a message can be taken up with all that follows it: what is being written stays until it is there. */
export function isMovable({ size, parent, flags }: Outline, n: number) {
  if (n <= 0 || ((flags[n] ?? 0) & UNFINISHED) !== 0) return false;
  // All that follows a message stands right after it.
  for (let at = n + 1; at < size && (parent[at] ?? -1) >= n; at += 1)
    if (((flags[at] ?? 0) & FLAG.writing) !== 0) return false;
  return true;
}

/** Of some messages those that follow none of the others: with them all the others go. */
export function topsOf({ size, parent }: Outline, numbers: Iterable<number>) {
  const chosen = new Set(numbers);
  const inside = new Uint8Array(size);
  const tops = [];
  for (let n = 1; n < size; n += 1) {
    const isBelow = inside[parent[n] ?? 0] === 1;
    inside[n] = isBelow || chosen.has(n) ? 1 : 0;
    if (!isBelow && chosen.has(n)) tops.push(n);
  }
  return tops;
}
