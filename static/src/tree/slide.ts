// From which side a line comes that takes the place of another one: versions stand beside each other as on the tree.
import { familyOf, peekNode } from "../model/story.ts";
import type { Id } from "../lib/wire.d.ts";

/**
 * Where a line turns off to another version of a message, and on which side of the one before that stands. null: it
 * only grew, was cut short, or is another part of the same story.
 */
export function turnOff(before: Id[], after: Id[]): { at: number; side: -1 | 1 } | null {
  const at = after.findIndex((id, i) => id !== before[i]);
  const [from, to] = [peekNode(before[at] ?? null), peekNode(after[at] ?? null)];
  if (!from || !to || from.parentId !== to.parentId || from.role !== to.role) return null;
  const family = familyOf(to).peek();
  return { at, side: family.indexOf(to.id) < family.indexOf(from.id) ? -1 : 1 };
}
