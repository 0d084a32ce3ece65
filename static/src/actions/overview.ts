// The view of the whole tree: reading its outline and its messages, folding, moving HEAD. Loaded with that view.
import { coalesce } from "../lib/coalesce.ts";
import { setMoving, moving } from "../model/arrangement.ts";
import { inTree, mayRearrange } from "../model/page.ts";
import * as overview from "../model/overview.ts";
import * as store from "../model/session-store.ts";
import { ApiError, readNode } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { outlineOf, withStates } from "../tree/outline.ts";
import { moveTarget, previewOf, drawnTree, visibleMessage } from "../tree/overview.ts";
import { isMovable } from "../tree/move-target.ts";
import { moveHeadTo } from "./branches.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { onFrame, sid, moveHead } from "./session-sync.ts";
import { openMergeDialog } from "./merge.ts";
import { cancelMove, movedMessageId, placeBelow, moveToStash } from "./move.ts";
import { addEnglish } from "../lib/i18n.ts";
import storyTexts from "../lib/strings/en-story.ts";
import editsTexts from "../lib/strings/en-edit.ts";
import overviewTexts from "../lib/strings/en-overview.ts";
import type { ChatNode, Frame, Id } from "../lib/wire.d.ts";

addEnglish(storyTexts);
addEnglish(editsTexts);
addEnglish(overviewTexts);

/** Whether a read of the outline is running. Its result may be older than frames that arrive meanwhile. */
let isReading = false;
/** Number of the operation at which the outline was read. */
let outlineOp = -1;
/**
 * The newest operation that was reported but is not in the outline. Later frames of that operation do not bring the
 * outline up to date.
 */
let missedOp = -1;

const outlineReads = coalesce(async () => {
  const id = store.session.peek()?.id;
  if (!id) return;
  isReading = true;
  try {
    const skeleton = await api.skeleton(id);
    if (store.session.peek()?.id !== id) return;
    overview.setOutline(id, outlineOf(skeleton));
    outlineOp = skeleton.op;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    overview.setOutlineFailure(id, error);
  } finally {
    isReading = false;
  }
});

/** Reads the outline. Calls during a read cause one more. */
export const readOutline = outlineReads.request;

/** Frames that change the tree or the state of its messages. */
const TREE_FRAMES: Set<Frame["type"]> = new Set([
  "node.created",
  "node.completed",
  "tree.changed",
  "node.state.updated",
]);

let isFollowed = false;

/**
 * Updates the outline on screen after a frame. While it is not on screen, only operations that do not change it are
 * counted.
 */
function handleFrame(frame: Frame) {
  const op = ("op" in frame && frame.op) || store.newestOp;
  const isKnown = !TREE_FRAMES.has(frame.type) || (isFollowed && applyStates(frame));
  if (!isKnown) missedOp = Math.max(missedOp, op);
  else if (op === outlineOp + 1 && op > missedOp) outlineOp = op;
  if (!isKnown && isFollowed) void readOutline();
}

/** Applies a frame that contains the full new state of messages, so that large trees need not be read again. */
function applyStates(frame: Frame) {
  if (frame.type !== "node.state.updated") return false;
  const of = overview.outline.peek();
  const id = store.session.peek()?.id;
  const next = of && !isReading && withStates(of, "nodes" in frame ? frame.nodes : [frame]);
  if (id && next) overview.setOutline(id, next);
  return Boolean(id && next);
}

onFrame(handleFrame);

/**
 * Keeps the outline in sync with the session. Does not read it again if no operation is missing.
 * @returns a function that stops it
 */
export function followOutline(): () => void {
  isFollowed = true;
  if (overview.outline.peek() === null || outlineOp !== store.newestOp) void readOutline();
  return () => void (isFollowed = false);
}

/** Moves the keyboard cursor to a message. */
export function moveCursor(n: number) {
  const nid = drawnTree.peek()?.outline.ids[n];
  if (nid) overview.setCursor(nid);
}

export const stopReading = () => overview.setOpenMessage(null);

/** Shows a message beside the tree, after loading it if necessary. */
export async function readMessage(n: number) {
  const nid = drawnTree.peek()?.outline.ids[n];
  if (!nid) return;
  overview.setCursor(nid);
  const known = store.peekNode(nid);
  if (n === 0 || known) overview.setOpenMessage(n === 0 ? null : nid);
  if (n === 0 || known?.status === "generating") return;
  const id = sid();
  const node = await attempt(() => readNode(id, nid));
  if (store.session.peek()?.id !== id) return;
  if (node) store.upsertNode(node);
  // If the user moved on to another message meanwhile, that one is shown.
  if (node && overview.cursor.peek() === nid) overview.setOpenMessage(nid);
}

/** Moves HEAD to a message. At the end of a branch, HEAD also passes the change nodes after it. */
export function moveHeadToCard(n: number) {
  const { ids = [], ends } = drawnTree.peek()?.outline ?? {};
  const nid = ends?.get(n) ?? ids[n];
  if (nid && n > 0) void moveHeadTo(nid);
}

/** Folds or unfolds what belongs to a message: its run, or its side branches. */
export function toggleFold(n: number) {
  const tree = drawnTree.peek();
  const nid = tree?.outline.ids[n];
  if (!tree || !nid) return;
  const card = tree.cards.cardOf[n] ?? -1;
  if ((tree.cards.count[card] ?? 1) > 1) overview.openRun(nid);
  else if (tree.cards.foldable[card] === 1) overview.toggleSides(nid);
  keepCursorVisible();
}

