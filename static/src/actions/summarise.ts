// Replacing a run of messages with a summary. Their effects stay, and the messages stay behind it.
import { openDialog } from "../model/page.ts";
import { setSelectedIds } from "../model/arrangement.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/arrange.ts";
import { canArrange, isReadByModel } from "./message-state.ts";
import { register } from "./commands.ts";
import { startDraft } from "./model-drafts.ts";
import { loadOlder, sid } from "./session-sync.ts";
import { arrange, notifyEdit } from "./stash.ts";
import type { DraftProgress } from "./model-drafts.ts";
import type { Id } from "../lib/wire.d.ts";

/** Returns whether a model can draft the text. */
export const canDraft = () => isReadByModel() && Boolean(store.session.value?.model);

/**
 * Drafts a summary.
 * @returns a function that stops the draft
 */
export const draftSummary = (nodeIds: Id[], grown: (now: DraftProgress) => void): (() => void) =>
  startDraft(() => api.summarise(sid(), nodeIds), grown);

export async function summarise(nodeIds: Id[], content: string) {
  const result = await arrange([{ op: "summarise", nodeIds, content }]);
  if (!result) return false;
  openDialog(null);
  setSelectedIds(null);
  const [summary] = result.nodeIds;
  if (summary) store.scrollTo(summary);
  notifyEdit(result, "notice.summarised");
  return true;
}

/** Number of messages to load at once, to choose the first from. */
const PAGE_SIZE = 500;

export const readMoreMessages = () => loadOlder(PAGE_SIZE);

register({
  id: "message.summarise",
  label: "command.summarise",
  icon: "summarise",
  scope: "message",
  rearranges: true,
  enabled: ({ node }) => canArrange(node) && isReadByModel(),
  run: ({ node }) => node && openDialog({ kind: "summarise", first: null, last: node.id }),
});
