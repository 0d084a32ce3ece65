// Lists of many characters: search, order and tags.
import type { Character } from "./wire.d.ts";

const foldCase = (text: string) => text.normalize("NFKC").toLowerCase();

/** Returns the characters that have all tags and contain all words. With `favourites`, only favourites. */
export function filterCharacters(
  all: Character[],
  { words, tags, favourites }: { words: string; tags: string[]; favourites: boolean },
) {
  const parts = foldCase(words).split(/\s+/).filter(Boolean);
  const has = (one: Character) => {
    const text =
      parts.length > 0
        ? foldCase([one.name, ...(one.tags ?? []), one.description, one.scenario, one.creatorNotes].join("\n"))
        : "";
    return (
      (one.isFavourite || !favourites) &&
      tags.every((tag) => one.tags?.includes(tag)) &&
      parts.every((part) => text.includes(part))
    );
  };
  return parts.length + tags.length > 0 || favourites ? all.filter(has) : all;
}

/** Moves favourites to the front. The order is otherwise unchanged. */
export const favouritesFirst = (all: Character[]) => [
  ...all.filter((one) => one.isFavourite),
  ...all.filter((one) => !one.isFavourite),
];

/**
 * Sorts characters. Favourites come first, sorted in the same way.
 * @param played the time of the last session of each; those without come last, by name
 */
export function sortCharacters(all: Character[], order: "newest" | "name" | "played", played: Map<string, string>) {
  // Ids grow with time.
  if (order === "newest") return favouritesFirst(all.toSorted((a, b) => (a.id < b.id ? 1 : -1)));
  const { compare } = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const when = ({ id }: Character) => (order === "played" ? (played.get(id) ?? "") : "");
  return favouritesFirst(
    all.toSorted((a, b) => (when(a) === when(b) ? compare(a.name, b.name) : when(a) < when(b) ? 1 : -1)),
  );
}

/** Returns the chosen tags and the most frequent other tags. */
export function tagsOf(all: Character[], chosen: string[], most: number) {
  const counts: Map<string, number> = new Map();
  for (const { tags = [] } of all) for (const tag of new Set(tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const often = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).map(([tag]) => tag);
  return [...chosen, ...often.filter((tag) => !chosen.includes(tag))].slice(0, Math.max(most, chosen.length));
}