/** Goes to a message in the tree, unfolding everything around it, and shows it. */
export async function revealInTree(nid: Id) {
  for (let tree = drawnTree.peek(); tree; tree = drawnTree.peek()) {
    const n = tree.outline.at.get(nid);
    if (n === undefined) return;
    const card = tree.cards.cardOf[n] ?? -1;
    if (card >= 0 && (tree.cards.count[card] ?? 1) > 1) overview.openRun(nid);
    else if (card >= 0) return readMessage(n);
    else {
      const above = visibleMessage(tree, n);
      const top = tree.cards.cardOf[above] ?? -1;
      if ((tree.cards.count[top] ?? 1) > 1) overview.openRun(tree.outline.ids[above] ?? "");
      else overview.toggleSides(tree.outline.ids[above] ?? "");
    }
  }
}

/** Keeps the keyboard cursor on a visible message. */
function keepCursorVisible() {
  const tree = drawnTree.peek();
  if (!tree) return;
  const n = tree.outline.at.get(overview.cursor.peek() ?? "");
  if (n !== undefined) overview.setCursor(tree.outline.ids[visibleMessage(tree, n)] ?? "");
}

export function toggleSideBranches() {
  overview.setSidesFolded(!overview.areSidesFolded.peek());
  keepCursorVisible();
}

export function toggleRuns() {
  overview.setRunsFolded(!overview.areRunsFolded.peek());
  keepCursorVisible();
}

// Moving by hand

/**
 * Picks up a message with everything below it, to be dropped on another one.
 * @returns whether that is possible
 */
export function startDraggingMessage(n: number): boolean {
  const { outline } = drawnTree.peek() ?? {};
  const nodeId = outline?.ids[n];
  if (!outline || !nodeId || !mayRearrange.peek() || moving.peek() !== null || !isMovable(outline, n)) return false;
  overview.setDropTarget(null);
  setMoving({ piece: { nodeId }, from: sid(), name: previewOf(outline, n), isCopy: false });
  return true;
}

/** Sets the target of a move: a message; null: none; undefined: the message at the keyboard cursor. */
export const setDropTarget = (n: number | null | undefined) =>
  overview.setDropTarget(n == null ? n : (drawnTree.peek()?.outline.ids[n] ?? null));

/** Attaches the moved part below the current target, if it can go there. */
export async function dropOnTarget() {
  const to = moveTarget.peek();
  if (to && to.why === null) await placeBelow(to.nid);
}

/**
 * Picks up a fragment of the stash, to be dropped on a message.
 * @returns whether that is possible
 */
export function startDraggingFragment(fragmentId: Id, name: string): boolean {
  if (!mayRearrange.peek() || moving.peek() !== null) return false;
  overview.setDropTarget(null);
  setMoving({ piece: { fragmentId }, from: sid(), name, isCopy: false });
  return true;
}

/** Sets whether the moved message is held over the stash. */
export const setOverStash = (is: boolean) => overview.setOverStash(is && movedMessageId() !== null);

/** Drops the dragged part: into the stash or below its target. Otherwise it stays where it was. */
export async function endDrag() {
  const isPutAway = overview.isOverStash.peek();
  overview.setOverStash(false);
  await (isPutAway ? moveToStash() : dropOnTarget());
  if (moving.peek() !== null) cancelMove();
}

/** Compares two messages, and so their branches, beside the tree. */
export function compareMessages(one: number, two: number) {
  const { ids = [], ends } = drawnTree.peek()?.outline ?? {};
  // Includes the change nodes after them.
  const [from, to] = [one, two].map((n) => ends?.get(n) ?? ids[n]);
  if (from && to && one !== two) overview.setCompared({ from, to });
}

export const stopComparing = () => overview.setCompared(null);

/** Swaps the two sides of the comparison. */
export function swapCompared() {
  const two = overview.compared.peek();
  if (two) overview.setCompared({ from: two.to, to: two.from });
}

// Menu items of messages that exist only here

const isCompleteInTree = (node: ChatNode | null) =>
  inTree.value && node?.status === "complete" && node.kind !== "change" && node.kind !== "root";

/** Returns whether a message is on the branch of HEAD. */
function isOnTrunk({ id }: ChatNode) {
  const tree = drawnTree.value;
  return tree?.cards.trunk[tree.cards.cardOf[tree.outline.at.get(id) ?? -1] ?? -1] === 1;
}

/** Returns whether a message is on another branch than HEAD. */
const isOnOtherBranch = (node: ChatNode | null) => isCompleteInTree(node) && node !== null && !isOnTrunk(node);

register({
  id: "message.branchHere",
  label: "command.branchHere",
  icon: "branch",
  scope: "message",
  enabled: ({ node }) => isCompleteInTree(node),
  run: async ({ node }) => {
    if (!node) return;
    await moveHeadTo(node.id);
    store.requestFieldFocus();
  },
});

register({
  id: "message.makeCurrent",
  label: "peek.settle",
  icon: "here",
  scope: "message",
  enabled: ({ node }) => isOnOtherBranch(node),
  run: ({ node }) => node && moveHead(node.id),
});

register({
  id: "message.compareHere",
  label: "command.compareHere",
  icon: "compare",
  scope: "message",
  enabled: ({ node }) => isOnOtherBranch(node) && store.head.value !== null,
  run: ({ node }) => {
    const { outline, head } = drawnTree.peek() ?? {};
    compareMessages(head ?? 0, outline?.at.get(node?.id ?? "") ?? 0);
  },
});

register({
  id: "message.mergeHere",
  label: "command.merge",
  icon: "merge",
  scope: "message",
  rearranges: true,
  enabled: ({ node }) => isOnOtherBranch(node) && store.head.value !== null,
  run: ({ node }) => node && openMergeDialog(node.id),
});
