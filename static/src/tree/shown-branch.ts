// What the views derive from the tree: messages on screen, siblings, answers. Nothing here changes anything.
import { computed } from "../../vendor/preact.js";
import {
  changeNodes,
  siblingsOf,
  head,
  branch,
  nodeOf,
  ownerOf,
  viewedLeaf,
  peekNode,
  session,
  watchedReply,
} from "../model/session-store.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** Whether the session is shown as one branch only. Then nothing shows that there are others. */
export const isLinear = computed(() => session.value?.mode === "linear");

/** The ids on screen: the branch, with the watched generation after its parent or in place of its sibling. */
export const shownIds = computed(() => {
  const ids = branch.value;
  const extra = nodeOf(watchedReply.value);
  if (!extra || viewedLeaf.value !== null || ids.includes(extra.id)) return ids;
  const beside = ids.findIndex((id) => peekNode(id)?.parentId === extra.parentId);
  if (beside >= 0) return [...ids.slice(0, beside), extra.id];
  const above = extra.parentId ? ids.indexOf(extra.parentId) : -1;
  if (above >= 0) return [...ids.slice(0, above + 1), extra.id];
  return extra.parentId === head.value ? [...ids, extra.id] : ids;
});

/** The last message on screen. */
export const tail = computed(() => nodeOf(shownIds.value.at(-1) ?? null));

/** The node before the last turn: the parent of the last user message. */
export const beforeTurn = computed(() => {
  const reply = tail.value;
  const deed = reply?.role === "assistant" ? nodeOf(reply.parentId) : null;
  return deed?.role === "user" && shownIds.value.includes(deed.parentId ?? "") ? deed.parentId : null;
});

/** The generation that is being written on screen. The stop button stops it. */
export const writtenReply = computed(() => {
  const last = tail.value;
  return last?.status === "generating" ? last : null;
});

export function placeAmongSiblings(node: ChatNode): {
  index: number;
  count: number;
  previous: Id | null;
  next: Id | null;
} {
  const ids = siblingsOf(node).value;
  const index = ids.indexOf(node.id);
  return { index, count: ids.length, previous: ids[index - 1] ?? null, next: ids[index + 1] ?? null };
}

/**
 * For each version of a message in creation order: whether the story continued from it. The others are replies that
 * nothing followed.
 */
export const continuedVersions = (node: ChatNode) =>
  siblingsOf(node).value.map((id) => (nodeOf(id)?.childrenIds?.length ?? 0) > 0);

/** Whether nothing follows this message on screen. */
export const isTail = (id: Id) => shownIds.value.at(-1) === id;

/** Returns the message that a reply answers, if it is above it on screen. */
export function answeredMessage(id: Id): Id | null {
  if (nodeOf(id)?.role !== "assistant") return null;
  const above = nodeOf(shownIds.value[shownIds.value.indexOf(id) - 1] ?? null);
  return above?.role === "user" ? above.id : null;
}

/** Whether the reply to this message is below it on screen. */
export const isAnswered = (id: Id) => answeredMessage(shownIds.value[shownIds.value.indexOf(id) + 1] ?? "") === id;

const changeNodesByOwner = computed(() => {
  const owners: Map<Id | null, Id[]> = new Map();
  for (const id of changeNodes.value) owners.set(ownerOf(id), [...(owners.get(ownerOf(id)) ?? []), id]);
  return owners;
});

/** Returns the change nodes that follow a message. */
export const changeNodesAfter = (id: Id): Id[] => changeNodesByOwner.value.get(id) ?? [];
