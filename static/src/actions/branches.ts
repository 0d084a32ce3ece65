// The branches of the open story: which there are, how two of them differ, going to one.
import { openDialog } from "../model/page.ts";
import * as story from "../model/story.ts";
import { oneNode } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { isLinear } from "../tree/line.ts";
import { register } from "./commands.ts";
import { sid, visit } from "./follow.ts";
import { navigate } from "./travel.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

export const readBranches = (cursor?: string) => api.branches(sid(), cursor ? { cursor } : {});

export const readDiff = (from: Id, to: Id) => api.diff(sid(), from, to);

/** The messages after which lines part, by the nodes at which they do; of one that cannot be read nothing is told. */
export async function readPartings(ids: Id[]): Promise<Map<Id, ChatNode>> {
  const id = sid();
  const read = [...new Set(ids)].map(async (nid) => [nid, await messageAt(id, nid)] as const);
  return new Map((await Promise.all(read)).flatMap(([nid, node]) => (node ? [[nid, node]] : [])));
}

/** The message that a node is, or that it changed something after. */
async function messageAt(id: Id, nid: Id) {
  const read = (at: Id) => story.peekNode(at) ?? oneNode(id, at).catch(() => null);
  let node = await read(nid);
  while (node?.kind === "change" && node.parentId) node = await read(node.parentId);
  return node;
}

/**
 * Goes to live on another line; what stands in the line on screen is only brought into view.
 * @param exact at this very message
 */
export async function goTo(nid: Id, exact: boolean = true) {
  openDialog(null);
  const isHere = !exact && story.peek.peek() === null && story.line.peek().includes(nid);
  if (!isHere && !(await visit(nid, exact))) return;
  navigate(`/s/${sid()}`, true);
  story.pointAt(nid);
}

export const compare = (from: Id, to: Id) => openDialog({ kind: "compare", from, to });

/** The newest end of a line that is whole. */
export async function newestLeaf(): Promise<Id | null> {
  const { items } = await api.branches(sid(), { limit: 20 });
  return items.find(({ status }) => status === "complete")?.leafId ?? null;
}

/** Learns which replies were finished on other timelines and wait to be seen; without an answer nobody is told. */
export async function readUnread() {
  const id = sid();
  const { items } = await api.branches(id, { limit: 100 }).catch(() => ({ items: [] }));
  if (story.session.peek()?.id !== id) return;
  for (const { leafId, isUnread, status } of items.reverse()) {
    if (isUnread && status === "complete" && !story.line.peek().includes(leafId)) story.putUnread(leafId, true);
  }
}

register({
  id: "session.branches",
  label: "command.branches",
  icon: "branches",
  scope: "page",
  enabled: () => story.session.value !== null && !isLinear.value,
  run: () => openDialog({ kind: "branches" }),
});

register({
  id: "message.compare",
  label: "command.compare",
  icon: "compare",
  scope: "message",
  enabled: ({ node }) =>
    node?.status === "complete" && story.peek.value !== null && story.head.value !== null && !isLinear.value,
  run: ({ node }) => {
    const head = story.head.peek();
    if (node && head) compare(head, node.id);
  },
});
