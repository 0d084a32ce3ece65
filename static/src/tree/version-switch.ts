// The side from which a new branch slides in, so that versions stand side by side as in the tree.
import { siblingsOf, peekNode } from "../model/session-store.ts";
import type { Id } from "../lib/wire.d.ts";

/**
 * Returns where a branch changes to another version of a message, and on which side of the old one that is. `null` if
 * the branch only grew, was shortened, or shows another part of the session.
 */
export function versionSwitch(before: Id[], after: Id[]): { at: number; side: -1 | 1 } | null {
  const at = after.findIndex((id, i) => id !== before[i]);
  const [from, to] = [peekNode(before[at] ?? null), peekNode(after[at] ?? null)];
  if (!from || !to || from.parentId !== to.parentId || from.role !== to.role) return null;
  const family = siblingsOf(to).peek();
  return { at, side: family.indexOf(to.id) < family.indexOf(from.id) ? -1 : 1 };
}
