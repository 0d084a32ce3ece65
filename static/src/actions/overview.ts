// The page that shows the whole tree: reading its outline, reading a message in it, folding, going there. Loaded with
// it.
import { inRounds } from "../lib/rounds.ts";
import { carry, moving } from "../model/arrangement.ts";
import { inTree, mayRearrange } from "../model/page.ts";
import * as overview from "../model/overview.ts";
import * as story from "../model/story.ts";
import { ApiError, oneNode } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { outlineOf, restated } from "../tree/outline.ts";
import { aim, beginningOf, drawn, shownFor } from "../tree/overview.ts";
import { isMovable } from "../tree/place.ts";
import { goTo } from "./branches.ts";
import { register } from "./commands.ts";
import { attempt } from "./failure.ts";
import { hear, sid, visit } from "./follow.ts";
import { askMerge } from "./merge.ts";
import { leaveThere, movedHere, put, putAway } from "./move.ts";
import type { ChatNode, Frame, Id } from "../lib/wire.d.ts";

/** What is being read may be older than what is told meanwhile. */
let isReading = false;
/** The operation that what is known is as of. */
let knownAt = -1;
/** The newest operation that was told and not taken in: what else is told of it makes it no more known. */
let missed = -1;

const readings = inRounds(async () => {
  const id = story.session.peek()?.id;
  if (!id) return;
  isReading = true;
  try {
    const skeleton = await api.skeleton(id);
    if (story.session.peek()?.id !== id) return;
    overview.putOutline(id, outlineOf(skeleton));
    knownAt = skeleton.op;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    overview.outlineFailed(id, error);
  } finally {
    isReading = false;
  }
});

/** Reads the outline; calls during a reading lead to one more. */
export const readOutline = readings.ask;

/** What changes a tree, or what stands in it. */
const CHANGES: Set<Frame["type"]> = new Set(["node.created", "node.completed", "tree.changed", "node.state.updated"]);

let isFollowed = false;

/**
 * What is told of the story changes the tree on screen; while that is not on screen, only what leaves it as it is is
 * counted.
 */
function heard(frame: Frame) {
  const op = ("op" in frame && frame.op) || story.op;
  const isKnown = !CHANGES.has(frame.type) || (isFollowed && isRestated(frame));
  if (!isKnown) missed = Math.max(missed, op);
  else if (op === knownAt + 1 && op > missed) knownAt = op;
  if (!isKnown && isFollowed) void readOutline();
}

/** How messages stand now is told in full: for that a tree of thousands is not read again. */
function isRestated(frame: Frame) {
  if (frame.type !== "node.state.updated") return false;
  const of = overview.outline.peek();
  const id = story.session.peek()?.id;
  const next = of && !isReading && restated(of, frame.nodes ?? [frame]);
  if (id && next) overview.putOutline(id, next);
  return Boolean(id && next);
}

hear(heard);

/**
 * Keeps the outline in step with the story. What is known as of the last operation is not read again.
 * @returns ends it
 */
export function followOutline(): () => void {
  isFollowed = true;
  if (overview.outline.peek() === null || knownAt !== story.op) void readOutline();
  return () => void (isFollowed = false);
}

/** The keyboard goes to a message. */
export function moveTo(n: number) {
  const nid = drawn.peek()?.outline.ids[n];
  if (nid) overview.putCursor(nid);
}

export const stopReading = () => overview.read(null);

/** Reads a message beside the tree; what is not known of it yet is asked for first. */
export async function readMessage(n: number) {
  const nid = drawn.peek()?.outline.ids[n];
  if (!nid) return;
  overview.putCursor(nid);
  const known = story.peekNode(nid);
  if (n === 0 || known) overview.read(n === 0 ? null : nid);
  if (n === 0 || known?.status === "generating") return;
  const id = sid();
  const node = await attempt(() => oneNode(id, nid));
  if (story.session.peek()?.id !== id) return;
  if (node) story.putNode(node);
  // Who went on to another message meanwhile reads that one.
  if (node && overview.cursor.peek() === nid) overview.read(nid);
}

/** The story goes on from there: where messages end, behind what was changed by hand as well. */
export function goThere(n: number) {
  const { ids = [], ends } = drawn.peek()?.outline ?? {};
  const nid = ends?.get(n) ?? ids[n];
  if (nid && n > 0) void goTo(nid);
}

/** What a message hides comes out, or goes: its run, or its side branches. */
export function turnFold(n: number) {
  const tree = drawn.peek();
  const nid = tree?.outline.ids[n];
  if (!tree || !nid) return;
  const card = tree.cards.cardOf[n] ?? -1;
  if ((tree.cards.count[card] ?? 1) > 1) overview.openRun(nid);
  else if (tree.cards.foldable[card] === 1) overview.flip(nid);
  keepCursor();
}

