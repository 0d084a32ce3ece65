// Merging: applying what happened on another branch since the fork.
import { openDialog, notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as world from "../net/api.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { recordStep } from "../model/head-moves.ts";
import { isLinear } from "../tree/shown-branch.ts";
import { register } from "./commands.ts";
import { attempt, errorText } from "./error-text.ts";
import { refresh, sid } from "./session-sync.ts";
import { readArrangement, notifyEdit } from "./stash.ts";
import { navigate } from "./navigation.ts";
import type { Conflict, Id, Json, TreeEdit } from "../lib/wire.d.ts";

/**
 * Merges another branch into the current one.
 * @param nodeIds messages to copy; empty: only the operations
 * @returns the conflicts to resolve first; null if there are none or the merge failed
 */
export async function merge(
  fromLeafId: Id,
  nodeIds: Id[],
  resolve: { [path: string]: Json },
): Promise<Conflict[] | null> {
  const [id, ontoLeafId] = [sid(), store.head.peek()];
  if (!ontoLeafId) return null;
  const edit: TreeEdit = {
    op: "merge",
    fromLeafId,
    ontoLeafId,
    ...(nodeIds.length > 0 && { nodeIds }),
    ...(Object.keys(resolve).length > 0 && { resolve }),
  };
  try {
    const result = await api.arrange(id, [edit]);
    recordStep(result.op);
    openDialog(null);
    navigate(`/s/${id}`, true);
    store.stopViewingBranch();
    await Promise.all([refresh(), readArrangement()]);
    const end = result.nodeIds.at(-1);
    if (end && store.session.peek()?.id === id) store.scrollTo(end);
    notifyEdit(result, "notice.merged");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "conflict" && error.details.conflicts) return error.details.conflicts;
    notify({ tone: "error", ...errorText(error) });
  }
  return null;
}

/** Returns the variables at the ends of both branches. */
export async function readBoth(theirs: Id) {
  const [id, ours] = [sid(), store.head.peek()];
  const both = ours && (await attempt(() => Promise.all([world.world(id, theirs), world.world(id, ours)])));
  return both ? { theirs: both[0].world.vars, ours: both[1].world.vars } : { theirs: {}, ours: {} };
}

/**
 * Opens the merge dialog.
 * @param from the leaf of the other branch
 */
export const openMergeDialog = (from: Id) => openDialog({ kind: "merge", from });

register({
  id: "message.merge",
  label: "command.merge",
  icon: "merge",
  scope: "message",
  rearranges: true,
  enabled: ({ node }) =>
    node?.status === "complete" && store.viewedLeaf.value !== null && store.head.value !== null && !isLinear.value,
  run: () => {
    const from = store.viewedLeaf.peek();
    if (from) openMergeDialog(from);
  },
});
