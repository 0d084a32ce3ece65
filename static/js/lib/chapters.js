// Summaries as a reader looks at them: a chapter with what it was made of inside it.

/** @import { Summary } from "./wire.d.ts" */

/** A summary, and of a chapter what it was made of. @typedef {{one: Summary, parts: Chapter[]}} Chapter */

/** Whether a chapter stands for all messages of another summary. What holds is no part of what does not hold any more. @param {Summary} chapter @param {Summary} other */
function holds(chapter, other) {
  if (chapter.level <= other.level || (chapter.isStale && !other.isStale)) return false;
  const its = new Set(chapter.nodeIds);
  return other.nodeIds.length > 0 && other.nodeIds.every((id) => its.has(id));
}

/** @param {Summary[]} all in their order @returns {Chapter[]} those that are part of no other, each with its parts in it */
export function nested(all) {
  const chapters = all.map((one) => /** @type {Chapter} */ ({ one, parts: [] }));
  /** @type {Chapter[]} */
  const tops = [];
  for (const chapter of chapters) {
    const around = chapters.filter((other) => holds(other.one, chapter.one)).sort((a, b) => a.one.level - b.one.level)[0];
    (around ? around.parts : tops).push(chapter);
  }
  return tops;
}

/** Whether one of these summaries is this one or lies in it. @param {Chapter} chapter @param {(id: string) => boolean} isOne @returns {boolean} */
export const has = ({ one, parts }, isOne) => isOne(one.id) || parts.some((part) => has(part, isOne));
