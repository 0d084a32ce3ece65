// The open session: its nodes, the branch on screen, HEAD. Actions and events change it only through these functions.
import { batch, signal } from "../../vendor/preact.js";
import { addPiece, endAllStreams, endStream, replaceText, streamOf } from "./stream.ts";
import { clearMoves, recordStep } from "./head-moves.ts";
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
  TurnStart,
  TrashItem,
} from "../lib/wire.d.ts";
import type { Signal } from "../../vendor/preact.js";
import type { Loading } from "./library.ts";
import type { ApiError } from "../net/api.ts";

export const session = signal<Session | null>(null);
export const loading = signal<Loading>({ state: "idle" });
/** The entry in the trash of a session that could not be opened; `null` if there is none. */
export const trashItem = signal<TrashItem | null>(null);
export const online = signal(true);

/** Node ids of the loaded part of the branch, oldest first. */
export const branch = signal<Id[]>([]);
/** Ids of the change nodes between these messages, oldest first. */
export const changeNodes = signal<Id[]>([]);
/** The cursor to the next older page; `null` at the start of the session. */
export const olderCursor = signal<string | null>(null);
export const loadingOlder = signal(false);

export const head = signal<Id | null>(null);
/** The leaf of a branch that is viewed without moving HEAD. */
export const viewedLeaf = signal<Id | null>(null);
/** Returns the node whose state is shown. */
export const stateNode = () => viewedLeaf.value ?? head.value;
/** A generation at the end of the branch that HEAD is not at: it is being written, or it failed. */
export const watchedReply = signal<Id | null>(null);
/** Replies that finished elsewhere and that the user has not seen, the newest last. */
export const unread = signal<Id[]>([]);
/** The node to scroll to and highlight after a jump. */
export const scrollTarget = signal<Id | null>(null);
/** Grows when the end of the branch should be scrolled into view. */
export const endRequests = signal(0);
/** The message that is being edited in place. */
export const editedMessage = signal<Id | null>(null);
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
export const isRequestingReply = signal(false);
/** Grows when the input field should take the keyboard focus. */
export const fieldFocusRequests = signal(0);

/** Grows when texts were purged. Views of texts outside the branch load them again. */
export const purgeCount = signal(0);
export const countPurge = () => (purgeCount.value += 1);

/** The newest known operation. A new socket starts there. */
export let newestOp = 0;

const nodes: Map<Id, Signal<ChatNode>> = new Map();
/** Siblings in creation order, by parent and role. */
const siblingIds: Map<string, Signal<Id[]>> = new Map();

export const nodeOf = (id: Id | null) => (id === null ? undefined : nodes.get(id))?.value ?? null;

/** Returns a node without subscribing to it. */
export const peekNode = (id: Id | null) => (id === null ? undefined : nodes.get(id))?.peek() ?? null;

/** Whether some message of the branch has a displayed text that differs from its content. */
export const hasDisplayedTexts = () => branch.peek().some((id) => typeof peekNode(id)?.display === "string");

export function siblingsOf(node: ChatNode): Signal<Id[]> {
  const key = `${node.parentId}/${node.role}`;
  let family = siblingIds.get(key);
  if (!family) siblingIds.set(key, (family = signal([node.id])));
  return family;
}

// Opening

/**
 * Clears everything.
 * @param opening whether a session is about to be loaded
 */
export function resetSession(opening: boolean) {
  batch(() => {
    nodes.clear();
    siblingIds.clear();
    endAllStreams();
    clearMoves();
    newestOp = 0;
    session.value = trashItem.value = null;
    loading.value = { state: opening ? "loading" : "idle" };
    branch.value = changeNodes.value = unread.value = [];
    olderCursor.value = head.value = viewedLeaf.value = watchedReply.value = null;
    scrollTarget.value = editedMessage.value = focusNext.value = null;
    loadingOlder.value = sending.value = isRequestingReply.value = false;
    quickReplies.value = problems.value = [];
    slashCommands.value = null;
    online.value = true;
  });
}

export function updateSession(changes: Partial<Session>) {
  session.value = { ...session.peek(), ...changes } as Session;
}

