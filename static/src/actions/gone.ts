// What the page does when text was thrown away for good, here or elsewhere: it keeps none of it, and shows none of it.
import { t } from "../lib/i18n.ts";
import { carry, moving } from "../model/arrangement.ts";
import { speak, tell } from "../model/page.ts";
import { begunHere } from "../model/rewording.ts";
import * as story from "../model/story.ts";
import { ApiError, oneNode } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { dropWords } from "./edit.ts";
import { hear, refresh } from "./follow.ts";
import { readLibrary } from "./library.ts";
import { navigate } from "./travel.ts";
import type { Frame, Id } from "../lib/wire.d.ts";

/** @returns what was thrown away for good */
const goneBy = (frame: Frame): Id[] =>
  frame.type !== "tree.changed" || frame.operation?.kind !== "purge"
    ? []
    : (frame.operation.effects ?? []).flatMap(({ purged, below = [] }) => (purged ? [purged, ...below] : []));

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
  void refresh().then(() => story.forgetNodes(gone));
});

hear((frame) => void (frame.type === "tree.changed" && refresh().then(lookAfterMoving)));

/** A message that was taken up here may be taken out of the story elsewhere. */
async function lookAfterMoving() {
  const what = moving.peek();
  const id = story.session.peek()?.id;
  if (!what || !id || what.from !== id || !("nodeId" in what.piece)) return;
  const { nodeId } = what.piece;
  if (story.line.peek().includes(nodeId) || !(await isNowhere(() => oneNode(id, nodeId))) || moving.peek() !== what)
    return;
  carry(null);
  tell({ tone: "quiet", text: t("moving.gone") });
}

/** What was begun in the story that was opened: of messages that are gone for good meanwhile it is kept no longer. */
export async function lookAfterWords() {
  const id = story.session.peek()?.id;
  for (const nid of begunHere()) {
    const isGone =
      id &&
      story.peekNode(nid) === null &&
      (await isNowhere(() => oneNode(id, nid))) &&
      (await isNowhere(() => api.purge(id, { nodeId: nid })));
    if (isGone && story.session.peek()?.id === id) dropWords([nid]);
  }
}

/** What lies in the stash or was taken back could still be thrown away; of what is gone the server knows nothing. */
const isNowhere = (ask: () => Promise<unknown>) =>
  ask().then(
    () => false,
    (error) => error instanceof ApiError && (error.status === 404 || error.status === 410),
  );
