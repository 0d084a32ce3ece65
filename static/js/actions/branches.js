// The branches of the open story: which there are, how two of them differ, going to one.
import { openDialog } from "../model/page.js";
import * as story from "../model/story.js";
import { oneNode } from "../net/api.js";
import * as api from "../net/arrange.js";
import { isLinear } from "../tree/line.js";
import { register } from "./commands.js";
import { sid, visit } from "./follow.js";
import { navigate } from "./travel.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */

/** @param {string} [cursor] */
export const readBranches = (cursor) => api.branches(sid(), cursor ? { cursor } : {});

/** @param {Id} from @param {Id} to */
export const readDiff = (from, to) => api.diff(sid(), from, to);

/** The messages after which lines part, by the nodes at which they do; of one that cannot be read nothing is told. @param {Id[]} ids @returns {Promise<Map<Id, ChatNode>>} */
export async function readPartings(ids) {
  const id = sid();
  const read = [...new Set(ids)].map(async (nid) => /** @type {const} */ ([nid, await messageAt(id, nid)]));
  return new Map((await Promise.all(read)).flatMap(([nid, node]) => (node ? [[nid, node]] : [])));
}

/** The message that a node is, or that it changed something after. @param {Id} id @param {Id} nid */
async function messageAt(id, nid) {
  const read = (/** @type {Id} */ at) => story.peekNode(at) ?? oneNode(id, at).catch(() => null);
  let node = await read(nid);
  while (node?.kind === "change" && node.parentId) node = await read(node.parentId);
  return node;
}

/** Goes to live on another line; what stands in the line on screen is only brought into view. @param {Id} nid @param {boolean} [exact] at this very message */
export async function goTo(nid, exact = true) {
  openDialog(null);
  const isHere = !exact && story.peek.peek() === null && story.line.peek().includes(nid);
  if (!isHere && !(await visit(nid, exact))) return;
  navigate(`/s/${sid()}`, true);
  story.pointAt(nid);
}

/** @param {Id} from @param {Id} to */
export const compare = (from, to) => openDialog({ kind: "compare", from, to });

/** The newest end of a line that is whole. @returns {Promise<Id | null>} */
export async function newestLeaf() {
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
  enabled: ({ node }) => node?.status === "complete" && story.peek.value !== null && story.head.value !== null && !isLinear.value,
  run: ({ node }) => {
    const head = story.head.peek();
    if (node && head) compare(head, node.id);
  },
});
