// The reading order of a fragment in the stash.
import type { ChatNode, Id } from "../lib/wire.d.ts";

/**
 * Returns the messages branch by branch, the first child first. `steps`: number of times that the path turned to a
 * later child.
 * @param nodes parents before children
 */
export function fragmentOrder(nodes: ChatNode[]) {
  const below: Map<Id | null, ChatNode[]> = new Map();
  const ids = new Set(nodes.map(({ id }) => id));
  for (const node of nodes) {
    const parent = node.parentId !== null && ids.has(node.parentId) ? node.parentId : null;
    below.set(parent, [...(below.get(parent) ?? []), node]);
  }
  const found = [];
  const open = (below.get(null) ?? []).map((node) => ({ node, steps: 0 })).reverse();
  for (let at = open.pop(); at; at = open.pop()) {
    found.push(at);
    const { steps } = at;
    const children = below.get(at.node.id) ?? [];
    open.push(...children.map((node, i) => ({ node, steps: steps + (i > 0 ? 1 : 0) })).reverse());
  }
  return found.filter(({ node }) => node.kind !== "change");
}
