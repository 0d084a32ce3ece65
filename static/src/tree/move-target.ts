// Rules for moving parts of a drawn tree: allowed targets, movable messages, and tops of a selection. Pure. The server
// decides in the end; this says the same before the user lets go.
import { FLAG } from "./outline.ts";
import type { Outline } from "./outline.ts";

/** Why a part cannot be put below a message. */
export type MoveRefusal = "self" | "below" | "there" | "unfinished";

/** Whether a message is another one or anywhere below it. */
export function isWithin({ parent }: Outline, n: number, top: number) {
  // A parent has a smaller number than its children.
  let at = n;
  while (at > top) at = parent[at] ?? -1;
  return at === top;
}

/** Flags of messages that are not complete. */
const UNFINISHED = FLAG.writing | FLAG.failed;

/**
 * Returns why a part cannot be put below a message; `null` if it can.
 * @param piece the top message of the part; -1 if it is not in this tree
 * @param isCopy a copy can be put anywhere
 */
export function refusalOf(outline: Outline, piece: number, isCopy: boolean, to: number): MoveRefusal | null {
  if (((outline.flags[to] ?? 0) & UNFINISHED) !== 0) return "unfinished";
  if (piece < 0 || isCopy) return null;
  if (piece === to) return "self";
  if (isWithin(outline, to, piece)) return "below";
  return outline.parent[piece] === to ? "there" : null;
}

/** Whether a message can be moved with everything below it. Nothing below may still be generating. */
export function isMovable({ size, parent, flags }: Outline, n: number) {
  if (n <= 0 || ((flags[n] ?? 0) & UNFINISHED) !== 0) return false;
  // Everything below a message comes right after it.
  for (let at = n + 1; at < size && (parent[at] ?? -1) >= n; at += 1)
    if (((flags[at] ?? 0) & FLAG.writing) !== 0) return false;
  return true;
}

/** Returns the messages that are below none of the others. The others move with them. */
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
