// Which values of a world fit what is looked for. Pure.
import { brief } from "./text.ts";
import type { Group, Row } from "./schema.ts";

/** `found`: how many values are in them */
interface Found {
  groups: Group[];
  found: number;
}

/** A world of so many values is seen at a glance, and needs no search. */
export const GLANCE = 12;

/** Capitals, and the full-width letters of East Asian keyboards, make no difference. */
const folded = (text: string) => text.normalize("NFKC").toLocaleLowerCase();

/** @returns the words that all have to be there */
export const wordsOf = (text: string): string[] => folded(text).split(/\s+/).filter(Boolean);

const fits = (words: string[], text: string) => words.every((word) => folded(text).includes(word));

/** How many values a row shows: of a list or a map what is in it, and nothing is shown as one. */
function valuesOf({ kind, rows, seen }: Row): number {
  if (kind === "group") return countOf(rows);
  if (kind !== "list" && kind !== "map") return 1;
  return Math.max(1, Object.keys(seen !== null && typeof seen === "object" ? seen : {}).length);
}

const countOf = (rows: Row[]) => rows.reduce((sum, row) => sum + valuesOf(row), 0);

export const valuesIn = (groups: Group[]) => groups.reduce((sum, group) => sum + countOf(group.rows), 0);

/**
 * What fits, with all that is around it. Where the name of something around it fits, all of it does.
 * @param shown the value as a reader sees it, where that is not how it is stored
 */
export function findRows(groups: Group[], words: string[], shown: (row: Row) => string): Found {
  const sift = (row: Row, around: string): Row[] => {
    const named = [around, row.label, row.path, row.about].join("\n");
    if (fits(words, named)) return [row];
    if (row.kind !== "group") return fits(words, [named, shown(row), brief(row.seen)].join("\n")) ? [row] : [];
    const rows = row.rows.flatMap((inner) => sift(inner, named));
    return rows.length > 0 ? [{ ...row, rows }] : [];
  };
  const kept = groups
    .map((group) => ({ ...group, rows: group.rows.flatMap((row) => sift(row, `${group.title}\n${group.plugin}`)) }))
    .filter(({ rows }) => rows.length > 0);
  return { groups: kept, found: valuesIn(kept) };
}
