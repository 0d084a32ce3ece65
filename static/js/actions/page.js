// Commands of the page itself: search, language, looks.
import { focusedMessage } from "../lib/focus.js";
import { locale, setLocale } from "../lib/i18n.js";
import { remember } from "../lib/storage.js";
import { dialog, dismiss, notices, openDialog, pane, setSpeech, setTheme, showPane, showWorldBeside, theme, tintsSpeech, worldBeside } from "../model/page.js";
import { session } from "../model/story.js";
import * as api from "../net/api.js";
import { register } from "./commands.js";

/** @import { Locale } from "../lib/i18n.js" */
/** @import { Id, SearchQuery, Trace } from "../lib/wire.d.ts" */

/** @param {Locale} next */
export async function speakIn(next) {
  await setLocale(next);
  remember("language", next);
}

/** @param {SearchQuery} wanted @param {AbortSignal} signal */
export const search = (wanted, signal) => api.search(wanted, signal);

register({
  id: "page.search",
  label: "command.search",
  icon: "search",
  scope: "page",
  keys: ["mod+k", "/"],
  run: () => openDialog({ kind: "search", text: "", at: focusedMessage() }),
});

register({
  id: "page.palette",
  label: "command.palette",
  icon: "help",
  scope: "page",
  keys: ["mod+shift+p", "?"],
  run: () => openDialog({ kind: "search", text: ">", at: focusedMessage() }),
});

register({
  id: "page.world",
  label: "command.world",
  icon: "world",
  scope: "page",
  keys: ["mod+i"],
  enabled: () => session.value !== null,
  run: () => {
    showWorldBeside(!worldBeside.peek());
    showPane(pane.peek() === "world" ? "chat" : "world");
  },
});

register({
  id: "page.git",
  label: "command.git",
  icon: "branches",
  scope: "page",
  run: () => openDialog({ kind: "git" }),
});

register({
  id: "page.theme",
  label: "command.theme",
  icon: "moon",
  scope: "page",
  run: () => setTheme(theme.peek() === "auto" ? "dark" : theme.peek() === "dark" ? "light" : "auto"),
});

register({
  id: "page.speech",
  label: "command.speech",
  icon: "chat",
  scope: "page",
  run: () => setSpeech(!tintsSpeech.peek()),
});

register({
  id: "page.language",
  label: "command.language",
  icon: "language",
  scope: "page",
  run: () => speakIn(locale.peek() === "en" ? "zh" : "en"),
});

register({
  id: "page.dismiss",
  label: "command.dismiss",
  icon: "close",
  scope: "page",
  keys: ["Escape"],
  enabled: () => notices.value.length > 0 && dialog.value === null,
  run: () => {
    const newest = notices.peek().at(-1);
    if (newest) dismiss(newest.id);
  },
});

register({
  id: "message.why",
  label: "command.why",
  icon: "why",
  scope: "message",
  keys: ["w"],
  enabled: ({ node }) => node !== null && node.status !== "generating",
  run: ({ node }) => node && openDialog({ kind: "why", nid: node.id }),
});

/**
 * Everything the server recorded about how a node came to be, and about others beside it. Only what a model wrote has a trace.
 * @param {Id} sid @param {Id} nid @param {boolean} isWritten whether a model wrote it @param {(Id | null)[]} others
 */
export async function readWhy(sid, nid, isWritten, others) {
  const [trace, delta, ...deltas] = await Promise.all([
    isWritten ? api.trace(sid, nid).catch(noTrace) : {},
    api.delta(sid, nid),
    ...others.map((id) => (id ? api.delta(sid, id) : null)),
  ]);
  return { trace, delta, others: deltas };
}

/** An imported message may name its model and have no trace. @param {unknown} error @returns {Trace} */
function noTrace(error) {
  if (error instanceof api.ApiError && error.status === 404) return {};
  throw error;
}
