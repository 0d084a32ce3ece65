// The state of the page itself: route, appearance, notices. Nothing of a session.
import { computed, signal } from "../../vendor/preact.js";
import { readStored, writeStored } from "../lib/storage.ts";
import type { Key } from "../lib/i18n.ts";
import type { Id } from "../lib/wire.d.ts";
import type { Dialog } from "./dialog.d.ts";
import type { Me } from "../lib/wire.d.ts";
import type { Signal } from "../../vendor/preact.js";
export type { Dialog };

/** `isTree`: the whole tree is on screen. */
export type Route =
  | { page: "library" }
  | { page: "settings" }
  | { page: "session"; sid: Id; nid: Id | null; isTree: boolean };
type Pane = "chat" | "world";
export type Theme = "auto" | "light" | "dark";

export function routeOf(path: string): Route {
  const [, kind, sid, nid] = path.split("/");
  if (kind === "settings") return { page: "settings" };
  if (kind !== "s" || !sid) return { page: "library" };
  const isTree = nid === "tree";
  return { page: "session", sid, nid: isTree ? null : nid || null, isTree };
}

export const route = signal(routeOf(location.pathname));

/** Whether the whole tree of the session is on screen, over its chat. */
export const inTree = computed(() => route.value.page === "session" && route.value.isTree);

export function setRoute(path: string) {
  route.value = routeOf(path);
}

/** The visible pane on a narrow screen. */
export const pane = signal<Pane>("chat");

export function showPane(next: Pane) {
  pane.value = next;
}

/** Whether the state is shown next to the chat on a wide screen. */
export const isWorldOpen = signal(readStored("world") !== "closed");

export function setWorldOpen(open: boolean) {
  isWorldOpen.value = open;
  writeStored("world", open ? null : "closed");
}

export const theme = signal((readStored("theme") ?? "auto") as Theme);

export function setTheme(next: Theme) {
  theme.value = next;
  document.documentElement.dataset.theme = next;
  writeStored("theme", next === "auto" ? null : next);
}

/** Whether speech in messages is coloured. */
export const tintsSpeech = signal(readStored("speech") !== "plain");

export function setSpeech(tints: boolean) {
  tintsSpeech.value = tints;
  document.documentElement.dataset.speech = tints ? "tinted" : "plain";
  writeStored("speech", tints ? null : "plain");
}

/** Whether hidden state is shown, for authors. */
export const showsHidden = signal(readStored("sees") === "all");

export function setShowsHidden(all: boolean) {
  showsHidden.value = all;
  writeStored("sees", all ? "all" : null);
}

/**
 * Set while the server does not accept this device: it is new here, or it was removed while the page was open. `code`:
 * the pairing code from the page's address. `null` if it is accepted.
 */
export const pairingPrompt = signal<{ isNew: boolean; code: string } | null>(null);
let wasAccepted = false;

export function requirePairing(code: string) {
  if (pairingPrompt.peek()) return;
  openDialog(null);
  pairingPrompt.value = wasAccepted ? { isNew: false, code: "" } : { isNew: true, code };
}

/** Whether the server allows edits of the arrangement. */
export const mayRearrange = signal(true);

/** Notes that the server accepts this device. */
export function acceptDevice({ mayRearrange: may }: Me) {
  wasAccepted = true;
  mayRearrange.value = may !== false;
  // The notices of the pairing page are out of date.
  if (pairingPrompt.peek()) notices.value = [];
  pairingPrompt.value = null;
}

/** If the server does not answer and the page shows the browser's copy: when the copy was made. Otherwise `null`. */
export const offlineCopyAt: Signal<string | null> = signal(null);

export function setOfflineCopyAt(at: string | null) {
  offlineCopyAt.value = at;
}

export const dialog: Signal<Dialog | null> = signal(null);

/**
 * A notice to the user. An `error` shows what the server said. A notice made while a dialog is open appears inside it,
 * and disappears with it. `stays`: not replaced by the next notice. `show`: leads to its message.
 */
export interface Notice {
  id: number;
  tone: "quiet" | "error";
  inDialog: boolean;
  text: string;
  hint: string;
  stays?: boolean;
  action?: { label: Key; run: () => void };
  show?: () => void;
}

export const notices = signal<Notice[]>([]);

/** Number of dialogs opened so far. The browser reports a close late, when the next dialog may be open already. */
export let dialogCount = 0;

export function openDialog(next: Dialog | null) {
  dialogCount += 1;
  dialog.value = next;
  dropDialogNotices();
}

/** Removes the notices of a dialog, when it closes or their subject has changed. */
export function dropDialogNotices() {
  if (notices.peek().some((notice) => notice.inDialog))
    notices.value = notices.peek().filter((notice) => !notice.inDialog);
}

let noticeCount = 0;

/**
 * Shows a notice. A passing notice replaces other passing ones. Errors and notices with `stays` remain until they are
 * dismissed. At most three are shown.
 */
export function notify(notice: Omit<Notice, "id" | "hint" | "inDialog"> & { hint?: string }) {
  const id = ++noticeCount;
  const stays = (one: Pick<Notice, "tone" | "stays">) => one.tone === "error" || one.stays;
  const others = notices.value.filter((n) => n.text !== notice.text && (stays(n) || stays(notice)));
  notices.value = [...others.slice(-2), { hint: "", ...notice, id, inDialog: dialog.peek() !== null }];
}

export function dismiss(id: number) {
  notices.value = notices.value.filter((n) => n.id !== id);
}

/** The text that a screen reader reads aloud when it changes. */
export const announcement = signal("");

export function announce(text: string) {
  announcement.value = text;
}

// Hints that are shown once

type Hint = "hint.goBack" | "hint.again" | "hint.timelines";

export const hint = signal<Hint | null>(null);
/** The message that the hint is about; `null` = no message in particular. */
let hintNode: string | null = null;

/**
 * Offers a hint.
 * @param node the message it is about
 * @returns whether the user has not seen it yet
 */
export function offerHint(which: Hint, node: string | null = null): boolean {
  if (readStored(which) === "seen") return false;
  hintNode = node;
  hint.value = which;
  return true;
}

/**
 * Whether the hint is about the current end of the branch.
 * @param last the last message on screen
 */
export const hintFits = (last: string | undefined) => hintNode === null || hintNode === last;

/** Hides a hint whose moment has passed. It can be offered again. */
export function hideHint() {
  hint.value = null;
}

export function markHintSeen() {
  if (hint.value) writeStored(hint.value, "seen");
  hint.value = null;
}
