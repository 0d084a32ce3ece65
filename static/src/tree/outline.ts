// The shape of a whole session: the server's columns become columns in reading order. Pure. Messages are numbers here.
// A parent has a smaller number than its children, and the oldest child comes right after its parent. So every
// algorithm is a loop, however deep the tree is.
import type { Id, NodeState, TreeSkeleton } from "../lib/wire.d.ts";

/** Bits of `flags`. */
export const FLAG = { disabled: 1, muted: 2, mine: 4, writing: 8, failed: 16, unread: 32, summary: 64, merge: 128 };

export interface Outline {
  /** The number of messages, including the root, which is number 0. */
  size: number;
  ids: Id[];
  /** -1 for the root. */
  parent: Int32Array;
  flags: Uint8Array;
  /** The start of each text. */
  previews: string[];
  /** The number of each node. A change node has the number of the message that it follows. */
  at: Map<Id, number>;
  /** The last change node after a message that no other message follows. */
  ends: Map<number, Id>;
}

const FROM_LEGEND: Record<string, number> = {
  disabled: FLAG.disabled,
  muted: FLAG.muted,
  unread: FLAG.unread,
  user: FLAG.mine,
  generating: FLAG.writing,
  error: FLAG.failed,
  summary: FLAG.summary,
  merge: FLAG.merge,
};

const flagOf = (word: string | undefined) => FROM_LEGEND[word ?? ""] ?? 0;

function flagsOf({ roles, kinds, statuses, flags, legend }: TreeSkeleton, i: number) {
  const own = legend.flags.reduce((sum, word, bit) => ((flags[i] ?? 0) & (1 << bit) ? sum | flagOf(word) : sum), 0);
  return (
    own |
    flagOf(legend.roles[roles[i] ?? -1]) |
    flagOf(legend.kinds[kinds[i] ?? -1]) |
    flagOf(legend.statuses[statuses[i] ?? -1])
  );
}

/** Returns the children as linked lists: `first` child, then `next`, the youngest first. */
function childLists(parents: ArrayLike<number>, size: number) {
  const first = new Int32Array(size).fill(-1);
  const next = new Int32Array(size).fill(-1);
  for (let i = 0; i < size; i += 1) {
    const parent = parents[i] ?? -1;
    if (parent < 0 || parent >= size || parent === i) continue;
    next[i] = first[parent] ?? -1;
    first[parent] = i;
  }
  return { first, next };
}

/** Builds the outline. Change nodes are no messages: their children belong to the message before them. */
export function outlineOf(skeleton: TreeSkeleton): Outline {
  const count = skeleton.ids.length;
  const change = skeleton.legend.kinds.indexOf("change");
  const { first, next } = childLists(skeleton.parents, count);
  const place = new Int32Array(count).fill(-1);
  const parent = new Int32Array(count).fill(-1);
  const flags = new Uint8Array(count);
  const out: Outline = { size: 0, ids: [], parent, flags, previews: [], at: new Map(), ends: new Map() };
  const open = count > 0 ? [Math.max(0, skeleton.parents.indexOf(-1))] : [];
  for (let i = open.pop(); i !== undefined; i = open.pop()) {
    const above = place[skeleton.parents[i] ?? -1] ?? -1;
    const id = skeleton.ids[i] ?? "";
    if (skeleton.kinds[i] === change && above >= 0) {
      place[i] = above;
      out.ends.set(above, id);
    } else {
      const n = (place[i] = out.size);
      parent[n] = above;
      flags[n] = flagsOf(skeleton, i);
      out.ids.push(id);
      out.previews.push(skeleton.previews[i] ?? "");
      out.ends.delete(above);
      out.size += 1;
    }
    out.at.set(id, place[i] ?? 0);
    for (let child = first[i] ?? -1; child >= 0; child = next[child] ?? -1) open.push(child);
  }
  return { ...out, parent: parent.slice(0, out.size), flags: flags.slice(0, out.size), ends: dropFollowedEnds(out) };
}

/** Removes the ends of messages that another message follows. */
function dropFollowedEnds({ size, parent, ends }: Outline) {
  for (let n = 1; n < size; n += 1) ends.delete(parent[n] ?? -1);
  return ends;
}

/** Marks the messages from the root to one message. */
export function trunkTo({ size, parent }: Outline, end: number): Uint8Array {
  const trunk = new Uint8Array(size);
  for (let n = end; n >= 0 && n < size; n = parent[n] ?? -1) trunk[n] = 1;
  return trunk;
}

/** Counts the messages below each message. */
export function countsBelow({ size, parent }: Outline) {
  const below = new Int32Array(size);
  for (let n = size - 1; n > 0; n -= 1) below[parent[n] ?? 0] = (below[parent[n] ?? 0] ?? 0) + (below[n] ?? 0) + 1;
  return below;
}

/** Returns the outline with changed flags of some messages; `null` if one of them is not in it. */
export function withStates(outline: Outline, states: NodeState[]): Outline | null {
  const flags = outline.flags.slice();
  const turn = (n: number, flag: number, is: boolean | undefined) => {
    if (is !== undefined) flags[n] = is ? (flags[n] ?? 0) | flag : (flags[n] ?? 0) & ~flag;
  };
  for (const { id = "", isEnabled, effects, isUnread } of states) {
    const n = outline.at.get(id);
    if (n === undefined) return null;
    // The state of a change node is not that of its message.
    if (outline.ids[n] !== id) continue;
    turn(n, FLAG.disabled, isEnabled === undefined ? undefined : !isEnabled);
    turn(n, FLAG.muted, effects === undefined ? undefined : effects === "muted");
    turn(n, FLAG.unread, isUnread);
  }
  return { ...outline, flags };
}
