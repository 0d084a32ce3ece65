// Throwing away for good: the one thing that nothing takes back. It is asked about first, with what would go.
import { t } from "../lib/i18n.js";
import { openDialog, tell } from "../model/page.js";
import * as story from "../model/story.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/arrange.js";
import { isLinear } from "../tree/line.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";
import { refresh, sid } from "./follow.js";
import { readArrangement } from "./stash.js";

/** @import { Losses, Piece } from "../lib/wire.d.ts" */

/** What would go, and the operation at which that was so. @param {Piece} piece @returns {Promise<{losses: Losses, op: number} | undefined>} */
export async function lossesOf(piece) {
  const id = sid();
  await refresh();
  const { op } = story;
  try {
    await api.purge(id, piece);
  } catch (error) {
    if (error instanceof ApiError && error.details.field === "confirm") return { losses: error.details, op };
    await attempt(() => Promise.reject(error));
  }
  return undefined;
}

/** Destroys a piece, unless the story has changed since the reader was told what would go. @param {Piece} piece @param {number} op */
export async function purge(piece, op) {
  const id = sid();
  const made = await attempt(() => api.purge(id, piece, op));
  if (story.session.peek()?.id !== id) return true;
  await Promise.all([refresh(), readArrangement()]);
  if (!made) return false;
  if ("nodeId" in piece) openDialog(null);
  tell({ tone: "quiet", text: t("notice.purged") });
  return true;
}

register({
  id: "message.purge",
  label: "command.purge",
  icon: "shred",
  scope: "message",
  rearranges: true,
  enabled: ({ node }) => node !== null && node.status !== "generating" && node.kind !== "change" && story.peek.value === null && !isLinear.value,
  run: ({ node }) => node && openDialog({ kind: "purge", nid: node.id }),
});
