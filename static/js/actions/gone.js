// What the page does when text was thrown away for good, here or elsewhere: it keeps none of it, and shows none of it.
import { t } from "../lib/i18n.js";
import { carry, moving } from "../model/arrangement.js";
import { speak, tell } from "../model/page.js";
import { begunHere } from "../model/rewording.js";
import * as story from "../model/story.js";
import { ApiError, oneNode } from "../net/api.js";
import * as api from "../net/arrange.js";
import { dropWords } from "./edit.js";
import { hear, refresh } from "./follow.js";
import { readLibrary } from "./library.js";
import { navigate } from "./travel.js";

/** @import { Frame, Id } from "../lib/wire.d.ts" */

/** @param {Frame} frame @returns {Id[]} what was thrown away for good */
const goneBy = (frame) =>
  frame.type !== "tree.changed" || frame.operation?.kind !== "purge" ? [] : (frame.operation.effects ?? []).flatMap(({ purged, below = [] }) => (purged ? [purged, ...below] : []));

/** Other tabs of the browser, which may show other stories or none: their lists have beginnings of texts too. */
const tabs = new BroadcastChannel("clotho.purged");
tabs.onmessage = forgetTexts;

function forgetTexts() {
  speak("");
  story.textsGone();
  void readLibrary();
}

hear((frame) => {
  const gone = goneBy(frame);
  if (gone.length === 0) return;
  tabs.postMessage(null);
  forgetTexts();
  dropWords(gone);
  for (const id of gone) story.putUnread(id, false);
  if (gone.includes(story.watched.peek() ?? "")) story.unwatch();
  if (gone.includes(story.peek.peek() ?? "")) {
    story.leavePeek();
    navigate(`/s/${story.session.peek()?.id}`, true);
  }
  const piece = moving.peek()?.piece;
  if (piece && "nodeId" in piece && gone.includes(piece.nodeId)) {
    carry(null);
    tell({ tone: "quiet", text: t("moving.gone") });
  }
  void refresh().then(() => story.forgetNodes(gone));
});

/** What was begun in the story that was opened: of messages that are gone for good meanwhile it is kept no longer. */
export async function lookAfterWords() {
  const id = story.session.peek()?.id;
  for (const nid of begunHere()) {
    const isGone = id && story.peekNode(nid) === null && (await isNowhere(() => oneNode(id, nid))) && (await isNowhere(() => api.purge(id, { nodeId: nid })));
    if (isGone && story.session.peek()?.id === id) dropWords([nid]);
  }
}

/** What lies in the stash or was taken back could still be thrown away; of what is gone the server knows nothing. @param {() => Promise<unknown>} ask */
const isNowhere = (ask) => ask().then(() => false, (error) => error instanceof ApiError && (error.status === 404 || error.status === 410));
