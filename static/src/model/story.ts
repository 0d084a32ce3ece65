// The open session: its nodes, the branch on screen, HEAD. Actions and events change it only through these functions.
import { batch, signal } from "../../vendor/preact.js";
import { addPiece, endAllStreams, endStream, streamOf } from "./stream.ts";
import { forget, stepped } from "./trail.ts";
import type {
  ChatNode,
  Frame,
  Id,
  NodeState,
  Problem,
  Projection,
  QuickReply,
  Session,
  SlashCommand,
  Started,
  TrashItem,
} from "../lib/wire.d.ts";
import type { Signal } from "../../vendor/preact.js";
import type { Loading } from "./library.ts";
import type { ApiError } from "../net/api.ts";

export const session = signal<Session | null>(null);
export const loading = signal<Loading>({ state: "idle" });
/** The entry in the trash of a session that could not be opened; `null` if there is none. */
export const trashed = signal<TrashItem | null>(null);
export const online = signal(true);

/** Node ids of the loaded part of the branch, oldest first. */
export const line = signal<Id[]>([]);
/** Ids of the change nodes between these messages, oldest first. */
export const byHand = signal<Id[]>([]);
/** The cursor to the next older page; `null` at the start of the session. */
export const older = signal<string | null>(null);
export const loadingOlder = signal(false);

export const head = signal<Id | null>(null);
/** The leaf of a branch that is viewed without moving HEAD. */
export const peek = signal<Id | null>(null);
/** Returns the node whose state is shown. */
export const here = () => peek.value ?? head.value;
/** A generation at the end of the branch that HEAD is not at: it is being written, or it failed. */
export const watched = signal<Id | null>(null);
/** Replies that finished elsewhere and that the user has not seen, the newest last. */
export const unread = signal<Id[]>([]);
/** The node to scroll to and highlight after a jump. */
export const target = signal<Id | null>(null);
/** Grows when the end of the branch should be scrolled into view. */
export const ends = signal(0);
/** The message that is being edited in place. */
export const editing = signal<Id | null>(null);
/** The message that takes the keyboard focus once it is on screen. */
export const focusNext = signal<Id | null>(null);
export const quickReplies = signal<QuickReply[]>([]);
/** Problems while the end of the branch was read: a plugin that failed to suggest quick replies. */
export const problems = signal<Problem[]>([]);
/** The slash commands and the language of their help; `null` if not loaded yet. */
export const slashCommands = signal<{ language: string; list: SlashCommand[] } | null>(null);
export const draft = signal("");
export const sending = signal(false);
/** Whether another reply is being requested. */
export const asking = signal(false);
/** Grows when the input field should take the keyboard focus. */
export const fieldWanted = signal(0);

/** Grows when texts were purged. Views of texts outside the branch load them again. */
export const purges = signal(0);
export const textsGone = () => (purges.value += 1);

/** The newest known operation. A new socket starts there. */
export let op = 0;

const nodes: Map<Id, Signal<ChatNode>> = new Map();
/** Siblings in creation order, by parent and role. */
const families: Map<string, Signal<Id[]>> = new Map();

export const nodeOf = (id: Id | null) => (id === null ? undefined : nodes.get(id))?.value ?? null;

/** Returns a node without subscribing to it. */
export const peekNode = (id: Id | null) => (id === null ? undefined : nodes.get(id))?.peek() ?? null;

/** Whether some message of the branch has a displayed text that differs from its content. */
export const showsOtherwise = () => line.peek().some((id) => typeof peekNode(id)?.display === "string");

export function familyOf(node: ChatNode): Signal<Id[]> {
  const key = `${node.parentId}/${node.role}`;
  let family = families.get(key);
  if (!family) families.set(key, (family = signal([node.id])));
  return family;
}

// Opening

/**
 * Clears everything.
 * @param opening whether a session is about to be loaded
 */
