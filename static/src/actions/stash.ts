// Pruning, restoring and labels, and undo of all these.
import { t, optionalText } from "../lib/i18n.ts";
import { inTree, openDialog, notify } from "../model/page.ts";
import {
  setMoving,
  fragments,
  labels,
  setStashOpen,
  moving,
  setArrangement,
  isStashOpen,
} from "../model/arrangement.ts";
import * as undoneText from "../model/undone-text.ts";
import * as store from "../model/session-store.ts";
import * as headMoves from "../model/head-moves.ts";
import * as api from "../net/arrange.ts";
import { ApiError, session as readSession } from "../net/api.ts";
import { isLinear } from "../tree/shown-branch.ts";
import { canArrange } from "./message-state.ts";
import { moveHeadTo } from "./branches.ts";
import { always, register } from "./commands.ts";
import { attempt, errorText } from "./error-text.ts";
import { editEffectsText } from "./edit-effects.ts";
import { headMovesDone, refresh, sid, moveHeadUnrecorded } from "./session-sync.ts";
import { saveDraft } from "./turn.ts";
import type { TreeEditsResult, ChatNode, Id, Label, Session, TreeEdit } from "../lib/wire.d.ts";
import type { Key } from "../lib/i18n.ts";

/** Reads labels and the stash. Without an answer, they are not shown. */
export async function readArrangement() {
  const id = store.session.peek()?.id;
  if (!id) return;
  const [labels, fragments] = await Promise.all([api.labels(id).catch(() => []), api.stash(id).catch(() => [])]);
  setArrangement({ sid: id, labels, fragments });
}

export async function arrange(edits: TreeEdit[]): Promise<TreeEditsResult | undefined> {
  const id = sid();
  const arranged = await attempt(() => api.arrange(id, edits));
  if (arranged && store.session.peek()?.id === id) await Promise.all([refresh(), readArrangement()]);
  return arranged;
}

/**
 * Shows a notice about an edit.
 * @param top the message it is about, if that is in the tree now
 */
export const notifyEdit = (
  result: Pick<TreeEditsResult, "op" | "worldChanges"> & Partial<TreeEditsResult>,
  key: Key,
  top?: Id,
) =>
  notify({
    tone: "quiet",
    text: t(key),
    hint: editEffectsText(result),
    action: undoAction("undo", result.op),
    ...(top && { show: () => void moveHeadTo(top, false) }),
  });

/**
 * Returns the undo or redo button of a notice. It affects only its own step: after later steps it undoes nothing else.
 */
const undoAction = (which: "undo" | "redo", seen: number) => ({
  label: `command.${which}` as Key,
  run: () => void undoStep(which, seen),
});

// Undo

/** Undoes or redoes a move of HEAD since the user's last step. */
async function undoHeadMove(which: "undo" | "redo", move: headMoves.HeadMove) {
  const moved = await moveHeadUnrecorded(which === "undo" ? move.from : move.to, true);
  if (!moved) return;
  headMoves.recordUndo(which, moved.op);
  const other = which === "undo" ? "redo" : "undo";
  const again = () => {
    const next = headMoves.nextMove(other, store.head.peek());
    if (next?.op === moved.op) void undoHeadMove(other, next);
    else notify({ tone: "quiet", text: t("notice.goneOn") });
  };
  notify({ tone: "quiet", text: t(`notice.retraced.${which}`), action: { label: `command.${other}`, run: again } });
}

