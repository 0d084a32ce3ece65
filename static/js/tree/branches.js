// What the branches of a story are called.
import { excerpt } from "../lib/excerpt.js";
import { t } from "../lib/i18n.js";
import { quoted } from "../lib/tags.js";
import { labelsOf } from "../model/arrangement.js";

/** @import { Branch, Id } from "../lib/wire.d.ts" */

/**
 * The name of each: its own, or how its newest words begin. Of those that begin alike the newest has the words alone, the
 * others a number behind them.
 * @param {Pick<Branch, "leafId" | "preview">[]} branches the newest first
 * @param {number} [most] characters
 * @returns {Map<Id, string>}
 */
export function namesOf(branches, most) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return new Map(branches.map(({ leafId, preview }) => {
    const name = labelsOf(leafId)[0]?.name ?? (excerpt(quoted(preview), most) || t("stash.nameless"));
    const n = (seen.get(name) ?? 0) + 1;
    seen.set(name, n);
    return [leafId, n === 1 ? name : t("branches.alike", { name, n })];
  }));
}