export function beginStory(opening: boolean) {
  batch(() => {
    nodes.clear();
    families.clear();
    endAllStreams();
    forget();
    op = 0;
    session.value = trashed.value = null;
    loading.value = { state: opening ? "loading" : "idle" };
    line.value = byHand.value = unread.value = [];
    older.value = head.value = peek.value = watched.value = null;
    target.value = editing.value = focusNext.value = null;
    loadingOlder.value = sending.value = asking.value = false;
    quickReplies.value = problems.value = [];
    slashCommands.value = null;
    online.value = true;
  });
}

export function putSession(changes: Partial<Session>) {
  session.value = { ...session.peek(), ...changes } as Session;
}

export function storyReady() {
  loading.value = { state: "ready" };
}

/** @param item its entry in the trash */
export function storyFailed(error: ApiError, item: TrashItem | null) {
  trashed.value = item;
  loading.value = { state: "failed", error };
}

export function setOnline(is: boolean) {
  online.value = is;
}

// The user's position

/** @param nid the node to scroll to and highlight */
export function pointAt(nid: Id | null) {
  target.value = nid;
}

/** Scrolls the end of the branch into view. */
export function showEnd() {
  ends.value += 1;
}

export function focusOn(nid: Id | null) {
  focusNext.value = nid;
}

export function editInPlace(nid: Id | null) {
  editing.value = nid;
}

export function setDraft(text: string) {
  draft.value = text;
}

export function putSlashCommands(commands: { language: string; list: SlashCommand[] }) {
  slashCommands.value = commands;
}

export function setSending(is: boolean) {
  sending.value = is;
}

export function setAsking(is: boolean) {
  asking.value = is;
}

export function focusField() {
  fieldWanted.value += 1;
}

// Nodes

export function putNode(node: ChatNode) {
  const known = nodes.get(node.id);
  // The answer to a request may arrive after newer events. A complete node stays complete.
  if (known && known.peek().status !== "generating" && node.status === "generating") return;
  if (known) known.value = { ...known.peek(), ...node };
  else nodes.set(node.id, signal(node));
  if (node.kind === "change" || node.kind === "root") return;
  if (node.isUnread !== undefined && !line.peek().includes(node.id)) putUnread(node.id, node.isUnread);
  const family = familyOf(node);
  const ids = node.siblings?.ids ?? family.peek();
  const all = ids.includes(node.id) ? ids : [...ids, node.id];
  if (all.join() !== family.peek().join()) family.value = all;
}

/** Removes purged nodes that are in no branch on screen. */
export const forgetNodes = (ids: Id[]) =>
  ids.filter((id) => !line.peek().includes(id)).forEach((id) => nodes.delete(id));

/** Notes whether a reply still waits to be seen. */
export function putUnread(id: Id, isNew: boolean) {
  const others = unread.peek().filter((other) => other !== id);
  if (isNew || others.length < unread.peek().length) unread.value = isNew ? [...others, id] : others;
}

// The branch

/**
 * Applies a page of the branch from the server. Older messages that are already loaded stay.
 * @returns `false` if the page is older than the known state; it must be requested again
 */
export function applyProjection(page: Projection): boolean {
  if (page.op < op) return false;
  batch(() => {
    page.items.forEach(putNode);
    const [ids, changes] = parted(page.items);
    const join = line.peek().indexOf(ids[0] ?? "");
    if (join < 0) older.value = page.next;
    const kept = new Set(join < 0 ? [] : line.peek().slice(0, join));
    setLine([...kept, ...ids]);
    byHand.value = [...byHand.peek().filter((id) => kept.has(ownerOf(id) ?? "")), ...changes];
    quickReplies.value = page.quickReplies ?? [];
    problems.value = page.problems ?? [];
    if (peek.peek() === null) head.value = page.leafId;
    op = page.op;
    dropWatched();
    watchReply();
  });
  return true;
}

/**
 * Updates how loaded messages are displayed.
 * @returns `false` if the page is older than the known state; it must be requested again
 */
export function putAgain(page: Projection): boolean {
  if (page.op < op) return false;
  batch(() => page.items.filter(({ id }) => nodes.has(id)).forEach(putNode));
  return true;
}