export function setSessionReady() {
  loading.value = { state: "ready" };
}

/** @param item its entry in the trash */
export function setSessionFailed(error: ApiError, item: TrashItem | null) {
  trashItem.value = item;
  loading.value = { state: "failed", error };
}

export function setOnline(is: boolean) {
  online.value = is;
}

// The user's position

/** @param nid the node to scroll to and highlight */
export function scrollTo(nid: Id | null) {
  scrollTarget.value = nid;
}

/** Scrolls the end of the branch into view. */
export function scrollToEnd() {
  endRequests.value += 1;
}

export function setFocusNext(nid: Id | null) {
  focusNext.value = nid;
}

export function setEditedMessage(nid: Id | null) {
  editedMessage.value = nid;
}

export function setDraft(text: string) {
  draft.value = text;
}

export function setSlashCommands(commands: { language: string; list: SlashCommand[] }) {
  slashCommands.value = commands;
}

export function setSending(is: boolean) {
  sending.value = is;
}

export function setRequestingReply(is: boolean) {
  isRequestingReply.value = is;
}

export function requestFieldFocus() {
  fieldFocusRequests.value += 1;
}

// Nodes

export function upsertNode(node: ChatNode) {
  const known = nodes.get(node.id);
  // The answer to a request may arrive after newer events. A complete node stays complete.
  if (known && known.peek().status !== "generating" && node.status === "generating") return;
  if (known) known.value = { ...known.peek(), ...node };
  else nodes.set(node.id, signal(node));
  if (node.kind === "change" || node.kind === "root") return;
  if (node.isUnread !== undefined && !branch.peek().includes(node.id)) setUnread(node.id, node.isUnread);
  const family = siblingsOf(node);
  const ids = node.siblings?.ids ?? family.peek();
  const all = ids.includes(node.id) ? ids : [...ids, node.id];
  if (all.join() !== family.peek().join()) family.value = all;
}

/** Removes purged nodes that are in no branch on screen. */
export const forgetNodes = (ids: Id[]) =>
  ids.filter((id) => !branch.peek().includes(id)).forEach((id) => nodes.delete(id));

/** Notes whether a reply still waits to be seen. */
export function setUnread(id: Id, isNew: boolean) {
  const others = unread.peek().filter((other) => other !== id);
  if (isNew || others.length < unread.peek().length) unread.value = isNew ? [...others, id] : others;
}

// The branch

/**
 * Applies a page of the branch from the server. Older messages that are already loaded stay.
 * @returns `false` if the page is older than the known state; it must be requested again
 */
export function applyProjection(page: Projection): boolean {
  if (page.op < newestOp) return false;
  batch(() => {
    page.items.forEach(upsertNode);
    const [ids, changes] = splitNodes(page.items);
    const join = branch.peek().indexOf(ids[0] ?? "");
    if (join < 0) olderCursor.value = page.next;
    const keptIds = new Set(join < 0 ? [] : branch.peek().slice(0, join));
    setBranch([...keptIds, ...ids]);
    changeNodes.value = [...changeNodes.peek().filter((id) => keptIds.has(ownerOf(id) ?? "")), ...changes];
    quickReplies.value = page.quickReplies ?? [];
    problems.value = page.problems ?? [];
    if (viewedLeaf.peek() === null) head.value = page.leafId;
    newestOp = page.op;
    dropWatchedReply();
    findWatchedReply();
  });
  return true;
}

/**
 * Updates how loaded messages are displayed.
 * @returns `false` if the page is older than the known state; it must be requested again
 */
export function updateLoadedNodes(page: Projection): boolean {
  if (page.op < newestOp) return false;
  batch(() => page.items.filter(({ id }) => nodes.has(id)).forEach(upsertNode));
  return true;
}

export function prependPage(page: Projection) {
  batch(() => {
    page.items.forEach(upsertNode);
    const known = new Set([...branch.peek(), ...changeNodes.peek()]);
    const [ids, changes] = splitNodes(page.items.filter(({ id }) => !known.has(id)));
    setBranch([...ids, ...branch.peek()]);
    changeNodes.value = [...changes, ...changeNodes.peek()];
    olderCursor.value = page.next;
  });
}

