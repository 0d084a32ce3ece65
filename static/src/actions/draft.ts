// Lets a model draft what the reader could say next: the words come into the field, and are the reader's from there on.
import { drafting, putDrafting } from "../model/drafting.ts";
import * as story from "../model/story.ts";
import * as api from "../net/arrange.ts";
import { writing } from "../tree/line.ts";
import { register } from "./commands.ts";
import { follow } from "./drafts.ts";
import { sid } from "./follow.ts";
import { writeDraft } from "./turn.ts";
import type { Growing } from "./drafts.ts";

/** Stops the draft that is being written. */
let end = () => {};

function begin() {
  const id = sid();
  putDrafting({ sid: id, text: "", status: "waiting", place: 1 });
  end = follow(() => api.impersonate(id), grown);
}

function grown({ text, status, place }: Growing) {
  const at = drafting.peek();
  if (!at) return;
  // Who writes into it meanwhile has taken it over.
  if (story.draft.peek() !== at.text) return stop();
  writeDraft(text);
  const isOver = status === "done" || status === "error";
  putDrafting(isOver ? null : { ...at, text, status, place });
  if (isOver) story.focusField();
}

/** What has come stays in the field. */
function stop() {
  putDrafting(null);
  end();
  story.focusField();
}

register({
  id: "turn.draft",
  label: "command.draft",
  icon: "draft",
  scope: "page",
  keys: ["mod+j"],
  enabled: () =>
    story.session.value !== null &&
    !story.session.value.model?.startsWith("plugin:") &&
    story.online.value &&
    story.draft.value === "" &&
    drafting.value === null &&
    writing.value === null &&
    story.peek.value === null &&
    !story.sending.value,
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