export function prependPage(page: Projection) {
  batch(() => {
    page.items.forEach(putNode);
    const known = new Set([...line.peek(), ...byHand.peek()]);
    const [ids, changes] = parted(page.items.filter(({ id }) => !known.has(id)));
    setLine([...ids, ...line.peek()]);
    byHand.value = [...changes, ...byHand.peek()];
    older.value = page.next;
  });
}

/** Separates messages and change nodes. */
function parted(items: ChatNode[]): [Id[], Id[]] {
  const ids = (change: boolean) => items.filter(({ kind }) => (kind === "change") === change).map(({ id }) => id);
  return [ids(false), ids(true)];
}

/** Returns the message that a change node follows. */
export function ownerOf(id: Id): Id | null {
  let node = peekNode(id);
  while (node?.kind === "change") {
    const above = node.parentId;
    node = peekNode(above);
    if (!node) return above;
  }
  return node?.id ?? null;
}

export function setLoadingOlder(is: boolean) {
  loadingOlder.value = is;
}

/** Shows another branch without moving HEAD. */
export function enterPeek(leaf: Id, page: Projection) {
  batch(() => {
    peek.value = leaf;
    line.value = [];
    applyProjection({ ...page, op: Math.max(op, page.op) });
    quickReplies.value = problems.value = [];
  });
}

export function leavePeek() {
  peek.value = null;
}

function setLine(next: Id[]) {
  const now = line.peek();
  unread
    .peek()
    .filter((id) => next.includes(id))
    .forEach((id) => putUnread(id, false));
  if (next.length !== now.length || next.some((id, i) => id !== now[i])) line.value = next;
}

/** Stops watching a generation that became part of the branch or no longer belongs to its end. */
function dropWatched() {
  const id = watched.peek();
  const node = peekNode(id);
  const settled = node?.status === "complete";
  if (id && (settled || line.peek().includes(id) || !follows(node))) watched.value = null;
}

/** Whether a generation would continue or replace the end of the branch. */
function follows(node: ChatNode | null) {
  if (!node) return false;
  const tail = peekNode(line.peek().at(-1) ?? null);
  return node.parentId === head.peek() || node.parentId === tail?.id || node.parentId === tail?.parentId;
}

/** Watches a reply to the end of the branch, whoever requested it. It may be known before its place is. */
function watchReply() {
  if (watched.peek() !== null || peek.peek() !== null) return;
  const end = line.peek().at(-1);
  const reply = generating().find((node) => node.parentId === end);
  if (reply) watch(reply.id);
}

/** Returns the parent of the next message: HEAD, or a reply on screen that broke off, as its text is kept. */
export function goesOnFrom() {
  const node = peekNode(watched.peek());
  return node?.status === "error" && node.content ? node.id : head.peek();
}

/** Stops watching a reply, because the user left it. */
export function unwatch() {
  watched.value = null;
}

export function watch(id: Id) {
  watched.value = id;
}

/**
 * Applies the answer to the user's own request: the new message ends the branch, and its first reply is watched.
 * @param started has no node after a reroll
 */
export function applyStarted({ node, generations = [], op: at = 0 }: Started) {
  op = Math.max(op, at);
  batch(() => {
    generations.forEach(putNode);
    if (node) putNode(node);
    if (node && !line.peek().includes(node.id)) {
      const at = line.peek().findIndex((id) => id === node.id || peekNode(id)?.parentId === node.parentId);
      const above = at < 0 ? line.peek() : line.peek().slice(0, at);
      // A message below a reply that broke off brings that reply into the branch.
      const brokenOff = node.parentId === watched.peek() && node.parentId !== null ? [node.parentId] : [];
      setLine([...above, ...brokenOff, node.id]);
      head.value = node.id;
    }
    quickReplies.value = problems.value = [];
    const first = generations[0];
    if (first && peekNode(first.id)?.status !== "complete") watched.value = first.id;
  });
}

// Events

/** What the page should do after an event: reload the branch, request missing text, or announce a finished reply. */
interface Wish {
  refresh?: true;
  resume?: { id: Id; offset: number; reasoningOffset: number };
  finished?: ChatNode;
}

