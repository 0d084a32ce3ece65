// Moving and copying: the user picks up a message, then chooses its new place, in this or another session.
import { setMoving, moving } from "../model/arrangement.ts";
import { dialog, openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { canArrange } from "./message-state.ts";
import { register } from "./commands.ts";
import { sid } from "./session-sync.ts";
import { readLibrary } from "./library.ts";
import { arrange, notifyEdit, topOf } from "./stash.ts";
import { navigate } from "./navigation.ts";
import type { Moving } from "../model/arrangement.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** Starts choosing a place for a fragment. */
export function startMovingFragment(fragmentId: Id, name: string, isCopy: boolean) {
  openDialog(null);
  setMoving({ piece: { fragmentId }, from: sid(), name, isCopy });
}

export const startMovingMessage = ({ id, content }: ChatNode, isCopy: boolean) =>
  setMoving({ piece: { nodeId: id }, from: sid(), name: content, isCopy });

/** Cancels the move. */
export const cancelMove = () => setMoving(null);

/** Opens another session, in which the user then chooses the place for the copy. */
export function copyToSession(to: Id) {
  const what = moving.peek();
  if (!what) return openDialog(null);
  setMoving(what, to);
  navigate(`/s/${to}`);
}

/** Attaches the picked-up part below a message. */
export async function placeBelow(targetId: Id) {
  const what = moving.peek();
  if (!what) return;
  const { piece, from, isCopy } = what;
  const top = topOf(piece);
  const result = await arrange([
    { op: "graft", ...piece, targetId, mode: isCopy ? "copy" : "move", ...(from !== sid() && { fromSessionId: from }) },
  ]);
  if (!result) return;
  setMoving(null);
  if (isCopy) notifyEdit(result, "notice.copiedTo", result.nodeIds[0]);
  else notifyEdit(result, "notice.moved", top);
}

/**
 * Returns whether the picked-up part can go below a message: not below itself or where it already is. Copies can go
 * anywhere.
 */
function isMoveTarget({ piece, isCopy, from }: Moving, node: ChatNode) {
  if ("fragmentId" in piece || from !== store.session.value?.id) return true;
  const at = store.branch.value.indexOf(piece.nodeId);
  const isBelow = at >= 0 && store.branch.value.indexOf(node.id) >= at;
  return isCopy || (!isBelow && store.nodeOf(piece.nodeId)?.parentId !== node.id);
}

for (const [id, symbol, isCopy] of [
  ["move", "move", false],
  ["copyTo", "copyTo", true],
] as const) {
  register({
    id: `message.${id}`,
    label: `command.${id}`,
    icon: symbol,
    scope: "message",
    rearranges: true,
    enabled: ({ node }) => canArrange(node) && moving.value === null,
    run: ({ node }) => node && startMovingMessage(node, isCopy),
  });
}

register({
  id: "message.placeHere",
  label: "command.placeHere",
  icon: "move",
  scope: "message",
  rearranges: true,
  keys: ["p"],
  enabled: ({ node }) => moving.value !== null && canArrange(node) && node !== null && isMoveTarget(moving.value, node),
  run: ({ node }) => node && placeBelow(node.id),
});

register({
  id: "moving.elsewhere",
  label: "command.elsewhere",
  icon: "book",
  scope: "page",
  enabled: () => moving.value?.isCopy === true,
  run: () => {
    openDialog({ kind: "sessionChoice" });
    void readLibrary();
  },
});

for (const [id, label, isCopy] of [
  ["moving.cancel", "command.moveCancel", false],
  ["moving.cancelCopy", "command.copyCancel", true],
] as const) {
  register({
    id,
    label,
    icon: "close",
    scope: "page",
    keys: ["Escape"],
    enabled: () => moving.value?.isCopy === isCopy && dialog.value === null,
    run: cancelMove,
  });
}

/** Returns the message that is being moved within this session. */
export const movedMessageId = () => {
  const what = moving.value;
  return what && !what.isCopy && what.from === store.session.value?.id && "nodeId" in what.piece
    ? what.piece.nodeId
    : null;
};

/** Moves the picked-up message into the stash. */
export async function moveToStash() {
  const nodeId = movedMessageId();
  const what = moving.peek();
  // Cleared first, so that this prune is not taken for one by somebody else.
  setMoving(null);
  const result = nodeId && (await arrange([{ op: "prune", nodeId }]));
  if (!result) return setMoving(what);
  notifyEdit(result, "notice.pruned");
}

register({
  id: "moving.stash",
  label: "command.toStash",
  icon: "stash",
  scope: "page",
  rearranges: true,
  enabled: () => movedMessageId() !== null,
  run: moveToStash,
});
