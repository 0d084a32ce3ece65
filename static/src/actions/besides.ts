// What an edit did besides what was asked for: to the world, and to other timelines.
import { t } from "../lib/i18n.ts";
import { head } from "../model/story.ts";
import { isThere, labelOf, nameOf, rows, seenOf } from "../model/world.ts";
import type { Arranged, WorldChange } from "../lib/wire.d.ts";

/** So many values are named. */
const NAMED = 3;

/** One sentence or two, or "" where it did nothing else. */
export const besides = ({ worldChanges, affected, refused = [] }: Pick<Arranged, "worldChanges"> & Partial<Arranged>) =>
  [
    worldWords(worldChanges),
    affected && affected.count > 0 ? t("arranged.affected", { n: affected.count }) : "",
    refusedWords(refused),
  ]
    .filter(Boolean)
    .join(" ");

/** What the rules of this story leave out of a copy. */
function refusedWords(refused: Arranged["refused"]) {
  if (refused.length === 0) return "";
  const names = [...new Set(refused.map(({ path }) => labelOf(path)).filter(Boolean))].slice(0, NAMED);
  return [t("arranged.refused", { n: refused.length }), names.join(", ")].filter(Boolean).join(" ");
}

/** @param changed at HEAD, at names and where something hangs now */
function worldWords(changed: WorldChange[]) {
  const changes = changed.map(seenOf).filter(isThere);
  if (changes.length === 0) return "";
  const here = changes.filter(({ nodeId }) => nodeId === head.peek());
  const told = here.length > 0 ? here : changes;
  const [first] = told;
  const places = told.filter(({ nodeId }) => nodeId === first?.nodeId);
  const words = places.map(changeWords).filter(Boolean).slice(0, NAMED);
  const all = t(here.length > 0 ? "arranged.world" : "arranged.worldThere", { n: places.length });
  return words.length > 0 ? `${all} ${words.join(", ")}${places.length > words.length ? " …" : "."}` : all;
}

/** "Hit points 20 → 13", or "" where the reader knows no name for it. */
function changeWords({ path, before, after }: WorldChange) {
  const label = labelOf(path);
  const value = (it: typeof before) => (it === undefined || it === null ? "–" : nameOf(rows.peek().get(path), it));
  return label === null ? "" : `${label} ${value(before)} → ${value(after)}`;
}
