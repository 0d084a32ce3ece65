// From what was made of messages to the messages themselves.
import * as story from "../model/story.js";
import { loadUpTo, navigate } from "./travel.js";
import { sid } from "./follow.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** Brings the first message that a summary stands for into view, wherever it hangs now. @param {Id[]} ids */
export async function toOriginals([first]) {
  if (!first) return;
  await loadUpTo(first);
  if (story.line.peek().includes(first)) story.pointAt(first);
  else lookAt(sid(), first);
}

/** Shows the line of a message; the story stays where it is. @param {Id} id @param {Id} nid */
export const lookAt = (id, nid) => navigate(`/s/${id}/${nid}`);
