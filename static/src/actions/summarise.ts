// Replacing a run of messages with a summary. Their effects stay, and the messages stay behind it.
import { openDialog } from "../model/page.ts";
import { setSelectedIds } from "../model/arrangement.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/arrange.ts";
import { canArrange, isRead } from "./arrange.ts";
import { register } from "./commands.ts";
import { follow } from "./drafts.ts";
import { loadOlder, sid } from "./follow.ts";
import { arrange, say } from "./stash.ts";
import type { Growing } from "./drafts.ts";
import type { Id } from "../lib/wire.d.ts";

/** Returns whether a model can draft the text. */
export const canDraft = () => isRead() && Boolean(store.session.value?.model);

/**
 * Drafts a summary.
 * @returns a function that stops the draft
 */
export const draftSummary = (nodeIds: Id[], grown: (now: Growing) => void): (() => void) =>
  follow(() => api.summarise(sid(), nodeIds), grown);

export async function summarise(nodeIds: Id[], content: string) {
  const made = await arrange([{ op: "summarise", nodeIds, content }]);
  if (!made) return false;
  openDialog(null);
  setSelectedIds(null);
  const [summary] = made.nodeIds;
  if (summary) store.scrollTo(summary);
  say(made, "notice.summarised");
  return true;
}

/** Number of messages to load at once, to choose the first from. */
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
