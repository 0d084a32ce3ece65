// Pruning, restoring and labels, and undo of all these.
import { t, optionalText } from "../lib/i18n.ts";
import { inTree, openDialog, tell } from "../model/page.ts";
import { carry, fragments, labels, layStashBeside, moving, putArrangement, stashBeside } from "../model/arrangement.ts";
import * as returned from "../model/returned.ts";
import * as story from "../model/story.ts";
import * as trail from "../model/trail.ts";
import * as api from "../net/arrange.ts";
import { ApiError, session as readSession } from "../net/api.ts";
import { isLinear } from "../tree/line.ts";
import { canArrange } from "./arrange.ts";
import { goTo } from "./branches.ts";
import { always, register } from "./commands.ts";
import { attempt, wordsFor } from "./failure.ts";
import { besides } from "./besides.ts";
import { arrival, refresh, sid, stand } from "./follow.ts";
import { writeDraft } from "./turn.ts";
import type { Arranged, ChatNode, Id, Label, Session, TreeEdit } from "../lib/wire.d.ts";
import type { Key } from "../lib/i18n.ts";

/** Reads labels and the stash. Without an answer, they are not shown. */
export async function readArrangement() {
  const id = story.session.peek()?.id;
  if (!id) return;
  const [labels, fragments] = await Promise.all([api.labels(id).catch(() => []), api.stash(id).catch(() => [])]);
  putArrangement({ sid: id, labels, fragments });
}

export async function arrange(edits: TreeEdit[]): Promise<Arranged | undefined> {
  const id = sid();
  const arranged = await attempt(() => api.arrange(id, edits));
  if (arranged && story.session.peek()?.id === id) await Promise.all([refresh(), readArrangement()]);
  return arranged;
}

/**
 * Shows a notice about an edit.
 * @param top the message it is about, if that is in the tree now
 */
export const say = (made: Pick<Arranged, "op" | "worldChanges"> & Partial<Arranged>, key: Key, top?: Id) =>
  tell({
    tone: "quiet",
    text: t(key),
    hint: besides(made),
    act: turning("undo", made.op),
    ...(top && { go: () => void goTo(top, false) }),
  });

/**
 * Returns the undo or redo button of a notice. It affects only its own step: after later steps it undoes nothing else.
 */
const turning = (which: "undo" | "redo", seen: number) => ({
  label: `command.${which}` as Key,
  run: () => void turnBack(which, seen),
});

// Undo

/** Undoes or redoes a move of HEAD since the user's last step. */
async function retrace(which: "undo" | "redo", move: trail.Move) {
  const moved = await stand(which === "undo" ? move.from : move.to, true);
  if (!moved) return;
  trail.retraced(which, moved.op);
  const other = which === "undo" ? "redo" : "undo";
  const again = () => {
    const next = trail.nextMove(other, story.head.peek());
    if (next?.op === moved.op) void retrace(other, next);
    else tell({ tone: "quiet", text: t("notice.goneOn") });
  };
  tell({ tone: "quiet", text: t(`notice.retraced.${which}`), act: { label: `command.${other}`, run: again } });
}

