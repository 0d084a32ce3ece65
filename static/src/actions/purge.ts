// Purging: the only edit that cannot be undone. The user first sees what would be lost, and confirms.
import { t } from "../lib/i18n.ts";
import { openDialog, notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { isLinear } from "../tree/shown-branch.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { refresh, sid } from "./session-sync.ts";
import { readArrangement } from "./stash.ts";
import type { PurgeLosses, MoveSource } from "../lib/wire.d.ts";

/** Returns what a purge would delete, and the operation at which that was read. */
export async function readPurgeLosses(piece: MoveSource): Promise<{ losses: PurgeLosses; op: number } | undefined> {
  const id = sid();
  await refresh();
  const { newestOp } = store;
  try {
    await api.purge(id, piece);
  } catch (error) {
    if (error instanceof ApiError && error.details.field === "confirm") return { losses: error.details, op: newestOp };
    await attempt(() => Promise.reject(error));
  }
  return undefined;
}

/** Purges a part, unless the session changed since the user saw what would be lost. */
export async function purge(piece: MoveSource, op: number) {
  const id = sid();
  const result = await attempt(() => api.purge(id, piece, op));
  if (store.session.peek()?.id !== id) return true;
  await Promise.all([refresh(), readArrangement()]);
  if (!result) return false;
  if ("nodeId" in piece) openDialog(null);
  notify({ tone: "quiet", text: t("notice.purged") });
  return true;
}

register({
  id: "message.purge",
  label: "command.purge",
  icon: "shred",
  scope: "message",
  rearranges: true,
  enabled: ({ node }) =>
    node !== null &&
    node.status !== "generating" &&
    node.kind !== "change" &&
    store.viewedLeaf.value === null &&
    !isLinear.value,
  run: ({ node }) => node && openDialog({ kind: "purge", nid: node.id }),
});
