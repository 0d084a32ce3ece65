// Commands of the page itself: search, language, appearance.
import { focusedMessage } from "../lib/focus.ts";
import { locale, setLocale } from "../lib/i18n.ts";
import { writeStored } from "../lib/storage.ts";
import {
  dialog,
  dismiss,
  notices,
  openDialog,
  pane,
  setSpeech,
  setTheme,
  showPane,
  setWorldOpen,
  theme,
  tintsSpeech,
  isWorldOpen,
} from "../model/page.ts";
import { session } from "../model/session-store.ts";
import * as api from "../net/api.ts";
import { register } from "./commands.ts";
import type { Locale } from "../lib/i18n.ts";
import type { Id, SearchQuery, Trace } from "../lib/wire.d.ts";

export async function setLanguage(next: Locale) {
  await setLocale(next);
  writeStored("language", next);
}

export const search = (wanted: SearchQuery, signal: AbortSignal) => api.search(wanted, signal);

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
    setWorldOpen(!isWorldOpen.peek());
    showPane(pane.peek() === "world" ? "chat" : "world");
  },
});

register({
  id: "page.git",
  label: "command.git",
  icon: "branches",
  scope: "page",
  run: () => openDialog({ kind: "gitTerms" }),
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
  run: () => setLanguage(locale.peek() === "en" ? "zh" : "en"),
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
  run: ({ node }) => node && openDialog({ kind: "trace", nid: node.id }),
});

const NO_TRACE: Partial<Trace> = {};

/**
 * Reads everything that the server recorded about how a node was made, and the deltas of others beside it.
 * @param isWritten whether a model wrote it; only then it has a trace
 */
export async function readTrace(sid: Id, nid: Id, isWritten: boolean, others: (Id | null)[]) {
  const [trace, delta, ...deltas] = await Promise.all([
    isWritten ? api.trace(sid, nid).catch(noTrace) : NO_TRACE,
    api.delta(sid, nid),
    ...others.map((id) => (id ? api.delta(sid, id) : null)),
  ]);
  return { trace, delta, others: deltas };
}

/** Accepts a missing trace: imported messages may name a model but have none. */
function noTrace(error: unknown): Partial<Trace> {
  if (error instanceof api.ApiError && error.status === 404) return NO_TRACE;
  throw error;
}