/** Separates messages and change nodes. */
function splitNodes(items: ChatNode[]): [Id[], Id[]] {
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
export function viewBranch(leaf: Id, page: Projection) {
  batch(() => {
    viewedLeaf.value = leaf;
    branch.value = [];
    applyProjection({ ...page, op: Math.max(newestOp, page.op) });
    quickReplies.value = problems.value = [];
  });
}

export function stopViewingBranch() {
  viewedLeaf.value = null;
}

function setBranch(next: Id[]) {
  const now = branch.peek();
  unread
    .peek()
    .filter((id) => next.includes(id))
    .forEach((id) => setUnread(id, false));
  if (next.length !== now.length || next.some((id, i) => id !== now[i])) branch.value = next;
}

/** Stops watching a generation that became part of the branch or no longer belongs to its end. */
function dropWatchedReply() {
  const id = watchedReply.peek();
  const node = peekNode(id);
  const settled = node?.status === "complete";
  if (id && (settled || branch.peek().includes(id) || !isAtBranchEnd(node))) watchedReply.value = null;
}

/** Whether a generation would continue or replace the end of the branch. */
function isAtBranchEnd(node: ChatNode | null) {
  if (!node) return false;
  const tail = peekNode(branch.peek().at(-1) ?? null);
  return node.parentId === head.peek() || node.parentId === tail?.id || node.parentId === tail?.parentId;
}

/** Watches a reply to the end of the branch, whoever requested it. It may be known before its place is. */
function findWatchedReply() {
  if (watchedReply.peek() !== null || viewedLeaf.peek() !== null) return;
  const end = branch.peek().at(-1);
  const reply = generatingNodes().find((node) => node.parentId === end);
  if (reply) setWatchedReply(reply.id);
}

/** Returns the parent of the next message: HEAD, or a reply on screen that broke off, as its text is kept. */
export function nextParentId() {
  const node = peekNode(watchedReply.peek());
  return node?.status === "error" && node.content ? node.id : head.peek();
}

/** Stops watching a reply, because the user left it. */
export function unwatchReply() {
  watchedReply.value = null;
}

export function setWatchedReply(id: Id) {
  watchedReply.value = id;
}

/**
 * Applies the answer to the user's own request: the new message ends the branch, and its first reply is watched.
 * @param started has no node after a reroll
 */
export function applyStarted({ node, generations = [], op: at = 0 }: TurnStart) {
  newestOp = Math.max(newestOp, at);
  batch(() => {
    generations.forEach(upsertNode);
    if (node) upsertNode(node);
    if (node && !branch.peek().includes(node.id)) {
      const at = branch.peek().findIndex((id) => id === node.id || peekNode(id)?.parentId === node.parentId);
      const above = at < 0 ? branch.peek() : branch.peek().slice(0, at);
      // A message below a reply that broke off brings that reply into the branch.
      const brokenOff = node.parentId === watchedReply.peek() && node.parentId !== null ? [node.parentId] : [];
      setBranch([...above, ...brokenOff, node.id]);
      head.value = node.id;
    }
    quickReplies.value = problems.value = [];
    const first = generations[0];
    if (first && peekNode(first.id)?.status !== "complete") watchedReply.value = first.id;
  });
}

// Events

/** What the page should do after an event: reload the branch, request missing text, or announce a finished reply. */
interface FrameEffects {
  refresh?: true;
  resume?: { id: Id; offset: number; reasoningOffset: number };
  finished?: ChatNode;
}

export function applyFrame(frame: Frame): FrameEffects {
  if ("op" in frame && frame.op) newestOp = Math.max(newestOp, frame.op);
  if ("op" in frame && frame.op && isStep(frame)) recordStep(frame.op);
  switch (frame.type) {
    case "node.created":
      return applyCreated(frame.node);
    case "node.content.updated":
      return applyContent(frame);
    case "node.progress":
      return applyProgress(frame);
    case "node.completed":
      endStream(frame.node.id);
      upsertNode(frame.node);
      return { refresh: true, finished: frame.node };
    case "node.state.updated":
      for (const state of "nodes" in frame ? frame.nodes : [frame]) setNodeState(state);
      return {};
    case "hello":
    case "head.moved":
      return applyHeadMoved(frame.leafId) ? {} : { refresh: true };
    case "tree.changed":
      return { refresh: true };
    case "session.updated":
      updateSession(frame.session ?? (frame.title === undefined ? {} : { title: frame.title }));
      return {};
    default:
      return {};
  }
}

/** Whether an event is a step that undo can take back. Moving HEAD, finishing a reply and viewing are not. */
function isStep(frame: Frame) {
  if (frame.type === "node.state.updated") return ("nodes" in frame ? frame.nodes : [frame]).some(changesState);
  return frame.type === "node.created" || frame.type === "tree.changed" || frame.type === "session.updated";
}

/** Whether a node differs from what the page knows. Having been seen does not count. */
function changesState({ id, isEnabled, effects, rating }: NodeState) {
  const node = peekNode(id ?? null);
  return (
    node !== null &&
    (node.isEnabled !== isEnabled || node.effects !== effects || (node.metadata?.rating ?? null) !== (rating ?? null))
  );
}

function applyCreated(node: ChatNode): FrameEffects {
  const known = peekNode(node.id);
  if (known && known.status !== "generating") return {};
  upsertNode(node);
  const busy = peekNode(watchedReply.peek())?.status === "generating";
  if (node.status === "generating" && !busy && viewedLeaf.peek() === null && isAtBranchEnd(node))
    setWatchedReply(node.id);
  return {};
}

/** Whether HEAD is at the end of the branch, or gets there with one more message. */
function applyHeadMoved(leafId: Id) {
  if (viewedLeaf.peek() !== null || leafId === head.peek()) return true;
  const node = peekNode(leafId);
  if (!node || node.kind === "change" || node.status !== "complete" || node.parentId !== head.peek()) return false;
  batch(() => {
    setBranch([...branch.peek(), leafId]);
    head.value = leafId;
    dropWatchedReply();
    findWatchedReply();
  });
  return true;
}

function applyContent(frame: Extract<Frame, { type: "node.content.updated" }>): FrameEffects {
  const node = peekNode(frame.id);
  if (node?.status !== "generating") return {};
  const stream = streamOf(node);
  if (frame.isWhole) replaceText(stream, frame.contentChunk);
  const whole =
    addPiece(stream, "reasoning", frame.reasoningChunk ?? "", frame.reasoningOffset ?? 0) &&
    addPiece(stream, "text", frame.contentChunk ?? "", frame.offset ?? 0);
  return whole ? {} : { resume: resumeOf(node) };
}

export function resumeOf(node: ChatNode) {
  const stream = streamOf(node);
  return { id: node.id, offset: stream.text.length, reasoningOffset: stream.reasoning.length };
}

function applyProgress(frame: Extract<Frame, { type: "node.progress" }>): FrameEffects {
  const node = peekNode(frame.id);
  if (node?.status !== "generating") return {};
  const { phase, queuePosition } = frame;
  const { queuePosition: _, ...known } = node.metadata;
  upsertNode({ ...node, metadata: { ...known, phase, ...(queuePosition !== undefined && { queuePosition }) } });
  return {};
}

export function setNodeState({ id, isEnabled, effects, rating, isUnread }: NodeState) {
  if (id && isUnread === false) setUnread(id, false);
  const node = peekNode(id ?? null);
  if (!node) return;
  const { rating: before, ...unrated } = node.metadata;
  const stars = rating === undefined ? before : rating;
  const metadata = { ...unrated, ...(stars != null && { rating: stars }) };
  upsertNode({
    ...node,
    ...(isEnabled !== undefined && { isEnabled }),
    ...(effects && { effects }),
    ...(metadata && { metadata }),
  });
}

/** Returns the nodes that are being generated, as far as the page knows. */
export const generatingNodes = (): ChatNode[] =>
  [...nodes.values()].map((n) => n.peek()).filter((n) => n.status === "generating");
