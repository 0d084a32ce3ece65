// What the page does when text was purged, here or elsewhere: it keeps and shows none of it.
import { t } from "../lib/i18n.ts";
import { setMoving, moving } from "../model/arrangement.ts";
import { announce, notify } from "../model/page.ts";
import { unsavedEditIds } from "../model/message-edits.ts";
import * as store from "../model/session-store.ts";
import { ApiError, readNode } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { forgetUnsavedEdits } from "./edit.ts";
import { onFrame, refresh } from "./session-sync.ts";
import { readLibrary } from "./library.ts";
import { navigate } from "./navigation.ts";
import type { Frame, Id } from "../lib/wire.d.ts";

/** Returns the purged nodes of a frame. */
const purgedNodesOf = (frame: Frame): Id[] =>
  frame.type !== "tree.changed" || frame.operation?.kind !== "purge"
    ? []
    : (frame.operation.effects ?? []).flatMap(({ purged, below = [] }) => (purged ? [purged, ...below] : []));

/** Channel to other tabs, which may show other sessions or none. Their lists also contain starts of texts. */
const tabs = new BroadcastChannel("clotho.purged");
tabs.onmessage = forgetPurgedTexts;

function forgetPurgedTexts() {
  announce("");
  store.countPurge();
  void readLibrary();
}

onFrame((frame) => {
  const purgedIds = purgedNodesOf(frame);
  if (purgedIds.length === 0) return;
  tabs.postMessage(null);
  forgetPurgedTexts();
  forgetUnsavedEdits(purgedIds);
  for (const id of purgedIds) store.setUnread(id, false);
  if (purgedIds.includes(store.watchedReply.peek() ?? "")) store.unwatchReply();
  if (purgedIds.includes(store.viewedLeaf.peek() ?? "")) {
    store.stopViewingBranch();
    navigate(`/s/${store.session.peek()?.id}`, true);
  }
  void refresh().then(() => store.forgetNodes(purgedIds));
});

onFrame((frame) => void (frame.type === "tree.changed" && refresh().then(cancelMoveOfRemoved)));

/** Cancels a move if its message was taken out of the session elsewhere. */
async function cancelMoveOfRemoved() {
  const what = moving.peek();
  const id = store.session.peek()?.id;
  if (!what || !id || what.from !== id || !("nodeId" in what.piece)) return;
  const { nodeId } = what.piece;
  if (
    store.branch.peek().includes(nodeId) ||
    !(await isUnknownToServer(() => readNode(id, nodeId))) ||
    moving.peek() !== what
  )
    return;
  setMoving(null);
  notify({ tone: "quiet", text: t("moving.gone") });
}

/** Forgets unsaved edits in the opened session if their messages were purged meanwhile. */
export async function forgetPurgedEdits() {
  const id = store.session.peek()?.id;
  for (const nid of unsavedEditIds()) {
    const isGone =
      id &&
      store.peekNode(nid) === null &&
      (await isUnknownToServer(() => readNode(id, nid))) &&
      (await isUnknownToServer(() => api.purge(id, { nodeId: nid })));
    if (isGone && store.session.peek()?.id === id) forgetUnsavedEdits([nid]);
  }
}

/** Returns whether the server knows nothing of a message any more. Stashed or undone messages could still be purged. */
const isUnknownToServer = (ask: () => Promise<unknown>) =>
  ask().then(
    () => false,
    (error) => error instanceof ApiError && (error.status === 404 || error.status === 410),
  );
