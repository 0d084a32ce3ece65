// Search among the values of a state. Pure.
import { compactJson } from "./text.ts";
import type { Group, Row } from "./schema.ts";

/** `found`: the number of values in the groups. */
interface FoundRows {
  groups: Group[];
  found: number;
}

/** Number of values up to which no search is needed. */
export const SEARCH_FROM = 12;

/** Ignores case and full-width letters of East Asian keyboards. */
const foldCase = (text: string) => text.normalize("NFKC").toLocaleLowerCase();

/** Returns the words of a query. A match contains all of them. */
export const queryWords = (text: string): string[] => foldCase(text).split(/\s+/).filter(Boolean);

const fits = (words: string[], text: string) => words.every((word) => foldCase(text).includes(word));

/** Returns how many values a row shows. A list or a map counts its items, and an empty one counts as one. */
function valuesOf({ kind, rows, visible }: Row): number {
  if (kind === "group") return countOf(rows);
  if (kind !== "list" && kind !== "map") return 1;
  return Math.max(1, Object.keys(visible !== null && typeof visible === "object" ? visible : {}).length);
}

const countOf = (rows: Row[]) => rows.reduce((sum, row) => sum + valuesOf(row), 0);

export const valuesIn = (groups: Group[]) => groups.reduce((sum, group) => sum + countOf(group.rows), 0);

/**
 * Returns the matching rows with the groups around them. If the name of a group matches, all of it is kept.
 * @param shown the displayed value, if it differs from the stored one
 */
export function findRows(groups: Group[], words: string[], shown: (row: Row) => string): FoundRows {
  const sift = (row: Row, around: string): Row[] => {
    const named = [around, row.label, row.path, row.description].join("\n");
    if (fits(words, named)) return [row];
    if (row.kind !== "group") return fits(words, [named, shown(row), compactJson(row.visible)].join("\n")) ? [row] : [];
    const rows = row.rows.flatMap((inner) => sift(inner, named));
    return rows.length > 0 ? [{ ...row, rows }] : [];
  };
  const matches = groups
    .map((group) => ({ ...group, rows: group.rows.flatMap((row) => sift(row, `${group.title}\n${group.plugin}`)) }))
    .filter(({ rows }) => rows.length > 0);
  return { groups: matches, found: valuesIn(matches) };
}
