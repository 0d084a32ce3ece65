// What a reader can take back although it is no step in the log: where they went since their last step.

/** @import { Id } from "../lib/wire.d.ts" */

/** HEAD was somewhere and went somewhere else, by this operation. @typedef {{from: Id, to: Id, op: number}} Move */

/** Moves that can be taken back, and those that were; the next one stands last. @type {{undo: Move[], redo: Move[]}} */
const moves = { undo: [], redo: [] };

/** The newest step that the page has heard of. */
let newest = 0;

/** Another story begins, with a log of its own. */
export function forget() {
  newest = 0;
  moves.undo = moves.redo = [];
}

/** The reader moved HEAD. A step may have been heard of before the answer to the move. @param {Move} move */
export function went(move) {
  if (move.from === move.to || move.op < newest) return;
  moves.undo.push(move);
  moves.redo = [];
}

/** Somebody did a step: from then on the moves before it are history like the rest. @param {number} op */
export function stepped(op) {
  newest = Math.max(newest, op);
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
