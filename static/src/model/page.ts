// What the page itself remembers: where it stands, how it looks, what it has to say. Nothing of a story.
import { computed, signal } from "../../vendor/preact.js";
import { recall, remember } from "../lib/storage.ts";
import type { Key } from "../lib/i18n.ts";
import type { Id } from "../lib/wire.d.ts";
import type { Dialog } from "./dialog.d.ts";
import type { Me } from "../lib/wire.d.ts";
import type { Signal } from "../../vendor/preact.js";
export type { Dialog };

/** `isTree`: the whole tree is on screen */
export type Route =
  | { page: "library" }
  | { page: "settings" }
  | { page: "story"; sid: Id; nid: Id | null; isTree: boolean };
type Pane = "chat" | "world";
export type Theme = "auto" | "light" | "dark";

export function routeOf(path: string): Route {
  const [, kind, sid, nid] = path.split("/");
  if (kind === "settings") return { page: "settings" };
  if (kind !== "s" || !sid) return { page: "library" };
  const isTree = nid === "tree";
  return { page: "story", sid, nid: isTree ? null : nid || null, isTree };
}

export const route = signal(routeOf(location.pathname));

/** Whether the whole tree of the story is on screen, over its chat. */
export const inTree = computed(() => route.value.page === "story" && route.value.isTree);

export function setRoute(path: string) {
  route.value = routeOf(path);
}

/** On a narrow screen one pane is shown at a time. */
export const pane = signal<Pane>("chat");

export function showPane(next: Pane) {
  pane.value = next;
}

/** Whether the world stands beside the story on a wide screen. */
export const worldBeside = signal(recall("world") !== "closed");

export function showWorldBeside(open: boolean) {
  worldBeside.value = open;
  remember("world", open ? null : "closed");
}

export const theme = signal((recall("theme") ?? "auto") as Theme);

export function setTheme(next: Theme) {
  theme.value = next;
  document.documentElement.dataset.theme = next;
  remember("theme", next === "auto" ? null : next);
}

/** Whether what is said in messages has a colour of its own. */
export const tintsSpeech = signal(recall("speech") !== "plain");

export function setSpeech(tints: boolean) {
  tintsSpeech.value = tints;
  document.documentElement.dataset.speech = tints ? "tinted" : "plain";
  remember("speech", tints ? null : "plain");
}

/** Whether the reader makes worlds, and sees what they hide from those who play in them. */
export const seesAll = signal(recall("sees") === "all");

export function letSeeAll(all: boolean) {
  seesAll.value = all;
  remember("sees", all ? "all" : null);
}

/**
 * Why the server does not let this device in: it is new here, or it was removed while the page was open. `code`: what
 * the address of the page brought along. null: it does.
 */
export const door = signal<{ isNew: boolean; code: string } | null>(null);
let wasIn = false;

export function shutDoor(code: string) {
  if (door.peek()) return;
  openDialog(null);
  door.value = wasIn ? { isNew: false, code: "" } : { isNew: true, code };
}

/** Whether the server rearranges trees. */
export const mayRearrange = signal(true);

/** The server lets this device in. */
export function enter({ mayRearrange: may }: Me) {
  wasIn = true;
  mayRearrange.value = may !== false;
  // What was said before the door was said of it.
  if (door.peek()) notices.value = [];
  door.value = null;
}

/**
 * When what is on screen was read, where no server answered and it is what the browser kept of it; null where it is
 * not.
 */
export const keptAt: Signal<string | null> = signal(null);

export function showKept(at: string | null) {
  keptAt.value = at;
}

/** The dialog on screen. */
export const dialog: Signal<Dialog | null> = signal(null);

/**
 * A word to the reader. `error` ones say what the server said. What was said while a dialog was open stands in it, and
 * is done with when it closes. `stays`: nothing takes its place before it was read. `go` leads to the message that it
 * is about.
 */
export interface Notice {
  id: number;
  tone: "quiet" | "error";
  inDialog: boolean;
  text: string;
  hint: string;
  stays?: boolean;
  act?: { label: Key; run: () => void };
  go?: () => void;
}

export const notices = signal<Notice[]>([]);

/** How many were opened: the browser tells of the closing of one later, when the next may be open already. */
export let opened = 0;

export function openDialog(next: Dialog | null) {
  opened += 1;
  dialog.value = next;
  forgetSaid();
}

/** What was said in the dialog is done with: it closes, or what it was said of has changed. */
export function forgetSaid() {
  if (notices.peek().some((notice) => notice.inDialog))
    notices.value = notices.peek().filter((notice) => !notice.inDialog);
}

let counted = 0;

/** What only passes gives way to the next word, for good; errors and what else matters stay until they were read. */
export function tell(notice: Omit<Notice, "id" | "hint" | "inDialog"> & { hint?: string }) {
  const id = ++counted;
  const stays = (one: Pick<Notice, "tone" | "stays">) => one.tone === "error" || one.stays;
  const others = notices.value.filter((n) => n.text !== notice.text && (stays(n) || stays(notice)));
  notices.value = [...others.slice(-2), { hint: "", ...notice, id, inDialog: dialog.peek() !== null }];
}

export function dismiss(id: number) {
  notices.value = notices.value.filter((n) => n.id !== id);
}

/** The line that a screen reader speaks when it changes. */
export const spoken = signal("");

export function speak(text: string) {
  spoken.value = text;
}

// Hints that show the point once

type Hint = "hint.goBack" | "hint.again" | "hint.timelines";

export const hint = signal<Hint | null>(null);
/** The message that the hint is about; null: about none in particular. */
let about: string | null = null;

/**
 * @param node the message it is about
 * @returns whether the reader still needs it
 */
export function offerHint(which: Hint, node: string | null = null): boolean {
  if (recall(which) === "seen") return false;
  about = node;
  hint.value = which;
  return true;
}

/**
 * Whether the hint is about what is read now.
 * @param last the last message on screen
 */
export const hintFits = (last: string | undefined) => about === null || about === last;

/** The moment of a hint has passed; it comes again with the next one. */
export function passHint() {
  hint.value = null;
}

export function hintSeen() {
  if (hint.value) remember(hint.value, "seen");
  hint.value = null;
}