/** Undoes the newest step, or redoes it. */
async function undoStep(which: "undo" | "redo", seen?: number) {
  // An undo during a running move of HEAD means that move.
  await headMovesDone();
  const move = seen === undefined ? headMoves.nextMove(which, store.head.peek()) : null;
  if (move) return undoHeadMove(which, move);
  const id = sid();
  const before = store.branch.peek().map(store.peekNode);
  const settings = store.session.peek();
  try {
    const turned = await api.undo(id, which, seen);
    await Promise.all([refresh(), readArrangement()]);
    if (store.session.peek()?.id !== id) return;
    if (turned.kind === "message") restoreTypedText(which, before);
    const what =
      (turned.kind === "session" && settings && (await settingName(which, settings))) ||
      (turned.kind === "state" && changedMarksText(before)) ||
      optionalText(`act.${turned.kind}`) ||
      t("act.other");
    const other = which === "undo" ? "redo" : "undo";
    notify({
      tone: "quiet",
      text: t(`notice.${which}`, { what }),
      hint: editEffectsText(turned),
      action: undoAction(other, turned.op),
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "nothing_to_undo")
      notify({
        tone: "quiet",
        text: t(error.details.reason === "purged" ? "notice.purgedBefore" : `notice.nothingTo.${which}`),
      });
    else if (error.code === "head_moved") notify({ tone: "quiet", text: t("notice.goneOn") });
    else if (error.code === "conflict")
      notify({ tone: "quiet", text: t("notice.builtUpon"), hint: errorText(error).text });
    else notify({ tone: "error", ...errorText(error) });
  }
}

/** Returns a text with the number of messages on screen whose marks changed, if there are several. */
function changedMarksText(before: (ChatNode | null)[]) {
  const marks = (node: ChatNode | null) =>
    JSON.stringify([node?.isEnabled, node?.effects, node?.metadata?.rating ?? null]);
  const n = before.filter((node) => node && marks(node) !== marks(store.peekNode(node.id))).length;
  return n > 1 ? t("act.states", { n }) : "";
}

/** Returns the name of the session setting that was undone or redone, if the page has one. */
async function settingName(which: "undo" | "redo", before: Session) {
  const now = await attempt(() => readSession(before.id));
  if (!now) return "";
  store.updateSession(now);
  const [made, other] = which === "undo" ? [before, now] : [now, before];
  if (made.mode !== other.mode) return t(`act.${made.mode ?? "tree"}`);
  if (made.title !== other.title) return t("act.title");
  return made.model === other.model ? "" : t("act.model");
}

/**
 * Returns the text that the user typed. The node holds the result of a command; sent again, it would be a roll that was
 * never made.
 */
const typedText = ({ content, metadata }: ChatNode): string =>
  typeof metadata?.originalContent === "string" ? metadata.originalContent : content;

/** Undo puts the typed text back into the text field, in place of the text after it. Redo removes it again. */
function restoreTypedText(which: "undo" | "redo", before: (ChatNode | null)[]) {
  const line = store.branch.peek();
  const draft = store.draft.peek();
  const removed = before.find((node) => node?.role === "user" && !line.includes(node.id));
  if (which === "undo" && removed && undoneText.isUndoneText(draft)) {
    const typed = typedText(removed);
    undoneText.addUndoneText(typed, draft);
    saveDraft(typed);
  }
  const back = line
    .map(store.peekNode)
    .find((node) => node?.role === "user" && !before.some((old) => old?.id === node.id));
  if (which === "redo" && back && typedText(back) === draft) saveDraft(undoneText.removeUndoneText(draft));
}

for (const which of ["undo", "redo"] as const) {
  register({
    id: `session.${which}`,
    label: `command.${which}`,
    icon: which,
    scope: "page",
    keys: which === "undo" ? ["mod+z"] : ["mod+shift+z", "mod+y"],
    leavesTyping: true,
    enabled: () => store.session.value !== null && store.viewedLeaf.value === null,
    // A picked-up part that has no place yet counts as the newest step.
    run: () => (which === "undo" && moving.peek() ? setMoving(null) : undoStep(which)),
  });
}

// The stash

register({
  id: "message.prune",
  label: "command.prune",
  icon: "trash",
  scope: "message",
  rearranges: true,
  keys: ["Delete"],
  inTree: always,
  enabled: ({ node }) =>
    canArrange(node) || (node?.status === "error" && store.viewedLeaf.value === null && !isLinear.value),
  run: async ({ node }) => {
    const result = node && (await arrange([{ op: "prune", nodeId: node.id }]));
    if (!result) return;
    // A failed reply is watched; it is on no branch.
    if (store.watchedReply.peek() === node.id) store.unwatchReply();
    notifyEdit(result, "notice.pruned");
  },
});

/** Restores a fragment to its old place, and shows the session. */
export async function restoreFragment(fragmentId: Id) {
  const top = topOf({ fragmentId });
  const result = await arrange([{ op: "graft", fragmentId }]);
  if (!result) return;
  openDialog(null);
  notifyEdit(result, "notice.putBack", top);
}

/** Returns the top message of a fragment or part. */
export const topOf = (piece: { fragmentId: Id } | { nodeId: Id }) =>
  "nodeId" in piece ? piece.nodeId : fragments.peek()?.find(({ id }) => id === piece.fragmentId)?.nodeId;

/**
 * Renames a fragment.
 * @param name empty: no name
 */
export const renameFragment = (fragmentId: Id, name: string) =>
  arrange([{ op: "rename", fragmentId, name: name || null }]);

export const readFragment = (fragmentId: Id, cursor?: string) => api.fragment(sid(), fragmentId, cursor);

register({
  id: "session.stash",
  label: "command.stash",
  icon: "stash",
  scope: "page",
  keys: ["d"],
  enabled: () => store.session.value !== null && !isLinear.value,
  run: () => {
    if (inTree.peek()) setStashOpen(!isStashOpen.peek());
    else openDialog({ kind: "stash" });
    void readArrangement();
  },
});

// Labels

/** Returns whether another message already has a label, and shows an error if so. */
function isTaken(nodeId: Id, name: string) {
  const other = labels.peek().find((label) => label.name === name && label.nodeId !== nodeId);
  if (!other) return false;
  const where = other.isInTree
    ? { hint: t("label.takenHint"), show: () => void moveHeadTo(other.nodeId, false) }
    : { hint: t("label.takenInStash") };
  notify({ tone: "error", text: t("label.taken", { name }), ...where });
  return true;
}

/**
 * Sets a label.
 * @param following whether it moves with appended nodes
 */
export const putLabel = async (nodeId: Id, name: string, following: boolean) =>
  !isTaken(nodeId, name) && arrange([{ op: "label", nodeId, name, following }]);

export const renameLabel = async ({ name: old, nodeId, following }: Label, name: string) =>
  !isTaken(nodeId, name) &&
  arrange([
    { op: "unlabel", name: old },
    { op: "label", nodeId, name, following },
  ]);

export const removeLabel = (name: string) => arrange([{ op: "unlabel", name }]);

register({
  id: "message.label",
  label: "command.label",
  icon: "bookmark",
  scope: "message",
  keys: ["n"],
  inTree: always,
  enabled: ({ node }) => canArrange(node),
  run: ({ node }) => node && openDialog({ kind: "label", nid: node.id }),
});
