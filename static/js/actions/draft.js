// Lets a model draft what the reader could say next: the words come into the field, and are the reader's from there on.
import { drafting, putDrafting } from "../model/drafting.js";
import { tell } from "../model/page.js";
import * as story from "../model/story.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/arrange.js";
import { writing } from "../tree/line.js";
import { register } from "./commands.js";
import { attempt, wordsFor } from "./failure.js";
import { hear, sid } from "./follow.js";
import { writeDraft } from "./turn.js";

/** @import { Draft, DraftPiece, Id } from "../lib/wire.d.ts" */

async function begin() {
  const id = sid();
  putDrafting({ sid: id, id: null, text: "", status: "waiting", place: 1 });
  const begun = await attempt(() => api.impersonate(id));
  const at = drafting.peek();
  if (!begun) return at?.id === null && putDrafting(null);
  if (at && at.id === null) putDrafting({ ...at, id: begun.draftId });
  else if (!at) return;
  // A quick one may have ended before it had a name here.
  await catchUp(id, begun.draftId);
}

/** Reads a draft as far as it is. @param {Id} id @param {Id} did */
async function catchUp(id, did) {
  const whole = await api.draft(id, did).catch(() => null);
  if (whole && drafting.peek()?.id === did && whole.content.length >= (drafting.peek()?.text.length ?? 0)) grown(whole, whole.content);
}

hear((frame) => {
  const at = drafting.peek();
  if (frame.type === "hello" && at?.id) void catchUp(at.sid, at.id);
  if (frame.type === "draft.updated") heard(frame);
});

/** @param {DraftPiece} piece */
function heard(piece) {
  const at = drafting.peek();
  if (!at || (at.id !== null && at.id !== piece.id)) return;
  if (piece.offset > at.text.length) return void catchUp(at.sid, piece.id);
  const rest = piece.contentChunk.slice(at.text.length - piece.offset);
  putDrafting({ ...at, id: piece.id });
  grown(piece, at.text + rest);
}

/** @param {Pick<Draft, "status" | "queuePosition" | "error">} draft @param {string} text */
function grown({ status, queuePosition, error }, text) {
  const at = drafting.peek();
  if (!at) return;
  // Who writes into it meanwhile has taken it over.
  if (story.draft.peek() !== at.text) return stop();
  writeDraft(text);
  const isOver = status === "done" || status === "error";
  putDrafting(isOver ? null : { ...at, text, status, place: queuePosition ?? 1 });
  if (isOver) story.focusField();
  if (error) tell({ tone: "error", ...wordsFor(new ApiError(502, error)) });
}

/** What has come stays in the field. */
function stop() {
  const at = drafting.peek();
  putDrafting(null);
  if (at?.id) void api.stopDraft(at.sid, at.id).catch(() => null);
  story.focusField();
}

register({
  id: "turn.draft",
  label: "command.draft",
  icon: "draft",
  scope: "page",
  keys: ["mod+j"],
  enabled: () =>
    story.session.value !== null && !story.session.value.model?.startsWith("plugin:") && story.online.value && story.draft.value === "" &&
    drafting.value === null && writing.value === null && story.peek.value === null && !story.sending.value,
  run: begin,
});

register({
  id: "turn.stopDraft",
  label: "command.stopDraft",
  icon: "stop",
  scope: "page",
  keys: ["mod+."],
  enabled: () => drafting.value !== null,
  run: stop,
});
