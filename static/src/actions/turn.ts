// Turns: sending, stopping, regenerating, retrying.
import { locale, t } from "../lib/i18n.ts";
import { copyText } from "../lib/clipboard.ts";
import { focusedMessage, watchFocus } from "../lib/focus.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import { readStored, writeStored } from "../lib/storage.ts";
import { hint, hintFits, markHintSeen, offerHint, hideHint, notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/api.ts";
import { isLinear, placeAmongSiblings, shownIds, tail, writtenReply } from "../tree/shown-branch.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { branchReadsDone, refresh, sid, moveHead } from "./session-sync.ts";
import type { ChatNode, Id, TurnStart } from "../lib/wire.d.ts";

// Drafts

export function loadDraft(id: Id) {
  store.setDraft(readStored(`draft.${id}`) ?? "");
}

export function saveDraft(text: string) {
  store.setDraft(text);
  writeStored(`draft.${sid()}`, text || null);
}

/** Reads the slash commands, once per session and language. Without an answer, there are none to choose from. */
export async function readSlashCommands() {
  const [id, language] = [sid(), locale.peek()];
  if (store.slashCommands.peek()?.language === language) return;
  store.setSlashCommands({ language, list: store.slashCommands.peek()?.list ?? [] });
  const list = await api.slashCommands(id).catch(() => []);
  if (store.session.peek()?.id === id && locale.peek() === language) store.setSlashCommands({ language, list });
}

// Sending

/** Idempotency keys. A message without an answer may have arrived; the same key makes a second attempt harmless. */
let keyFor = idempotencyKeys();

export async function send(text: string): Promise<void> {
  const content = text.trim();
  if (!content || store.sending.peek()) return;
  if (writtenReply.peek()) return notify({ tone: "quiet", text: t("notice.writing") });
  store.setSending(true);
  try {
    if (await runOwnCommand(content)) return;
    // A quick user may send while the branch is still being read. The message waits for that and is not dropped.
    await branchReadsDone();
    await sendFrom(store.nextParentId(), content);
  } finally {
    store.setSending(false);
  }
}

/** The names of the page's own slash command for connection profiles. */
const PROFILE_COMMANDS = ["profile", "连接配置"];

/**
 * Runs a slash command of the page itself. A command of a plugin with the same name comes first.
 * @returns whether the text was such a command, so that it is no message
 */
async function runOwnCommand(content: string): Promise<boolean> {
  const [, word = "", name = ""] = /^\/(\S+)(?:\s+(.*))?$/.exec(content) ?? [];
  if (!PROFILE_COMMANDS.includes(word)) return false;
  await readSlashCommands();
  const ofPlugins = store.slashCommands.peek()?.list ?? [];
  if (ofPlugins.some((one) => [one.name, ...one.aliases].includes(word))) return false;
  const { runProfileCommand } = await import("./connection-profiles.ts");
  if (await runProfileCommand(name)) saveDraft("");
  return true;
}

async function sendFrom(parentId: Id | null, content: string) {
  if (!parentId || writtenReply.peek()) return;
  // Checked before the request, because a quick reply with its own hint may arrive before the response.
  const wentBack = hintOnScreen() === "hint.again";
  if (wentBack) markHintSeen();
  hideHint();
  const message = { parentId, content, generate: true as const, expectedLeafId: store.head.peek() ?? parentId };
  const started = await attempt(() => sendOrCatchUp(message));
  if (!started) return;
  keyFor = idempotencyKeys();
  if (store.draft.peek().trim() === content) saveDraft("");
  store.applyStarted(started);
  void refresh().then(() => wentBack && offerBranchHint());
}

async function sendOrCatchUp(message: Parameters<typeof api.send>[1]) {
  try {
    return await api.send(sid(), message, keyFor([message.content, message.parentId]));
  } catch (error) {
    if (error instanceof api.ApiError && error.code === "head_moved") {
      await refresh();
      notify({ tone: "quiet", text: t("notice.headMoved") });
      return undefined;
    }
    throw error;
  }
}

/** Shows the hint that both branches are kept, while the user is at the end of the new one. Newer hints stay. */
export function offerBranchHint() {
  const isParted = shownIds.peek().some((id) => hasVersions(store.peekNode(id)));
  if (hintOnScreen() === null && isParted) offerHint("hint.timelines", tail.peek()?.id ?? null);
}

/** Returns the hint on screen. */
const hintOnScreen = () => (hintFits(tail.peek()?.id) ? hint.peek() : null);

const hasVersions = (node: ChatNode | null) => node !== null && placeAmongSiblings(node).count > 1;

// Replies

/**
 * Requests another reply beside this one, or a reply to this message.
 * @param ask sends the request; by default a plain reroll
 */
export async function reroll(node: ChatNode, ask: () => Promise<TurnStart> = () => api.reroll(sid(), node.id)) {
  // Only one at a time, because a second click before the first reply appears would request the same again.
  if (store.isRequestingReply.peek()) return;
  store.setRequestingReply(true);
  const isStarted = await requestReply(node, ask).finally(() => store.setRequestingReply(false));
  // The reply is on screen now and may even be complete. A key for the next one must not wait for this read.
  if (isStarted) await refresh();
}

async function requestReply(node: ChatNode, ask: () => Promise<TurnStart>) {
  const [isFocused, isStill] = [focusedMessage() === node.id, watchFocus()];
  if (node.status === "complete" && store.head.peek() !== node.id && !(await moveHead(node.id, true))) return false;
  hideHint();
  const started = await attempt(ask);
  if (!started) return false;
  const generations = started.generations ?? [];
  store.applyStarted({ node: null, generations, op: started.op ?? 0 });
  if (isFocused && isStill()) store.setFocusNext(generations[0]?.id ?? node.id);
  offerBranchHint();
  return true;
}

/** Returns the text as users see it: the displayed text of others, and the typed text of the user. */
export const shownTextOf = (node: ChatNode | null) =>
  node?.role === "user" ? node.content : (node?.display ?? node?.content ?? "");

export const canRequestReply = (node: ChatNode | null) =>
  node !== null && store.viewedLeaf.peek() === null && !writtenReply.value && !store.isRequestingReply.value;

/**
 * Returns whether a reply may be regenerated. In the linear view, only the last one, because the new reply replaces it.
 */
export const mayReroll = (node: ChatNode | null) => !isLinear.value || tail.value?.id === node?.id;

/** Returns whether another reply was requested and is not on screen yet. */
const isReplyRequested = () => store.isRequestingReply.value && !writtenReply.value;

/** Greetings count: the model writes another beginning, or continues one. */
export const isReply = (node: ChatNode | null) => node?.role === "assistant";

register({
  id: "message.reroll",
  label: "command.reroll",
  icon: "reroll",
  scope: "message",
  keys: ["r"],
  inTree: ({ node }) => isReply(node) && !mayReroll(node),
  enabled: ({ node }) => canRequestReply(node) && isReply(node) && mayReroll(node),
  waits: ({ node }) => isReplyRequested() && isReply(node),
  run: ({ node }) => node && reroll(node),
});

register({
  id: "message.answer",
  label: "command.answer",
  icon: "play",
  scope: "message",
  enabled: ({ node }) => canRequestReply(node) && node?.role === "user" && tail.value?.id === node.id,
  waits: ({ node }) => isReplyRequested() && node?.role === "user" && tail.value?.id === node.id,
  run: ({ node }) => node && reroll(node),
});

register({
  id: "message.copy",
  label: "command.copy",
  icon: "copy",
  scope: "message",
  keys: ["c"],
  enabled: ({ node }) => Boolean(node?.content),
  run: async ({ node }) => {
    if (await copyText(shownTextOf(node))) notify({ tone: "quiet", text: t("notice.copied") });
  },
});

register({
  id: "turn.stop",
  label: "command.stop",
  icon: "stop",
  scope: "page",
  keys: ["mod+."],
  enabled: () => writtenReply.value !== null,
  run: () => {
    const node = writtenReply.peek();
    if (node) void attempt(() => api.cancel(sid(), node.id));
    // The stop button disappears when the reply has ended.
    if (focusedMessage() === null) store.requestFieldFocus();
  },
});
