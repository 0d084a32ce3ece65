// Texts that are being written. Pieces are appended at once; the screen hears of them some thirty times a second.
import { signal } from "../../vendor/preact.js";
import type { ChatNode, Id } from "../lib/wire.d.ts";
import type { Signal } from "../../vendor/preact.js";

interface Stream {
  text: string;
  reasoning: string;
  /** grows with every picture that has news */
  shown: Signal<number>;
}

const streams: Map<Id, Stream> = new Map();
const fresh: Set<Stream> = new Set();
let scheduled = false;
/**
 * Milliseconds from one picture of what is written to the next: nobody reads faster, and what is free in between
 * scrolls and answers.
 */
const APART = 30;
let shownAt = -APART;

/** The text of a generating node, as far as it has come. */
export function streamOf(node: ChatNode): Stream {
  let stream = streams.get(node.id);
  if (!stream) {
    stream = { text: node.content, reasoning: node.reasoning ?? "", shown: signal(0) };
    streams.set(node.id, stream);
  }
  return stream;
}

/**
 * Adds a piece that begins at `offset`. Repeats are dropped.
 * @param offset in UTF-16 code units
 * @returns false: something before this piece is missing
 */
export function addPiece(stream: Stream, part: "text" | "reasoning", piece: string, offset: number): boolean {
  const have = stream[part].length;
  if (offset > have) return false;
  const rest = piece.slice(have - offset);
  if (rest === "") return true;
  stream[part] += rest;
  fresh.add(stream);
  if (!scheduled) schedule();
  return true;
}

function schedule() {
  scheduled = true;
  // A hidden page gets no frames, but its title and badges should not wait for one.
  if (document.hidden) setTimeout(flush, 250);
  else setTimeout(withNextFrame, shownAt + APART - performance.now());
}

const withNextFrame = () => (document.hidden ? flush() : requestAnimationFrame(flush));

function flush() {
  scheduled = false;
  shownAt = performance.now();
  for (const stream of fresh) stream.shown.value += 1;
  fresh.clear();
}

export function endStream(id: Id) {
  const stream = streams.get(id);
  if (stream) fresh.delete(stream);
  streams.delete(id);
}

export function endAllStreams() {
  streams.clear();
  fresh.clear();
}
