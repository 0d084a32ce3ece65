// Texts that are being written. Pieces are appended at once; the screen hears of them some thirty times a second.
import { signal } from "../../vendor/preact.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */
/** @import { Signal } from "../../vendor/preact.js" */

/**
 * @typedef {object} Stream
 * @property {string} text
 * @property {string} reasoning
 * @property {Signal<number>} shown grows with every picture that has news
 */

/** @type {Map<Id, Stream>} */
const streams = new Map();
/** @type {Set<Stream>} */
const fresh = new Set();
let scheduled = false;
/** Milliseconds from one picture of what is written to the next: nobody reads faster, and what is free in between scrolls and answers. */
const APART = 30;
let shownAt = -APART;

/** The text of a generating node, as far as it has come. @param {ChatNode} node @returns {Stream} */
export function streamOf(node) {
  let stream = streams.get(node.id);
  if (!stream) {
    stream = { text: node.content, reasoning: node.reasoning ?? "", shown: signal(0) };
    streams.set(node.id, stream);
  }
  return stream;
}

/**
 * Adds a piece that begins at `offset`. Repeats are dropped.
 * @param {Stream} stream
 * @param {"text" | "reasoning"} part
 * @param {string} piece
 * @param {number} offset in UTF-16 code units
 * @returns {boolean} false: something before this piece is missing
 */
export function addPiece(stream, part, piece, offset) {
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

/** @param {Id} id */
export function endStream(id) {
  const stream = streams.get(id);
  if (stream) fresh.delete(stream);
  streams.delete(id);
}

export function endAllStreams() {
  streams.clear();
  fresh.clear();
}
