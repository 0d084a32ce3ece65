// Texts about the side effects of an edit: changes of the state, and other branches that it affects.
import { t } from "../lib/i18n.ts";
import { head } from "../model/session-store.ts";
import { isNotNull, labelOf, valueText, rows, visibleChange } from "../model/world.ts";
import type { TreeEditsResult, WorldChange } from "../lib/wire.d.ts";

/** Maximum number of values that are named. */
const MAX_NAMED = 3;

/** Returns one or more sentences, or "" if the edit had no side effects. */
export const editEffectsText = ({
  worldChanges,
  affected,
  refused = [],
}: Pick<TreeEditsResult, "worldChanges"> & Partial<TreeEditsResult>) =>
  [
    stateChangesText(worldChanges),
    affected && affected.count > 0 ? t("arranged.affected", { n: affected.count }) : "",
    refusedText(refused),
  ]
    .filter(Boolean)
    .join(" ");

/** Returns a sentence about the operations that the rules of this session left out of a copy. */
function refusedText(refused: TreeEditsResult["refused"]) {
  if (refused.length === 0) return "";
  const names = [...new Set(refused.map(({ path }) => labelOf(path)).filter(Boolean))].slice(0, MAX_NAMED);
  return [t("arranged.refused", { n: refused.length }), names.join(", ")].filter(Boolean).join(" ");
}

/**
 * Returns a sentence about the changed values, preferably those at HEAD.
 * @param changed changes at HEAD, at labels and at the new places of moved messages
 */
function stateChangesText(changed: WorldChange[]) {
  const changes = changed.map(visibleChange).filter(isNotNull);
  if (changes.length === 0) return "";
  const here = changes.filter(({ nodeId }) => nodeId === head.peek());
  const shown = here.length > 0 ? here : changes;
  const [first] = shown;
  const places = shown.filter(({ nodeId }) => nodeId === first?.nodeId);
  const words = places.map(stateChangeText).filter(Boolean).slice(0, MAX_NAMED);
  const all = t(here.length > 0 ? "arranged.world" : "arranged.worldThere", { n: places.length });
  return words.length > 0 ? `${all} ${words.join(", ")}${places.length > words.length ? " …" : "."}` : all;
}

/** Returns a text like "Hit points 20 → 13", or "" if the value has no name that the user knows. */
function stateChangeText({ path, before, after }: WorldChange) {
  const label = labelOf(path);
  const value = (it: typeof before) => (it === undefined || it === null ? "–" : valueText(rows.peek().get(path), it));
  return label === null ? "" : `${label} ${value(before)} → ${value(after)}`;
}
