// Who goes back into a run of messages that a summary stands for leaves the summary behind: the model reads neither then.
import { t } from "../lib/i18n.js";
import { tell } from "../model/page.js";
import * as story from "../model/story.js";
import { stepped } from "../model/trail.js";
import * as api from "../net/arrange.js";
import { attempt } from "./failure.js";
import { refresh, sid } from "./follow.js";
import { say } from "./stash.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** Offers to let the model read them again. @param {Id[]} before the line before the move @returns {boolean} whether there are such messages */
export function offerReading(before) {
  const now = new Set(story.line.peek());
  const left = before.map(story.peekNode).filter((node) => node?.kind === "summary" && node.isEnabled !== false && !now.has(node.id));
  const ids = left.flatMap((node) => node?.metadata?.summarizedFrom ?? []).filter((id) => now.has(id) && story.peekNode(id)?.isEnabled === false);
  if (ids.length === 0) return false;
  tell({ tone: "quiet", stays: true, text: t("notice.neither", { n: ids.length }), act: { label: "chosen.putBack", run: () => void readAgain(ids) } });
  return true;
}

/** @param {Id[]} ids */
async function readAgain(ids) {
  const made = await attempt(() => api.setStates(sid(), ids, { isEnabled: true }));
  if (!made) return;
  stepped(made.op);
  await refresh();
  say(made, "notice.marked");
}
