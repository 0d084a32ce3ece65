// What a reader can take back although it is no step in the log: where they went since their last step. The tab
// remembers it of each story.
import { recall, remember } from "../lib/storage.ts";
import type { Id } from "../lib/wire.d.ts";

/** HEAD was somewhere and went somewhere else, by this operation. */
export interface Move {
  from: Id;
  to: Id;
  op: number;
}

/**
 * Moves that can be taken back, and those that were; the next one stands last. `begun`: asked for, and not answered
 * yet.
 */
interface Moves {
  undo: Move[];
  redo: Move[];
  begun?: Omit<Move, "to">;
}

let moves: Moves = { undo: [], redo: [] };

/** The newest step that the page has heard of. */
let newest = 0;

/** Whose moves they are. */
let story = "";

function put(next: Moves) {
  moves = next;
  const isEmpty = next.undo.length + next.redo.length === 0 && !next.begun;
  if (story) remember(`trail.${story}`, isEmpty ? null : JSON.stringify(next), "sessionStorage");
}

/** The page turns away from the story, which has a log of its own; what the tab remembers of it stays. */
export function forget() {
  story = "";
  newest = 0;
  put({ undo: [], redo: [] });
}

/**
 * Takes up what the tab remembers of a story.
 * @param head where it stands
 * @returns since which operation the log has to be looked at for steps; null: nothing is remembered
 */
export function takeUp(sid: Id, head: Id | null): number | null {
  story = sid;
  moves = JSON.parse(recall(`trail.${sid}`, "sessionStorage") ?? "null") ?? moves;
  // The tab was gone before the answer: where HEAD stands now is where that move led to.
  if (moves.begun && head) went({ ...moves.begun, to: head });
  const ops = [...moves.undo, ...moves.redo].map(({ op }) => op);
  return ops.length > 0 ? Math.min(...ops) : null;
}

/**
 * The reader asks to move HEAD.
 * @param op the newest operation that the page knows of
 */
export const setOut = (from: Id, op: number) => put({ ...moves, begun: { from, op } });

/** The reader moved HEAD. A step may have been heard of before the answer to the move. */
export function went(move: Move) {
  const { undo, redo } = moves;
  put(move.from === move.to || move.op < newest ? { undo, redo } : { undo: [...undo, move], redo: [] });
}

/** Somebody did a step: from then on the moves before it are history like the rest. */
export function stepped(op: number) {
  newest = Math.max(newest, op);
  const since = (some: Move[]) => some.filter((move) => move.op > op);
  put({ ...moves, undo: since(moves.undo), redo: since(moves.redo) });
}

/** The move that is next to be taken back or made again, where HEAD still stands at its end. */
export function nextMove(which: "undo" | "redo", head: Id | null) {
  const move = moves[which].at(-1);
  if (move && (which === "undo" ? move.to : move.from) === head) return move;
  put({ ...moves, [which]: [] });
  return null;
}

/** The next move was taken back, or made again, by an operation. */
export function retraced(which: "undo" | "redo", op: number) {
  const move = moves[which].at(-1);
  if (!move) return;
  const again = which === "undo" ? "redo" : "undo";
  put({ ...moves, [which]: moves[which].slice(0, -1), [again]: [...moves[again], { ...move, op }] });
}
