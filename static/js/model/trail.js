// What a reader can take back although it is no step in the log: where they went since their last step. And the words that
// undo has put into the field, which it may take out again.

/** @import { Id } from "../lib/wire.d.ts" */

/** HEAD was somewhere and went somewhere else, by this operation. @typedef {{from: Id, to: Id, op: number}} Move */

/** Moves that can be taken back, and those that were; the next one stands last. @type {{undo: Move[], redo: Move[]}} */
const moves = { undo: [], redo: [] };

/** The reader moved HEAD. @param {Move} move */
export function went(move) {
  if (move.from === move.to) return;
  moves.undo.push(move);
  moves.redo = [];
}

/** Somebody did a step: from then on the moves before it are history like the rest. @param {number} op */
export function stepped(op) {
  for (const which of /** @type {const} */ (["undo", "redo"])) moves[which] = moves[which].filter((move) => move.op > op);
}

/** The move that is next to be taken back or made again, where HEAD still stands at its end. @param {"undo" | "redo"} which @param {Id | null} head */
export function nextMove(which, head) {
  const move = moves[which].at(-1);
  if (move && (which === "undo" ? move.to : move.from) === head) return move;
  moves[which] = [];
  return null;
}

/** The next move was taken back, or made again, by an operation. @param {"undo" | "redo"} which @param {number} op */
export function retraced(which, op) {
  const move = moves[which].pop();
  if (move) moves[which === "undo" ? "redo" : "undo"].push({ ...move, op });
}

// Words

/** Those that stand in the field last. @type {string[]} */
let words = [];

/** Whether a draft is nothing of the reader's own: empty, or what undo has put there. @param {string} draft */
export const isReturned = (draft) => draft.trim() === "" || draft === words.at(-1);

/** Undo puts words into the field, in the place of those that came after them. @param {string} text @param {string} draft what stands there */
export function putWords(text, draft) {
  words = draft.trim() === "" ? [text] : [...words, text];
}

/** Redo takes words out of the field; answers what stands there then. @param {string} text */
export function takeWords(text) {
  words = words.at(-1) === text ? words.slice(0, -1) : [];
  return words.at(-1) ?? "";
}
