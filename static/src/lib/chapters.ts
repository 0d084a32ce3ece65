// Summaries as a reader looks at them: a chapter with what it was made of inside it.
import type { Summary } from "./wire.d.ts";

/** A summary, and of a chapter what it was made of. */
export interface Chapter {
  one: Summary;
  parts: Chapter[];
}

/**
 * Whether a chapter stands for all messages of another summary. What holds is no part of what does not hold any more.
 */
function holds(chapter: Summary, other: Summary) {
  if (chapter.level <= other.level || (chapter.isStale && !other.isStale)) return false;
  const its = new Set(chapter.nodeIds);
  return other.nodeIds.length > 0 && other.nodeIds.every((id) => its.has(id));
}

/**
 * @param all in their order
 * @returns those that are part of no other, each with its parts in it
 */
export function nested(all: Summary[]): Chapter[] {
  const chapters = all.map((one) => ({ one, parts: [] }) as Chapter);
  const tops: Chapter[] = [];
  for (const chapter of chapters) {
    const around = chapters
      .filter((other) => holds(other.one, chapter.one))
      .sort((a, b) => a.one.level - b.one.level)[0];
    (around ? around.parts : tops).push(chapter);
  }
  return tops;
}

/** Whether one of these summaries is this one or lies in it. */
export const has = ({ one, parts }: Chapter, isOne: (id: string) => boolean): boolean =>
  isOne(one.id) || parts.some((part) => has(part, isOne));
