// Many characters: those that are looked for, in an order, and the tags they can be told apart by.

/** @import { Character } from "./wire.d.ts" */

/** @param {string} text */
const folded = (text) => text.normalize("NFKC").toLowerCase();

/** Those that have all tags, and all words somewhere; of the favourites only, where they are wanted. @param {Character[]} all @param {{words: string, tags: string[], favourites: boolean}} wanted */
export function lookedFor(all, { words, tags, favourites }) {
  const parts = folded(words).split(/\s+/).filter(Boolean);
  const has = (/** @type {Character} */ one) => {
    const text = parts.length > 0 ? folded([one.name, ...(one.tags ?? []), one.description, one.scenario, one.creatorNotes].join("\n")) : "";
    return (one.isFavourite || !favourites) && tags.every((tag) => one.tags?.includes(tag)) && parts.every((part) => text.includes(part));
  };
  return parts.length + tags.length > 0 || favourites ? all.filter(has) : all;
}

/** Favourites first, else in the order in which they came. @param {Character[]} all */
export const favouritesFirst = (all) => [...all.filter((one) => one.isFavourite), ...all.filter((one) => !one.isFavourite)];

/**
 * Favourites stand before the others, in the same order among themselves.
 * @param {Character[]} all
 * @param {"newest" | "name" | "played"} order
 * @param {Map<string, string>} played when each was last played; who is not in it comes after all others, by name
 */
export function inOrder(all, order, played) {
  // Ids grow with time.
  if (order === "newest") return favouritesFirst(all.toSorted((a, b) => (a.id < b.id ? 1 : -1)));
  const { compare } = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const when = (/** @type {Character} */ { id }) => (order === "played" ? (played.get(id) ?? "") : "");
  return favouritesFirst(all.toSorted((a, b) => (when(a) === when(b) ? compare(a.name, b.name) : when(a) < when(b) ? 1 : -1)));
}

/** The tags that most have, and those that are chosen. @param {Character[]} all @param {string[]} chosen @param {number} most */
export function tagsOf(all, chosen, most) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { tags = [] } of all) for (const tag of new Set(tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const often = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).map(([tag]) => tag);
  return [...chosen, ...often.filter((tag) => !chosen.includes(tag))].slice(0, Math.max(most, chosen.length));
}
