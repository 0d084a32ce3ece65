// Lets a model draft the user's next message. The text goes into the text field, where the user can change it.
import { impersonation, setImpersonation } from "../model/impersonation.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/arrange.ts";
import { writtenReply } from "../tree/shown-branch.ts";
import { register } from "./commands.ts";
import { startDraft } from "./model-drafts.ts";
import { sid } from "./session-sync.ts";
import { saveDraft } from "./turn.ts";
import type { DraftProgress } from "./model-drafts.ts";

/** Stops the current draft. */
let stopRequest = () => {};

function startImpersonation() {
  const id = sid();
  setImpersonation({ sid: id, text: "", status: "waiting", place: 1 });
  stopRequest = startDraft(() => api.impersonate(id), updateField);
}

function updateField({ text, status, place }: DraftProgress) {
  const at = impersonation.peek();
  if (!at) return;
  // If the user types meanwhile, the draft stops.
  if (store.draft.peek() !== at.text) return stopImpersonation();
  saveDraft(text);
  const isOver = status === "done" || status === "error";
  setImpersonation(isOver ? null : { ...at, text, status, place });
  if (isOver) store.requestFieldFocus();
}

/** Stops the draft. The text so far stays in the field. */
function stopImpersonation() {
  setImpersonation(null);
  stopRequest();
  store.requestFieldFocus();
}

register({
  id: "turn.draft",
  label: "command.draft",
  icon: "draft",
  scope: "page",
  keys: ["mod+j"],
  enabled: () =>
    store.session.value !== null &&
    !store.session.value.model?.startsWith("plugin:") &&
    store.online.value &&
    store.draft.value === "" &&
    impersonation.value === null &&
    writtenReply.value === null &&
    store.viewedLeaf.value === null &&
    !store.sending.value,
  run: startImpersonation,
});

register({
  id: "turn.stopDraft",
  label: "command.stopDraft",
  icon: "stop",
  scope: "page",
  keys: ["mod+."],
  enabled: () => impersonation.value !== null,
  run: stopImpersonation,
});
