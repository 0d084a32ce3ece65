// A summary in the place of a run of messages: what they did stays, and so do they, behind it.
import { openDialog } from "../model/page.js";
import { choose } from "../model/arrangement.js";
import * as story from "../model/story.js";
import * as api from "../net/arrange.js";
import { canArrange, isRead } from "./arrange.js";
import { register } from "./commands.js";
import { follow } from "./drafts.js";
import { loadOlder, sid } from "./follow.js";
import { arrange, say } from "./stash.js";

/** @import { Growing } from "./drafts.js" */
/** @import { Id } from "../lib/wire.d.ts" */

/** Whether a model can be asked for the text. */
export const canDraft = () => isRead() && Boolean(story.session.value?.model);

/** @param {Id[]} nodeIds @param {(now: Growing) => void} grown @returns {() => void} stops it */
export const draftSummary = (nodeIds, grown) => follow(() => api.summarise(sid(), nodeIds), grown);

/** @param {Id[]} nodeIds @param {string} content */
export async function summarise(nodeIds, content) {
  const made = await arrange([{ op: "summarise", nodeIds, content }]);
  if (!made) return false;
  openDialog(null);
  choose(null);
  const [summary] = made.nodeIds;
  if (summary) story.pointAt(summary);
  say(made, "notice.summarised");
  return true;
}

/** So many messages are read at once, to choose the first from. */
const PAGE = 500;

export const readFurther = () => loadOlder(PAGE);

register({
  id: "message.summarise",
  label: "command.summarise",
  icon: "summarise",
  scope: "message",
  rearranges: true,
  enabled: ({ node }) => canArrange(node) && isRead(),
  run: ({ node }) => node && openDialog({ kind: "summarise", first: null, last: node.id }),
});
