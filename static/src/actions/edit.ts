// Editing the text of a message. Unsaved text is kept until it is saved or discarded, even if the message disappears.
import { watchFocus } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { writeStored } from "../lib/storage.ts";
import { dismiss, notices, notify } from "../model/page.ts";
import { deleteUnsavedEdits, saveUnsavedEdit, unsavedEditOf, deleteSavedEdit } from "../model/message-edits.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/api.ts";
import { shownIds } from "../tree/shown-branch.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { refresh, sid } from "./session-sync.ts";
import { navigate } from "./navigation.ts";
import { canRequestReply, offerBranchHint, saveDraft } from "./turn.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** Returns the initial text of the edit field: unsaved text, if any. */
export const initialEditText = (node: ChatNode) => unsavedEditOf(node.id) ?? node.content;

export const keepTypedEdit = (node: ChatNode, text: string) =>
  saveUnsavedEdit(node.id, text === node.content ? null : text);

/** Discards an edit. A notice offers to get the text back, in case the key was a mistake. */
export function cancelEdit({ id }: ChatNode) {
  const text = unsavedEditOf(id);
  saveUnsavedEdit(id, null);
  store.setEditedMessage(null);
  store.setFocusNext(id);
  if (text !== null)
    notify({
      tone: "quiet",
      text: t("notice.givenUp"),
      action: { label: "notice.typeOn", run: () => reopenEdit(id, text) },
    });
}

/**
 * Opens the edit field again.
 * @param text the unsaved text
 */
function reopenEdit(id: Id, text: string) {
  if (!shownIds.peek().includes(id)) return notify({ tone: "quiet", text: t("notice.goneOn") });
  saveUnsavedEdit(id, text);
  store.setEditedMessage(id);
}

/** The message that is being saved. Its old version leaves the branch for a known reason. */
let saving: Id | null = null;

/**
 * Saves a new text.
 * @param carry whether the following messages move below the new version
 */
export async function edit(node: ChatNode, content: string, carry: boolean) {
  saving = node.id;
  const isStill = watchFocus();
  const started = await attempt(() => api.edit(sid(), node.id, { content, carry }));
  saving = null;
  if (!started) {
    watchEditedMessage();
    return false;
  }
  deleteSavedEdit(node.id);
  // The user may already be editing another message.
  if (store.editedMessage.peek() === node.id) store.setEditedMessage(null);
  if (!carry) store.applyStarted(started);
  await refresh();
  if (started.node && isStill()) store.setFocusNext(started.node.id);
  offerBranchHint();
  return true;
}

/** Keeps the unsaved text if the edited message leaves the screen, through the user or somebody else. */
export function watchEditedMessage() {
  const id = store.editedMessage.peek();
  const at = store.session.peek()?.id;
  if (id === null || at === undefined || id === saving || shownIds.peek().includes(id)) return;
  store.setEditedMessage(null);
  const text = unsavedEditOf(id);
  if (text === null) return;
  notify({
    tone: "quiet",
    stays: true,
    text: t("notice.wordsKept"),
    hint: t("notice.wordsKeptHint"),
    action: moveToFieldAction(at, id, text),
  });
}

/**
 * Returns the action that puts unsaved text into the text field.
 * @param at the session
 */
const moveToFieldAction = (at: Id, id: Id, text: string) => ({
  label: "notice.toField" as const,
  run: () => addToField(at, id, text),
});

/** Forgets unsaved text of purged messages. A notice here still offers the text to the user who typed it. */
export function forgetUnsavedEdits(ids: Id[]) {
  const at = store.session.peek()?.id ?? "";
  for (const id of ids) {
    const text = unsavedEditOf(id);
    deleteUnsavedEdits(id);
    if (store.editedMessage.peek() === id) store.setEditedMessage(null);
    if (text === null) continue;
    for (const notice of notices.peek()) if (notice.text === t("notice.wordsKept")) dismiss(notice.id);
    notify({
      tone: "quiet",
      stays: true,
      text: t("notice.wordsGone"),
      hint: t("notice.wordsGoneHint"),
      action: moveToFieldAction(at, id, text),
    });
  }
}

/**
 * Puts text into the text field of the session, below the text that is already there.
 * @param at the session
 */
function addToField(at: Id, id: Id, text: string) {
  saveUnsavedEdit(id, null);
  if (store.session.peek()?.id === at) return saveDraft([store.draft.peek().trim(), text].filter(Boolean).join("\n\n"));
  writeStored(`draft.${at}`, text);
  navigate(`/s/${at}`);
}

register({
  id: "message.edit",
  label: "command.edit",
  icon: "edit",
  scope: "message",
  keys: ["e"],
  enabled: ({ node }) => canRequestReply(node) && node?.status === "complete" && node.kind !== "merge",
  run: ({ node }) => {
    // A discarded edit can be restored until the next edit begins.
    for (const notice of notices.peek()) if (notice.text === t("notice.givenUp")) dismiss(notice.id);
    store.setEditedMessage(node?.id ?? null);
  },
});
