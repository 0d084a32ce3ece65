// Texts that are being generated. Pieces are appended at once, but drawn only about thirty times a second.
import { signal } from "../../vendor/preact.js";
import type { ChatNode, Id } from "../lib/wire.d.ts";
import type { Signal } from "../../vendor/preact.js";

interface Stream {
  text: string;
  reasoning: string;
  /** Grows with each drawing that has news. */
  shown: Signal<number>;
}

const streams: Map<Id, Stream> = new Map();
const changedStreams: Set<Stream> = new Set();
let scheduled = false;
/**
 * Minimum milliseconds between two drawings of generated text. Nobody reads faster, and the time between them is free
 * for scrolling and input.
 */
const MIN_INTERVAL = 30;
let lastDrawn = -MIN_INTERVAL;

/** Returns the text of a generating node so far. */
export function streamOf(node: ChatNode): Stream {
  let stream = streams.get(node.id);
  if (!stream) {
    stream = { text: node.content, reasoning: node.reasoning ?? "", shown: signal(0) };
    streams.set(node.id, stream);
  }
  return stream;
}

/**
 * Adds a piece that begins at `offset`. Text that is already there is ignored.
 * @param offset in UTF-16 code units
 * @returns `false` if text before this piece is missing
 */
export function addPiece(stream: Stream, part: "text" | "reasoning", piece: string, offset: number): boolean {
  const have = stream[part].length;
  if (offset > have) return false;
  const rest = piece.slice(have - offset);
  if (rest === "") return true;
  stream[part] += rest;
  changedStreams.add(stream);
  if (!scheduled) schedule();
  return true;
}

/** Replaces the text: what had come of it turned out to be a thought. */
export function replaceText(stream: Stream, text: string) {
  stream.text = text;
  changedStreams.add(stream);
  if (!scheduled) schedule();
}

function schedule() {
  scheduled = true;
  // A hidden page gets no animation frames, but its title and badges should not wait for one.
  if (document.hidden) setTimeout(flush, 250);
  else setTimeout(withNextFrame, lastDrawn + MIN_INTERVAL - performance.now());
}

const withNextFrame = () => (document.hidden ? flush() : requestAnimationFrame(flush));

function flush() {
  scheduled = false;
  lastDrawn = performance.now();
  for (const stream of changedStreams) stream.shown.value += 1;
  changedStreams.clear();
}

export function endStream(id: Id) {
  const stream = streams.get(id);
  if (stream) changedStreams.delete(stream);
  streams.delete(id);
}

export function endAllStreams() {
  streams.clear();
  changedStreams.clear();
}
