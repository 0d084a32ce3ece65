// Navigation in the tree and between pages: siblings, going back, jumps, deep links.
import { watchFocus } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { hintFits, markHintSeen, inTree, offerHint, openDialog, setRoute, showPane, notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/api.ts";
import { isLinear, isTail, placeAmongSiblings, tail } from "../tree/shown-branch.ts";
import { always, canRun, register, run } from "./commands.ts";
import { attempt, errorText } from "./error-text.ts";
import { loadOlder, openSession, closeSession, refresh, sid, moveHead, PAGE_SIZE } from "./session-sync.ts";
import type { ChatNode, Hit, Id } from "../lib/wire.d.ts";
import type { Route } from "../model/page.ts";

export function navigate(path: string, replace: boolean = false) {
  if (path !== location.pathname) history[replace ? "replaceState" : "pushState"](null, "", path);
  showPane("chat");
  openDialog(null);
  setRoute(path);
}

addEventListener("popstate", () => {
  openDialog(null);
  setRoute(location.pathname);
});

/** Follows a route: opens its session and shows its message. */
export async function followRoute(to: Route) {
  if (to.page !== "session") return closeSession();
  if (store.session.peek()?.id !== to.sid && !(await openSession(to.sid))) return;
  if (to.nid) await viewBranchOf(to.nid);
  // The chat below the tree keeps what it shows.
  else if (!to.isTree && store.viewedLeaf.peek() !== null) await stopViewing();
}

/**
 * Returns whether a message that is not loaded is further up on the branch on screen. Then it is the common ancestor of
 * itself and the leaf.
 */
async function isOlderOnBranch(nid: Id) {
  const leaf = store.branch.peek().at(-1);
  if (store.olderCursor.peek() === null || !leaf) return false;
  const { diff } = await import("../net/arrange.ts");
  return (await diff(sid(), leaf, nid).catch(() => null))?.ancestorId === nid;
}

/** Loads older messages of the branch on screen until it contains a message. */
export async function loadUpTo(nid: Id) {
  while (!store.branch.peek().includes(nid) && store.olderCursor.peek() !== null) {
    const before = store.olderCursor.peek();
    await loadOlder(500);
    if (store.olderCursor.peek() === before) return;
  }
}

/** Views the branch of a node without moving HEAD. A node on the branch on screen is only scrolled into view. */
async function viewBranchOf(nid: Id) {
  if (store.viewedLeaf.peek() === null && !store.branch.peek().includes(nid) && (await isOlderOnBranch(nid)))
    await loadUpTo(nid);
  if (!store.branch.peek().includes(nid)) {
    try {
      const page = await api.projection(sid(), { leaf: nid, limit: PAGE_SIZE });
      store.viewBranch(nid, page);
    } catch (error) {
      const why = error as api.ApiError;
      notify({
        tone: "error",
        ...(why.status === 404 ? { text: t("gone.text"), hint: t("gone.hint") } : errorText(why)),
      });
      return navigate(`/s/${sid()}`, true);
    }
  }
  store.scrollTo(nid);
}

async function stopViewing() {
  store.stopViewingBranch();
  await refresh();
}

/**
 * Goes to a search hit. If the tree is on screen, goes there in the tree. Opens the stash for a stashed message. On the
 * current branch, scrolls to the message. On another branch, views it without moving HEAD.
 */
export async function openSearchHit({ sessionId, nodeId, onTrunk, stashed, fragmentId = null }: Hit) {
  if (stashed) {
    navigate(`/s/${sessionId}`);
    if (store.session.peek()?.id === sessionId || (await openSession(sessionId)))
      openDialog({ kind: "stash", fragmentId });
    return;
  }
  if (inTree.peek() && store.session.peek()?.id === sessionId) {
    openDialog(null);
    return (await import("./overview.ts")).revealInTree(nodeId);
  }
  if (onTrunk === false) return navigate(`/s/${sessionId}/${nodeId}`);
  navigate(`/s/${sessionId}`);
  if (store.session.peek()?.id !== sessionId && !(await openSession(sessionId))) return;
  if (store.viewedLeaf.peek() !== null) await stopViewing();
  await loadUpTo(nodeId);
  if (store.branch.peek().includes(nodeId)) store.scrollTo(nodeId);
  else navigate(`/s/${sessionId}/${nodeId}`);
}

/** Loads the alternatives of a message that were not on screen yet. Without an answer, they cannot be told apart. */
export async function readVersions(node: ChatNode) {
  const isKnown = store
    .siblingsOf(node)
    .peek()
    .every((id) => store.peekNode(id));
  if (isKnown) return;
  const id = sid();
  const versions = await api.versions(id, node.id).catch(() => []);
  if (store.session.peek()?.id !== id) return;
  for (const version of versions) if (!store.peekNode(version.id)) store.upsertNode(version);
}

export async function goToSibling(node: ChatNode, which: "previous" | "next") {
  const id = placeAmongSiblings(node)[which];
  if (id) await goToVersion(node, id);
}

/** Whether the next swipe of this message is a new one: it is the last swipe of the last message, a reply to a user. */
export const isNextNew = (node: ChatNode | null) =>
  node !== null &&
  node.kind !== "greeting" &&
  !inTree.value &&
  isTail(node.id) &&
  placeAmongSiblings(node).next === null &&
  canRun("message.reroll", node);

/** Goes to the next swipe. After the last one, requests a new one, as in SillyTavern. */
export const goToNext = (node: ChatNode) =>
  isNextNew(node) ? run("message.reroll", node) : void goToSibling(node, "next");

/**
 * Goes to another alternative of a message.
 * @param id the alternative
 */
export async function goToVersion(node: ChatNode, id: Id) {
  const sibling = store.peekNode(id) ?? (await attempt(() => api.readNode(sid(), id)));
  if (!sibling) return;
  const isStill = watchFocus();
  const follow = (nid: Id) => isStill() && store.setFocusNext(nid);
  if (sibling.status === "complete") {
    if (!(await moveHead(id))) return;
    // A failed reply was shown beside it, and HEAD had never moved.
    if (store.watchedReply.peek() === node.id && node.status === "error") store.unwatchReply();
    return follow(id);
  }
  // HEAD cannot be at an unfinished or failed reply, but the page can show it.
  store.upsertNode(sibling);
  const above = node.parentId;
  if (above && store.branch.peek().includes(above) && !(await moveHead(above, true))) return;
  store.setWatchedReply(id);
  follow(id);
}

/** Moves HEAD to the message that is only viewed, and offers the way back. */
async function moveHeadHere() {
  const nid = store.viewedLeaf.peek();
  const before = store.head.peek();
  if (!nid || !(await moveHead(nid, true))) return;
  navigate(`/s/${sid()}`, true);
  if (before && before !== nid)
    notify({
      tone: "quiet",
      text: t("notice.settled"),
      action: { label: "notice.return", run: () => void moveHead(before, true) },
    });
}

const isOnShownBranch = (node: ChatNode | null) =>
  node !== null && node.status === "complete" && store.viewedLeaf.peek() === null && !isLinear.value;

register({
  id: "page.settings",
  label: "command.settings",
  icon: "preset",
  scope: "page",
  keys: ["mod+,"],
  run: () => navigate("/settings"),
});

register({
  id: "page.connect",
  label: "models.title",
  icon: "plug",
  scope: "page",
  run: () => openDialog({ kind: "connect", providerId: null, back: null }),
});

register({
  id: "message.previous",
  label: "command.previous",
  icon: "left",
  scope: "message",
  keys: ["alt+ArrowLeft"],
  inTree: always,
  enabled: ({ node }) => node !== null && !isLinear.value && placeAmongSiblings(node).previous !== null,
  run: ({ node }) => node && goToSibling(node, "previous"),
});

register({
  id: "message.next",
  label: "command.next",
  icon: "right",
  scope: "message",
  keys: ["alt+ArrowRight"],
  inTree: always,
  enabled: ({ node }) =>
    node !== null && !isLinear.value && (placeAmongSiblings(node).next !== null || isNextNew(node)),
  run: ({ node }) => node && goToNext(node),
});

register({
  id: "message.goBack",
  label: "command.goBack",
  icon: "rewind",
  scope: "message",
  keys: ["b"],
  inTree: always,
  enabled: ({ node }) => isOnShownBranch(node) && store.head.peek() !== node?.id,
  run: async ({ node }) => {
    const [before, isHinted] = [store.branch.peek(), hintFits(tail.peek()?.id)];
    if (!node || !(await moveHead(node.id, true))) return;
    if (isHinted) markHintSeen();
    if (
      before.some((id) => store.peekNode(id)?.kind === "summary") &&
      (await import("./summarised-messages.ts")).offerToEnableSummarised(before)
    )
      return;
    if (!offerHint("hint.again", node.id)) notify({ tone: "quiet", text: t("notice.wentBack") });
  },
});

register({
  id: "message.follow",
  label: "command.follow",
  icon: "right",
  scope: "message",
  enabled: ({ node }) => isOnShownBranch(node) && store.head.value === node?.id && (node?.childrenIds?.length ?? 0) > 0,
  run: ({ node }) => node && moveHead(node.id),
});

register({
  id: "peek.back",
  label: "peek.back",
  icon: "left",
  scope: "page",
  enabled: () => store.viewedLeaf.value !== null,
  run: () => navigate(`/s/${sid()}`),
});

register({
  id: "peek.settle",
  label: "peek.settle",
  icon: "branch",
  scope: "page",
  enabled: () => store.viewedLeaf.value !== null,
  run: moveHeadHere,
});

register({
  id: "page.library",
  label: "command.library",
  icon: "book",
  scope: "page",
  run: () => navigate("/"),
});
