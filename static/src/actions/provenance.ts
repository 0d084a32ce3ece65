// Navigation from copies and summaries to the original messages.
import { t } from "../lib/i18n.ts";
import { notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/api.ts";
import { loadUpTo, navigate } from "./navigation.ts";
import { sid } from "./session-sync.ts";
import type { Id } from "../lib/wire.d.ts";

/** Scrolls to the first message that a summary covers, or views its branch. */
export async function showSummarised([first]: Id[]) {
  if (!first) return;
  await loadUpTo(first);
  if (store.branch.peek().includes(first)) store.scrollTo(first);
  else await viewOriginal(sid(), first);
}

/** Views the branch of a message without moving HEAD, unless nothing is left of it. */
export async function viewOriginal(id: Id, nid: Id) {
  const isGone = await api.readNode(id, nid).then(() => false, isMissing);
  // A session in the trash says so itself.
  if (isGone && (await api.session(id).catch(() => null))) notify({ tone: "quiet", text: t("notice.originalGone") });
  else navigate(`/s/${id}/${nid}`);
}

const isMissing = (error: unknown) => error instanceof api.ApiError && (error.status === 404 || error.status === 410);
