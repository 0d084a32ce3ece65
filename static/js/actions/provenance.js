// From what was made of messages to the messages themselves.
import { t } from "../lib/i18n.js";
import { tell } from "../model/page.js";
import * as story from "../model/story.js";
import * as api from "../net/api.js";
import { loadUpTo, navigate } from "./travel.js";
import { sid } from "./follow.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** Brings the first message that a summary stands for into view, wherever it hangs now. @param {Id[]} ids */
export async function toOriginals([first]) {
  if (!first) return;
  await loadUpTo(first);
  if (story.line.peek().includes(first)) story.pointAt(first);
  else await lookAt(sid(), first);
}

/** Shows the line of a message, unless nothing is left of it; the story stays where it is. @param {Id} id @param {Id} nid */
export async function lookAt(id, nid) {
  const isGone = await api.oneNode(id, nid).then(() => false, isNowhere);
  // A story that lies in the trash says so itself.
  if (isGone && (await api.session(id).catch(() => null))) tell({ tone: "quiet", text: t("notice.originalGone") });
  else navigate(`/s/${id}/${nid}`);
}

/** @param {unknown} error */
const isNowhere = (error) => error instanceof api.ApiError && (error.status === 404 || error.status === 410);
