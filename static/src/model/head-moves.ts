// Moves of HEAD since the user's last step. Undo takes them back although they are not steps of the operation log. The
// tab remembers them for each session.
import { readStored, writeStored } from "../lib/storage.ts";
import type { Id } from "../lib/wire.d.ts";

/** A move of HEAD, with its operation. */
export interface HeadMove {
  from: Id;
  to: Id;
  op: number;
}

/** Moves that can be undone and redone, the next one last. `begun`: a move without an answer yet. */
interface HeadMoves {
  undo: HeadMove[];
  redo: HeadMove[];
  begun?: Omit<HeadMove, "to">;
}

let moves: HeadMoves = { undo: [], redo: [] };

/** The newest known step. */
let newestStep = 0;

/** The session of the moves. */
let sessionId = "";

function storeMoves(next: HeadMoves) {
  moves = next;
  const isEmpty = next.undo.length + next.redo.length === 0 && !next.begun;
  if (sessionId) writeStored(`trail.${sessionId}`, isEmpty ? null : JSON.stringify(next), "sessionStorage");
}

/** Clears the moves when the page leaves the session. The tab's stored copy stays. */
export function clearMoves() {
  sessionId = "";
  newestStep = 0;
  storeMoves({ undo: [], redo: [] });
}

/**
 * Restores the moves of a session.
 * @param head its HEAD
 * @returns the operation from which the log must be checked for steps; `null` if there are no moves
 */
export function restoreMoves(sid: Id, head: Id | null): number | null {
  sessionId = sid;
  moves = JSON.parse(readStored(`trail.${sid}`, "sessionStorage") ?? "null") ?? moves;
  // The page was closed before the answer. HEAD is now where that move led.
  if (moves.begun && head) finishMove({ ...moves.begun, to: head });
  const ops = [...moves.undo, ...moves.redo].map(({ op }) => op);
  return ops.length > 0 ? Math.min(...ops) : null;
}

/**
 * Notes that the user asks to move HEAD.
 * @param op the newest known operation
 */
export const startMove = (from: Id, op: number) => storeMoves({ ...moves, begun: { from, op } });

/** Notes that the user moved HEAD. A newer step may be known before the answer to the move. */
export function finishMove(move: HeadMove) {
  const { undo, redo } = moves;
  storeMoves(move.from === move.to || move.op < newestStep ? { undo, redo } : { undo: [...undo, move], redo: [] });
}

/** Notes a step. The moves before it can no longer be undone. */
export function recordStep(op: number) {
  newestStep = Math.max(newestStep, op);
  const since = (some: HeadMove[]) => some.filter((move) => move.op > op);
  storeMoves({ ...moves, undo: since(moves.undo), redo: since(moves.redo) });
}

/** Returns the next move to undo or redo, if HEAD is still at its end. */
export function nextMove(which: "undo" | "redo", head: Id | null) {
  const move = moves[which].at(-1);
  if (move && (which === "undo" ? move.to : move.from) === head) return move;
  storeMoves({ ...moves, [which]: [] });
  return null;
}

/** Notes that an operation undid or redid the next move. */
export function recordUndo(which: "undo" | "redo", op: number) {
  const move = moves[which].at(-1);
  if (!move) return;
  const again = which === "undo" ? "redo" : "undo";
  storeMoves({ ...moves, [which]: moves[which].slice(0, -1), [again]: [...moves[again], { ...move, op }] });
}
