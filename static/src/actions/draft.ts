// Lets a model draft the user's next message. The text goes into the text field, where the user can change it.
import { drafting, putDrafting } from "../model/drafting.ts";
import * as story from "../model/story.ts";
import * as api from "../net/arrange.ts";
import { writing } from "../tree/line.ts";
import { register } from "./commands.ts";
import { follow } from "./drafts.ts";
import { sid } from "./follow.ts";
import { writeDraft } from "./turn.ts";
import type { Growing } from "./drafts.ts";

/** Stops the current draft. */
let end = () => {};

function begin() {
  const id = sid();
  putDrafting({ sid: id, text: "", status: "waiting", place: 1 });
  end = follow(() => api.impersonate(id), grown);
}

function grown({ text, status, place }: Growing) {
  const at = drafting.peek();
  if (!at) return;
  // If the user types meanwhile, the draft stops.
  if (story.draft.peek() !== at.text) return stop();
  writeDraft(text);
  const isOver = status === "done" || status === "error";
  putDrafting(isOver ? null : { ...at, text, status, place });
  if (isOver) story.focusField();
}

/** Stops the draft. The text so far stays in the field. */
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
