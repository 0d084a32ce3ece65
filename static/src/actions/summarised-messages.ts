// Going back to a message that a summary covers leaves the summary behind. The model then reads neither of them.
import { addEnglish, t } from "../lib/i18n.ts";
import storyTexts from "../lib/strings/en-story.ts";
import editsTexts from "../lib/strings/en-edit.ts";
import { notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { recordStep } from "../model/head-moves.ts";
import * as api from "../net/arrange.ts";
import { attempt } from "./error-text.ts";
import { refresh, sid } from "./session-sync.ts";
import { notifyEdit } from "./stash.ts";
import type { Id } from "../lib/wire.d.ts";

addEnglish(storyTexts);
addEnglish(editsTexts);

/**
 * Offers to enable the messages again.
 * @param before the branch before the move
 * @returns whether there are such messages
 */
export function offerToEnableSummarised(before: Id[]): boolean {
  const now = new Set(store.branch.peek());
  const left = before
    .map(store.peekNode)
    .filter((node) => node?.kind === "summary" && node.isEnabled !== false && !now.has(node.id));
  const ids = left
    .flatMap((node) => node?.metadata?.summarizedFrom ?? [])
    .filter((id) => now.has(id) && store.peekNode(id)?.isEnabled === false);
  if (ids.length === 0) return false;
  notify({
    tone: "quiet",
    stays: true,
    text: t("notice.neither", { n: ids.length }),
    action: { label: "chosen.putBack", run: () => void enableMessages(ids) },
  });
  return true;
}

async function enableMessages(ids: Id[]) {
  const result = await attempt(() => api.setStates(sid(), ids, { isEnabled: true }));
  if (!result) return;
  recordStep(result.op);
  await refresh();
  notifyEdit(result, "notice.marked");
}
