// Which values of a world fit what is looked for. Pure.
import { brief } from "./text.js";

/** @import { Group, Row } from "./schema.js" */
/** @typedef {{groups: Group[], found: number}} Found `found`: how many values are in them */

/** A world of so many values is seen at a glance, and needs no search. */
export const GLANCE = 12;

/** Capitals, and the full-width letters of East Asian keyboards, make no difference. @param {string} text */
const folded = (text) => text.normalize("NFKC").toLocaleLowerCase();

/** @param {string} text @returns {string[]} the words that all have to be there */
export const wordsOf = (text) => folded(text).split(/\s+/).filter(Boolean);

/** @param {string[]} words @param {string} text */
const fits = (words, text) => words.every((word) => folded(text).includes(word));

/** How many values a row shows: of a list or a map what is in it, and nothing is shown as one. @param {Row} row @returns {number} */
function valuesOf({ kind, rows, seen }) {
  if (kind === "group") return countOf(rows);
  if (kind !== "list" && kind !== "map") return 1;
  return Math.max(1, Object.keys(seen !== null && typeof seen === "object" ? seen : {}).length);
}

/** @param {Row[]} rows */
const countOf = (rows) => rows.reduce((sum, row) => sum + valuesOf(row), 0);

/** @param {Group[]} groups */
export const valuesIn = (groups) => groups.reduce((sum, group) => sum + countOf(group.rows), 0);

/**
 * What fits, with all that is around it. Where the name of something around it fits, all of it does.
 * @param {Group[]} groups @param {string[]} words
 * @param {(row: Row) => string} shown the value as a reader sees it, where that is not how it is stored
 * @returns {Found}
 */
export function findRows(groups, words, shown) {
  /** @param {Row} row @param {string} around @returns {Row[]} */
  const sift = (row, around) => {
    const named = [around, row.label, row.path, row.about].join("\n");
    if (fits(words, named)) return [row];
    if (row.kind !== "group") return fits(words, [named, shown(row), brief(row.seen)].join("\n")) ? [row] : [];
    const rows = row.rows.flatMap((inner) => sift(inner, named));
    return rows.length > 0 ? [{ ...row, rows }] : [];
  };
  const kept = groups.map((group) => ({ ...group, rows: group.rows.flatMap((row) => sift(row, `${group.title}\n${group.plugin}`)) })).filter(({ rows }) => rows.length > 0);
  return { groups: kept, found: valuesIn(kept) };
}