/** Goes to a message on the tree, wherever it is folded away, and reads it. */
export async function show(nid: Id) {
  for (let tree = drawn.peek(); tree; tree = drawn.peek()) {
    const n = tree.outline.at.get(nid);
    if (n === undefined) return;
    const card = tree.cards.cardOf[n] ?? -1;
    if (card >= 0 && (tree.cards.count[card] ?? 1) > 1) overview.openRun(nid);
    else if (card >= 0) return readMessage(n);
    else {
      const above = shownFor(tree, n);
      const top = tree.cards.cardOf[above] ?? -1;
      if ((tree.cards.count[top] ?? 1) > 1) overview.openRun(tree.outline.ids[above] ?? "");
      else overview.flip(tree.outline.ids[above] ?? "");
    }
  }
}

/** The keyboard stays on a message that is there. */
function keepCursor() {
  const tree = drawn.peek();
  if (!tree) return;
  const n = tree.outline.at.get(overview.cursor.peek() ?? "");
  if (n !== undefined) overview.putCursor(tree.outline.ids[shownFor(tree, n)] ?? "");
}

export function turnSides() {
  overview.foldSides(!overview.sides.peek());
  keepCursor();
}

export function turnRuns() {
  overview.foldRuns(!overview.runs.peek());
  keepCursor();
}

// Moving by hand

/**
 * Takes a message up with what follows it, to be let go on another one.
 * @returns whether it can be
 */
export function takeHere(n: number): boolean {
  const { outline } = drawn.peek() ?? {};
  const nodeId = outline?.ids[n];
  if (!outline || !nodeId || !mayRearrange.peek() || moving.peek() !== null || !isMovable(outline, n)) return false;
  overview.aimAt(null);
  carry({ piece: { nodeId }, from: sid(), name: beginningOf(outline, n), isCopy: false });
  return true;
}

/** What is moved is held over a message, or over none; undefined: over the one that the keyboard is at. */
export const holdOver = (n: number | null | undefined) =>
  overview.aimAt(n == null ? n : (drawn.peek()?.outline.ids[n] ?? null));

/** Hangs what is moved below the message it is held over, where it may come there. */
export async function putHere() {
  const to = aim.peek();
  if (to && to.why === null) await put(to.nid);
}

/**
 * Takes up a fragment of the stash, to be let go on a message.
 * @returns whether it can be
 */
export function takeOut(fragmentId: Id, name: string): boolean {
  if (!mayRearrange.peek() || moving.peek() !== null) return false;
  overview.aimAt(null);
  carry({ piece: { fragmentId }, from: sid(), name, isCopy: false });
  return true;
}

/** Whether what is moved is held over the stash. */
export const holdOverStash = (is: boolean) => overview.holdOverStash(is && movedHere() !== null);

/** Lets go of what was dragged: into the stash, or below what it is held over, else it stays where it was. */
export async function letGo() {
  const isPutAway = overview.isOverStash.peek();
  overview.holdOverStash(false);
  await (isPutAway ? putAway() : putHere());
  if (moving.peek() !== null) leaveThere();
}

/** Compares two messages, and with them their lines, beside the tree. */
export function compareHere(one: number, two: number) {
  const { ids = [], ends } = drawn.peek()?.outline ?? {};
  // With what was changed by hand behind them.
  const [from, to] = [one, two].map((n) => ends?.get(n) ?? ids[n]);
  if (from && to && one !== two) overview.compareTwo({ from, to });
}

export const stopComparing = () => overview.compareTwo(null);

/** The other way round. */
export function turnCompared() {
  const two = overview.compared.peek();
  if (two) overview.compareTwo({ from: two.to, to: two.from });
}

// What the menu of a message has only here

const isWhole = (node: ChatNode | null) =>
  inTree.value && node?.status === "complete" && node.kind !== "change" && node.kind !== "root";

/** Whether the line that the story is on leads through a message. */
function isOnLine({ id }: ChatNode) {
  const tree = drawn.value;
  return tree?.cards.trunk[tree.cards.cardOf[tree.outline.at.get(id) ?? -1] ?? -1] === 1;
}

/** Whether a message stands on another line than the story. */
const isBeside = (node: ChatNode | null) => isWhole(node) && node !== null && !isOnLine(node);

register({
  id: "message.branchHere",
  label: "command.branchHere",
  icon: "branch",
  scope: "message",
  enabled: ({ node }) => isWhole(node),
  run: async ({ node }) => {
    if (!node) return;
    await goTo(node.id);
    story.focusField();
  },
});

register({
  id: "message.makeCurrent",
  label: "command.setCurrent",
  icon: "here",
  scope: "message",
  enabled: ({ node }) => isBeside(node),
  run: ({ node }) => node && visit(node.id),
});

register({
  id: "message.compareHere",
  label: "command.compareHere",
  icon: "compare",
  scope: "message",
  enabled: ({ node }) => isBeside(node) && story.head.value !== null,
  run: ({ node }) => {
    const { outline, head } = drawn.peek() ?? {};
    compareHere(head ?? 0, outline?.at.get(node?.id ?? "") ?? 0);
  },
});

register({
  id: "message.mergeHere",
  label: "command.merge",
  icon: "merge",
  scope: "message",
  rearranges: true,
  enabled: ({ node }) => isBeside(node) && story.head.value !== null,
  run: ({ node }) => node && askMerge(node.id),
});
