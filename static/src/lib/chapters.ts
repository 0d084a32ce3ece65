// Summaries as the user sees them: each chapter contains the summaries that it was made of.
import type { Summary } from "./wire.d.ts";

/** A summary. If it is a chapter, `parts` are the summaries inside it. */
export interface Chapter {
  summary: Summary;
  parts: Chapter[];
}

/** Whether a chapter covers all messages of another summary. A valid summary is never part of a stale chapter. */
function covers(chapter: Summary, other: Summary) {
  if (chapter.level <= other.level || (chapter.isStale && !other.isStale)) return false;
  const its = new Set(chapter.nodeIds);
  return other.nodeIds.length > 0 && other.nodeIds.every((id) => its.has(id));
}

/**
 * Nests summaries.
 * @param all in their order
 * @returns the summaries that are part of no other
 */
export function nestChapters(all: Summary[]): Chapter[] {
  const chapters = all.map((one) => ({ summary: one, parts: [] }) as Chapter);
  const tops: Chapter[] = [];
  for (const chapter of chapters) {
    const around = chapters
      .filter((other) => covers(other.summary, chapter.summary))
      .sort((a, b) => a.summary.level - b.summary.level)[0];
    (around ? around.parts : tops).push(chapter);
  }
  return tops;
}

/** Whether this summary or one inside it matches. */
export const contains = ({ summary, parts }: Chapter, isOne: (id: string) => boolean): boolean =>
  isOne(summary.id) || parts.some((part) => contains(part, isOne));
