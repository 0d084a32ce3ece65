// Moves of HEAD since the user's last step. Undo takes them back although they are not steps of the operation log. The
// tab remembers them for each session.
import { readStored, writeStored } from "../lib/storage.ts";
import type { Id } from "../lib/wire.d.ts";

/** A move of HEAD, with its operation. */
export interface Move {
  from: Id;
  to: Id;
  op: number;
}

/** Moves that can be undone and redone, the next one last. `begun`: a move without an answer yet. */
interface Moves {
  undo: Move[];
  redo: Move[];
  begun?: Omit<Move, "to">;
}

let moves: Moves = { undo: [], redo: [] };

/** The newest known step. */
let newest = 0;

/** The session of the moves. */
let story = "";

function put(next: Moves) {
  moves = next;
  const isEmpty = next.undo.length + next.redo.length === 0 && !next.begun;
  if (story) writeStored(`trail.${story}`, isEmpty ? null : JSON.stringify(next), "sessionStorage");
}

/** Clears the moves when the page leaves the session. The tab's stored copy stays. */
export function forget() {
  story = "";
  newest = 0;
  put({ undo: [], redo: [] });
}

/**
 * Restores the moves of a session.
 * @param head its HEAD
 * @returns the operation from which the log must be checked for steps; `null` if there are no moves
 */
export function takeUp(sid: Id, head: Id | null): number | null {
  story = sid;
  moves = JSON.parse(readStored(`trail.${sid}`, "sessionStorage") ?? "null") ?? moves;
  // The page was closed before the answer. HEAD is now where that move led.
  if (moves.begun && head) went({ ...moves.begun, to: head });
  const ops = [...moves.undo, ...moves.redo].map(({ op }) => op);
  return ops.length > 0 ? Math.min(...ops) : null;
}

/**
 * Notes that the user asks to move HEAD.
 * @param op the newest known operation
 */
export const setOut = (from: Id, op: number) => put({ ...moves, begun: { from, op } });

/** Notes that the user moved HEAD. A newer step may be known before the answer to the move. */
export function went(move: Move) {
  const { undo, redo } = moves;
  put(move.from === move.to || move.op < newest ? { undo, redo } : { undo: [...undo, move], redo: [] });
}

/** Notes a step. The moves before it can no longer be undone. */
export function stepped(op: number) {
  newest = Math.max(newest, op);
  const since = (some: Move[]) => some.filter((move) => move.op > op);
  put({ ...moves, undo: since(moves.undo), redo: since(moves.redo) });
}

/** Returns the next move to undo or redo, if HEAD is still at its end. */
export function nextMove(which: "undo" | "redo", head: Id | null) {
  const move = moves[which].at(-1);
  if (move && (which === "undo" ? move.to : move.from) === head) return move;
  put({ ...moves, [which]: [] });
  return null;
}

/** Notes that an operation undid or redid the next move. */
export function retraced(which: "undo" | "redo", op: number) {
  const move = moves[which].at(-1);
  if (!move) return;
  const again = which === "undo" ? "redo" : "undo";
  put({ ...moves, [which]: moves[which].slice(0, -1), [again]: [...moves[again], { ...move, op }] });
}
