// The branches of the open session: listing, comparing, and moving to one.
import { openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { readNode } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { isLinear } from "../tree/shown-branch.ts";
import { register } from "./commands.ts";
import { sid, moveHead } from "./session-sync.ts";
import { navigate } from "./navigation.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

export const readBranches = (cursor?: string) => api.branches(sid(), cursor ? { cursor } : {});

export const readDiff = (from: Id, to: Id) => api.diff(sid(), from, to);

/**
 * Reads the messages at which branches fork, by the ids of the fork nodes. Messages that cannot be read are left out.
 */
export async function readForkMessages(ids: Id[]): Promise<Map<Id, ChatNode>> {
  const id = sid();
  const read = [...new Set(ids)].map(async (nid) => [nid, await messageAt(id, nid)] as const);
  return new Map((await Promise.all(read)).flatMap(([nid, node]) => (node ? [[nid, node]] : [])));
}

/** Returns the message of a node. For a change node, that is the message before it. */
async function messageAt(id: Id, nid: Id) {
  const read = (at: Id) => store.peekNode(at) ?? readNode(id, at).catch(() => null);
  let node = await read(nid);
  while (node?.kind === "change" && node.parentId) node = await read(node.parentId);
  return node;
}

/**
 * Moves HEAD to a node on another branch. A node on the branch on screen is only scrolled into view.
 * @param exact whether HEAD moves to exactly this node; the node is then visited even if it is on screen
 */
export async function moveHeadTo(nid: Id, exact: boolean = true) {
  openDialog(null);
  const isHere = !exact && store.viewedLeaf.peek() === null && store.branch.peek().includes(nid);
  if (!isHere && !(await moveHead(nid, exact))) return;
  navigate(`/s/${sid()}`, true);
  store.scrollTo(nid);
}

export const compare = (from: Id, to: Id) => openDialog({ kind: "compare", from, to });

/** Returns the leaf of the newest branch that ends in a complete message. */
export async function newestLeaf(): Promise<Id | null> {
  const { items } = await api.branches(sid(), { limit: 20 });
  return items.find(({ status }) => status === "complete")?.leafId ?? null;
}

/** Reads which finished replies on other branches are unread. Errors are ignored. */
export async function readUnread() {
  const id = sid();
  const { items } = await api.branches(id, { limit: 100 }).catch(() => ({ items: [] }));
  if (store.session.peek()?.id !== id) return;
  for (const { leafId, isUnread, status } of items.reverse()) {
    if (isUnread && status === "complete" && !store.branch.peek().includes(leafId)) store.setUnread(leafId, true);
  }
}

register({
  id: "session.branches",
  label: "command.branches",
  icon: "branches",
  scope: "page",
  enabled: () => store.session.value !== null && !isLinear.value,
  run: () => openDialog({ kind: "branches" }),
});

register({
  id: "message.compare",
  label: "command.compare",
  icon: "compare",
  scope: "message",
  enabled: ({ node }) =>
    node?.status === "complete" && store.viewedLeaf.value !== null && store.head.value !== null && !isLinear.value,
  run: ({ node }) => {
    const head = store.head.peek();
    if (node && head) compare(head, node.id);
  },
});