/** Undoes the newest step, or redoes it. */
async function turnBack(which: "undo" | "redo", seen?: number) {
  // An undo during a running move of HEAD means that move.
  await arrival();
  const move = seen === undefined ? trail.nextMove(which, story.head.peek()) : null;
  if (move) return retrace(which, move);
  const id = sid();
  const before = story.line.peek().map(story.peekNode);
  const settings = story.session.peek();
  try {
    const turned = await api.undo(id, which, seen);
    await Promise.all([refresh(), readArrangement()]);
    if (story.session.peek()?.id !== id) return;
    if (turned.kind === "message") keepText(which, before);
    const what =
      (turned.kind === "session" && settings && (await settingName(which, settings))) ||
      (turned.kind === "state" && marked(before)) ||
      optionalText(`act.${turned.kind}`) ||
      t("act.other");
    const other = which === "undo" ? "redo" : "undo";
    tell({
      tone: "quiet",
      text: t(`notice.${which}`, { what }),
      hint: besides(turned),
      act: turning(other, turned.op),
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "nothing_to_undo")
      tell({
        tone: "quiet",
        text: t(error.details.reason === "purged" ? "notice.purgedBefore" : `notice.nothingTo.${which}`),
      });
    else if (error.code === "head_moved") tell({ tone: "quiet", text: t("notice.goneOn") });
    else if (error.code === "conflict")
      tell({ tone: "quiet", text: t("notice.builtUpon"), hint: wordsFor(error).text });
    else tell({ tone: "error", ...wordsFor(error) });
  }
}

/** Returns a text with the number of messages on screen whose marks changed, if there are several. */
function marked(before: (ChatNode | null)[]) {
  const marks = (node: ChatNode | null) =>
    JSON.stringify([node?.isEnabled, node?.effects, node?.metadata?.rating ?? null]);
  const n = before.filter((node) => node && marks(node) !== marks(story.peekNode(node.id))).length;
  return n > 1 ? t("act.states", { n }) : "";
}

/** Returns the name of the session setting that was undone or redone, if the page has one. */
async function settingName(which: "undo" | "redo", before: Session) {
  const now = await attempt(() => readSession(before.id));
  if (!now) return "";
  story.putSession(now);
  const [made, other] = which === "undo" ? [before, now] : [now, before];
  if (made.mode !== other.mode) return t(`act.${made.mode ?? "tree"}`);
  if (made.title !== other.title) return t("act.title");
  return made.model === other.model ? "" : t("act.model");
}

/**
 * Returns the text that the user typed. The node holds the result of a command; sent again, it would be a roll that was
 * never made.
 */
const wordsTyped = ({ content, metadata }: ChatNode): string =>
  typeof metadata?.originalContent === "string" ? metadata.originalContent : content;

/** Undo puts the typed text back into the text field, in place of the text after it. Redo removes it again. */
function keepText(which: "undo" | "redo", before: (ChatNode | null)[]) {
  const line = story.line.peek();
  const draft = story.draft.peek();
  const gone = before.find((node) => node?.role === "user" && !line.includes(node.id));
  if (which === "undo" && gone && returned.isReturned(draft)) {
    const typed = wordsTyped(gone);
    returned.putWords(typed, draft);
    writeDraft(typed);
  }
  const back = line
    .map(story.peekNode)
    .find((node) => node?.role === "user" && !before.some((old) => old?.id === node.id));
  if (which === "redo" && back && wordsTyped(back) === draft) writeDraft(returned.takeWords(draft));
}

for (const which of ["undo", "redo"] as const) {
  register({
    id: `session.${which}`,
    label: `command.${which}`,
    icon: which,
    scope: "page",
    keys: which === "undo" ? ["mod+z"] : ["mod+shift+z", "mod+y"],
    leavesTyping: true,
    enabled: () => story.session.value !== null && story.peek.value === null,
    // A picked-up part that has no place yet counts as the newest step.
    run: () => (which === "undo" && moving.peek() ? carry(null) : turnBack(which)),
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
  enabled: ({ node }) => canArrange(node) || (node?.status === "error" && story.peek.value === null && !isLinear.value),
  run: async ({ node }) => {
    const made = node && (await arrange([{ op: "prune", nodeId: node.id }]));
    if (!made) return;
    // A failed reply is watched; it is on no branch.
    if (story.watched.peek() === node.id) story.unwatch();
    say(made, "notice.pruned");
  },
});

/** Restores a fragment to its old place, and shows the session. */
export async function putBack(fragmentId: Id) {
  const top = topOf({ fragmentId });
  const made = await arrange([{ op: "graft", fragmentId }]);
  if (!made) return;
  openDialog(null);
  say(made, "notice.putBack", top);
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
  enabled: () => story.session.value !== null && !isLinear.value,
  run: () => {
    if (inTree.peek()) layStashBeside(!stashBeside.peek());
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
    ? { hint: t("label.takenHint"), go: () => void goTo(other.nodeId, false) }
    : { hint: t("label.takenInStash") };
  tell({ tone: "error", text: t("label.taken", { name }), ...where });
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

export const dropLabel = (name: string) => arrange([{ op: "unlabel", name }]);

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
