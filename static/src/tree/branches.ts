// Names of branches.
import { excerpt } from "../lib/excerpt.ts";
import { t } from "../lib/i18n.ts";
import { quoteText } from "../lib/hidden-tags.ts";
import { labelsOf } from "../model/arrangement.ts";
import type { Branch, Id } from "../lib/wire.d.ts";

/**
 * Names each branch: its label, or the start of its newest message. If several have the same name, the newest has it
 * alone and the others get a number.
 * @param branches newest first
 * @param most characters
 */
export function namesOf(branches: Pick<Branch, "leafId" | "preview">[], most?: number): Map<Id, string> {
  const seen: Map<string, number> = new Map();
  return new Map(
    branches.map(({ leafId, preview }) => {
      const name = labelsOf(leafId)[0]?.name ?? (excerpt(quoteText(preview), most) || t("stash.nameless"));
      const n = (seen.get(name) ?? 0) + 1;
      seen.set(name, n);
      return [leafId, n === 1 ? name : t("branches.alike", { name, n })];
    }),
  );
}
