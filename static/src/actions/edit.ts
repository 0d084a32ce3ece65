// The text of a message, written anew. What is typed is kept until it is saved or given up, also when the message goes
// away.
import { watchFocus } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { remember } from "../lib/storage.ts";
import { dismiss, notices, tell } from "../model/page.ts";
import { forgetWords, keepWords, wordsOf, wordsSaved } from "../model/rewording.ts";
import * as story from "../model/story.ts";
import * as api from "../net/api.ts";
import { shown } from "../tree/line.ts";
import { register } from "./commands.ts";
import { attempt } from "./failure.ts";
import { refresh, sid } from "./follow.ts";
import { navigate } from "./travel.ts";
import { free, showTimelines, writeDraft } from "./turn.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** What the field begins with. */
export const begun = (node: ChatNode) => wordsOf(node.id) ?? node.content;

export const typedAnew = (node: ChatNode, text: string) => keepWords(node.id, text === node.content ? null : text);

/** The reader does not want it after all, or only missed the key: what was typed comes back by one click. */
export function giveUp({ id }: ChatNode) {
  const text = wordsOf(id);
  keepWords(id, null);
  story.editInPlace(null);
  story.focusOn(id);
  if (text !== null)
    tell({ tone: "quiet", text: t("notice.givenUp"), act: { label: "notice.typeOn", run: () => typeOn(id, text) } });
}

/** @param text what was typed */
function typeOn(id: Id, text: string) {
  if (!shown.peek().includes(id)) return tell({ tone: "quiet", text: t("notice.goneOn") });
  keepWords(id, text);
  story.editInPlace(id);
}

/** The message whose new text is on its way: its old one leaves the line for a good reason. */
let saving: Id | null = null;

/** @param carry what follows moves below the new text */
export async function edit(node: ChatNode, content: string, carry: boolean) {
  saving = node.id;
  const isStill = watchFocus();
  const started = await attempt(() => api.edit(sid(), node.id, { content, carry }));
  saving = null;
  if (!started) {
    lookAfterEdit();
    return false;
  }
  wordsSaved(node.id);
  // Another message may be being edited by now.
  if (story.editing.peek() === node.id) story.editInPlace(null);
  if (!carry) story.applyStarted(started);
  await refresh();
  if (started.node && isStill()) story.focusOn(started.node.id);
  showTimelines();
  return true;
}

/**
 * A message that is being edited may leave the screen, by an act of the reader or of somebody else: its words do not.
 */
export function lookAfterEdit() {
  const id = story.editing.peek();
  const at = story.session.peek()?.id;
  if (id === null || at === undefined || id === saving || shown.peek().includes(id)) return;
  story.editInPlace(null);
  const text = wordsOf(id);
  if (text === null) return;
  tell({
    tone: "quiet",
    stays: true,
    text: t("notice.wordsKept"),
    hint: t("notice.wordsKeptHint"),
    act: toField(at, id, text),
  });
}

/** @param at the story */
const toField = (at: Id, id: Id, text: string) => ({
  label: "notice.toField" as const,
  run: () => putIntoField(at, id, text),
});

/** What was begun on messages that are gone for good is kept no longer; who began it here can still take it. */
export function dropWords(ids: Id[]) {
  const at = story.session.peek()?.id ?? "";
  for (const id of ids) {
    const text = wordsOf(id);
    forgetWords(id);
    if (story.editing.peek() === id) story.editInPlace(null);
    if (text === null) continue;
    for (const notice of notices.peek()) if (notice.text === t("notice.wordsKept")) dismiss(notice.id);
    tell({
      tone: "quiet",
      stays: true,
      text: t("notice.wordsGone"),
      hint: t("notice.wordsGoneHint"),
      act: toField(at, id, text),
    });
  }
}

/**
 * What stands in the field of the story stays there, above it.
 * @param at the story
 */
function putIntoField(at: Id, id: Id, text: string) {
  keepWords(id, null);
  if (story.session.peek()?.id === at)
    return writeDraft([story.draft.peek().trim(), text].filter(Boolean).join("\n\n"));
  remember(`draft.${at}`, text);
  navigate(`/s/${at}`);
}

register({
  id: "message.edit",
  label: "command.edit",
  icon: "edit",
  scope: "message",
  keys: ["e"],
  enabled: ({ node }) => free(node) && node?.status === "complete" && node.kind !== "merge",
  run: ({ node }) => {
    // What was given up is offered until the next is begun.
    for (const notice of notices.peek()) if (notice.text === t("notice.givenUp")) dismiss(notice.id);
    story.editInPlace(node?.id ?? null);
  },
});