export function applyFrame(frame: Frame): Wish {
  if ("op" in frame && frame.op) op = Math.max(op, frame.op);
  if ("op" in frame && frame.op && isStep(frame)) stepped(frame.op);
  switch (frame.type) {
    case "node.created":
      return created(frame.node);
    case "node.content.updated":
      return grown(frame);
    case "node.progress":
      return progressed(frame);
    case "node.completed":
      endStream(frame.node.id);
      putNode(frame.node);
      return { refresh: true, finished: frame.node };
    case "node.state.updated":
      for (const state of frame.nodes ?? [frame]) putState(state);
      return {};
    case "hello":
    case "head.moved":
      return arrived(frame.leafId) ? {} : { refresh: true };
    case "tree.changed":
      return { refresh: true };
    case "session.updated":
      putSession(frame.session ?? (frame.title === undefined ? {} : { title: frame.title }));
      return {};
    default:
      return {};
  }
}

/** Whether an event is a step that undo can take back. Moving HEAD, finishing a reply and viewing are not. */
function isStep(frame: Frame) {
  if (frame.type === "node.state.updated") return (frame.nodes ?? [frame]).some(isNews);
  return frame.type === "node.created" || frame.type === "tree.changed" || frame.type === "session.updated";
}

/** Whether a node differs from what the page knows. Having been seen does not count. */
function isNews({ id, isEnabled, effects, rating }: NodeState) {
  const node = peekNode(id ?? null);
  return (
    node !== null &&
    (node.isEnabled !== isEnabled || node.effects !== effects || (node.metadata?.rating ?? null) !== (rating ?? null))
  );
}

function created(node: ChatNode): Wish {
  const known = peekNode(node.id);
  if (known && known.status !== "generating") return {};
  putNode(node);
  const busy = peekNode(watched.peek())?.status === "generating";
  if (node.status === "generating" && !busy && peek.peek() === null && follows(node)) watch(node.id);
  return {};
}

/** Whether HEAD is at the end of the branch, or gets there with one more message. */
function arrived(leafId: Id) {
  if (peek.peek() !== null || leafId === head.peek()) return true;
  const node = peekNode(leafId);
  if (!node || node.kind === "change" || node.status !== "complete" || node.parentId !== head.peek()) return false;
  batch(() => {
    setLine([...line.peek(), leafId]);
    head.value = leafId;
    dropWatched();
    watchReply();
  });
  return true;
}

function grown(frame: Extract<Frame, { type: "node.content.updated" }>): Wish {
  const node = peekNode(frame.id);
  if (node?.status !== "generating") return {};
  const stream = streamOf(node);
  const whole =
    addPiece(stream, "reasoning", frame.reasoningChunk ?? "", frame.reasoningOffset ?? 0) &&
    addPiece(stream, "text", frame.contentChunk ?? "", frame.offset ?? 0);
  return whole ? {} : { resume: resumeOf(node) };
}

export function resumeOf(node: ChatNode) {
  const stream = streamOf(node);
  return { id: node.id, offset: stream.text.length, reasoningOffset: stream.reasoning.length };
}

function progressed(frame: Extract<Frame, { type: "node.progress" }>): Wish {
  const node = peekNode(frame.id);
  if (node?.status !== "generating") return {};
  const metadata = { ...node.metadata, phase: frame.phase ?? null, queuePosition: frame.queuePosition ?? null };
  putNode({ ...node, metadata });
  return {};
}

export function putState({ id, isEnabled, effects, rating, isUnread }: NodeState) {
  if (id && isUnread === false) putUnread(id, false);
  const node = peekNode(id ?? null);
  if (!node) return;
  const metadata = rating === undefined ? node.metadata : { ...node.metadata, rating };
  putNode({
    ...node,
    ...(isEnabled !== undefined && { isEnabled }),
    ...(effects && { effects }),
    ...(metadata && { metadata }),
  });
}

/** Returns the nodes that are being generated, as far as the page knows. */
export const generating = (): ChatNode[] =>
  [...nodes.values()].map((n) => n.peek()).filter((n) => n.status === "generating");
