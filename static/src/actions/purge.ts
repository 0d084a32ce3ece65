// Throwing away for good: the one thing that nothing takes back. It is asked about first, with what would go.
import { t } from "../lib/i18n.ts";
import { openDialog, tell } from "../model/page.ts";
import * as story from "../model/story.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { isLinear } from "../tree/line.ts";
import { register } from "./commands.ts";
import { attempt } from "./failure.ts";
import { refresh, sid } from "./follow.ts";
import { readArrangement } from "./stash.ts";
import type { Losses, Piece } from "../lib/wire.d.ts";

/** What would go, and the operation at which that was so. */
export async function lossesOf(piece: Piece): Promise<{ losses: Losses; op: number } | undefined> {
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

/** Destroys a piece, unless the story has changed since the reader was told what would go. */
export async function purge(piece: Piece, op: number) {
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
  enabled: ({ node }) =>
    node !== null &&
    node.status !== "generating" &&
    node.kind !== "change" &&
    story.peek.value === null &&
    !isLinear.value,
  run: ({ node }) => node && openDialog({ kind: "purge", nid: node.id }),
});
