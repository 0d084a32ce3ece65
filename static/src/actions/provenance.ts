// From what was made of messages to the messages themselves.
import { t } from "../lib/i18n.ts";
import { tell } from "../model/page.ts";
import * as story from "../model/story.ts";
import * as api from "../net/api.ts";
import { loadUpTo, navigate } from "./travel.ts";
import { sid } from "./follow.ts";
import type { Id } from "../lib/wire.d.ts";

/** Brings the first message that a summary stands for into view, wherever it hangs now. */
export async function toOriginals([first]: Id[]) {
  if (!first) return;
  await loadUpTo(first);
  if (story.line.peek().includes(first)) story.pointAt(first);
  else await lookAt(sid(), first);
}

/** Shows the line of a message, unless nothing is left of it; the story stays where it is. */
export async function lookAt(id: Id, nid: Id) {
  const isGone = await api.oneNode(id, nid).then(() => false, isNowhere);
  // A story that lies in the trash says so itself.
  if (isGone && (await api.session(id).catch(() => null))) tell({ tone: "quiet", text: t("notice.originalGone") });
  else navigate(`/s/${id}/${nid}`);
}

const isNowhere = (error: unknown) => error instanceof api.ApiError && (error.status === 404 || error.status === 410);
