// Keeps the open session in sync with the server: first load, WebSocket, catching up.
import { t } from "../lib/i18n.ts";
import { ignoreFetchFailure } from "../lib/modules.ts";
import { coalesce } from "../lib/coalesce.ts";
import { plainText } from "../lib/text.ts";
import { openDialog, hideHint, announce } from "../model/page.ts";
import { invalidateDeltas } from "../model/deltas.ts";
import * as library from "../model/library.ts";
import * as store from "../model/session-store.ts";
import * as headMoves from "../model/head-moves.ts";
import * as api from "../net/api.ts";
import { ApiError } from "../net/api.ts";
import { SessionSocket } from "../net/socket.ts";
import { attempt } from "./error-text.ts";
import type { ChatNode, Frame, Id, Projection } from "../lib/wire.d.ts";

export const PAGE_SIZE = 60;
/** Maximum number of messages in one response of the server. */
const MAX_PAGE_SIZE = 500;

let socket: SessionSocket | null = null;
let openSid: Id | null = null;

/** Returns the open session. Throws if there is none, which only a command without `enabled` could cause. */
export function sid() {
  if (openSid === null) throw new Error("no session is open");
  return openSid;
}

export function closeSession() {
  hideHint();
  announce("");
  socket?.close();
  socket = null;
  openSid = null;
  store.resetSession(false);
}

let opening: { id: Id; done: Promise<boolean> } | null = null;

/**
 * Opens a session. A second call for the same session waits for the first.
 * @returns false if it could not be read, or if another session was opened meanwhile
 */
export function openSession(id: Id): Promise<boolean> {
  if (opening?.id === id && openSid === id) return opening.done;
  const mine = { id, done: loadSession(id).finally(() => opening === mine && (opening = null)) };
  opening = mine;
  return mine.done;
}

async function loadSession(id: Id) {
  closeSession();
  openSid = id;
  store.resetSession(true);
  try {
    const [session, page] = await Promise.all([api.session(id), api.projection(id, { limit: PAGE_SIZE })]);
    if (openSid !== id) return false;
    store.updateSession(session);
    store.applyProjection(page);
    await restoreHeadMoves(id);
    if (openSid !== id) return false;
    store.setSessionReady();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    await showClosedSession(id, error);
    return false;
  }
  await findUnfinished();
  if (openSid === id) connect(id);
  return openSid === id;
}

/** Kinds of log entries that are not steps. */
const NON_STEP_KINDS = new Set(["begin", "reply", "checkout"]);
/** Maximum number of log entries to read. If there are more, the remembered moves of HEAD are dropped. */
const MAX_LOG_ENTRIES = 500;

/** Restores the moves of HEAD that this tab remembers. They are valid only until the next step of anyone. */
async function restoreHeadMoves(id: Id) {
  const since = headMoves.restoreMoves(id, store.head.peek());
  if (since === null) return;
  const log = await api.operations(id, { since, limit: MAX_LOG_ENTRIES }).catch(() => null);
  if (openSid !== id) return;
  for (const { op, kind } of log?.items ?? []) if (!NON_STEP_KINDS.has(kind)) headMoves.recordStep(op);
  if (log === null || log.next !== null) headMoves.recordStep(store.newestOp);
}

/** Shows why a session cannot be read (any more), and whether it is in the trash. */
async function showClosedSession(id: Id, error: ApiError) {
  const module = error.status === 404 ? await import("../net/trash.ts").catch(ignoreFetchFailure) : null;
  const page = (await module?.trash({ limit: 200 }).catch(() => null)) ?? null;
  if (openSid !== id) return;
  socket?.close();
  socket = null;
  openDialog(null);
  store.resetSession(true);
  store.setSessionFailed(error, page?.items.find((item) => item.id === id) ?? null);
}

/** Checks after a lost connection whether the session was deleted elsewhere. */
async function checkDeleted(id: Id) {
  const error = await api.session(id).then(
    () => null,
    (why) => why,
  );
  if (openSid === id && error instanceof ApiError && error.status === 404) await showClosedSession(id, error);
}

function connect(id: Id) {
  socket = new SessionSocket(id, {
    since: () => store.newestOp,
    frame: (frame) => openSid === id && handleFrame(frame),
    dead: api.retryReads,
    state: (online) => {
      if (openSid !== id) return;
      const back = online && !store.online.peek();
      store.setOnline(online);
      if (online) for (const node of store.generatingNodes()) requestMissingText(store.resumeOf(node));
      if (back) {
        // Loads whatever changed while the connection was lost.
        if (store.hasDisplayedTexts()) requestFullRead();
        void refresh();
      }
      if (!online) void checkDeleted(id);
    },
  });
}

const listeners: Set<(frame: Frame) => void> = new Set();

/**
 * Calls a listener for every frame, including those that do not change the session.
 * @returns a function that removes the listener
 */
export function onFrame(listener: (frame: Frame) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function handleFrame(frame: Frame) {
  listeners.forEach((listener) => listener(frame));
  const effects = store.applyFrame(frame);
  if (effects.resume) requestMissingText(effects.resume);
  const session = store.session.peek();
  if (frame.type === "session.updated" && session) library.updateSession(session);
  const mayChangeState = frame.type === "tree.changed" || (frame.type === "node.state.updated" && frame.effects);
  // The display of replies depends on the state and the persona. No frame reports this for older replies.
  if ((mayChangeState || frame.type === "session.updated") && store.hasDisplayedTexts()) {
    requestFullRead();
    effects.refresh = true;
  }
  if (mayChangeState && !effects.refresh) invalidateDeltas();
  if (effects.refresh) void refresh().then(() => afterRefresh(effects.finished, mayChangeState));
}

/** Handles what must wait until the branch is read again, because old messages may be gone. */
function afterRefresh(finished: ChatNode | undefined, mayChangeState: boolean | string | undefined) {
  if (mayChangeState) invalidateDeltas();
  if (finished) announceReply(finished);
}

function requestMissingText(from: { id: Id; offset: number; reasoningOffset: number }) {
  socket?.send({ type: "resume", ...from });
}

/** Whether the next read covers the whole loaded branch, because plugins may display older messages differently. */
let isFullReadDue = false;

const requestFullRead = () => void (isFullReadDue = true);

/**
 * Reads the branch and its display again after the code of plugins changed. Their names and suggestions may change too.
 */
export async function refreshDisplay() {
  requestFullRead();
  await refresh();
  invalidateDeltas();
}

const branchReads = coalesce(readBranch);

/** Reads the branch again. Several calls during a read cause only one more read. */
export const refresh = branchReads.request;

/** Waits for all requested reads of the branch. */
export const branchReadsDone = branchReads.whenDone;

/** Maximum number of times that an answer may be older than what the page already knows. */
const MAX_STALE_ANSWERS = 5;

async function readBranch() {
  for (let stale = 0; stale < MAX_STALE_ANSWERS; stale += 1) {
    const id = openSid;
    if (id === null) return;
    const leaf = store.viewedLeaf.peek();
    const wasFullRead = isFullReadDue;
    isFullReadDue = false;
    const page = await attempt(() => api.projection(id, { limit: PAGE_SIZE, ...(leaf ? { leaf } : {}) }));
    const isOurs = openSid === id && leaf === store.viewedLeaf.peek();
    if (page && isOurs && store.applyProjection(page)) {
      // Parts that were not read are still to be read.
      if (wasFullRead && !(await readOlderPages(id, page))) isFullReadDue = true;
      return;
    }
    isFullReadDue ||= wasFullRead;
    // If the user opened another session or views another branch meanwhile, that branch has already been read.
    if (!page || !isOurs) return;
  }
}

/**
 * Reads the loaded messages above the newest page of a branch, page by page.
 * @returns whether all were read
 */
async function readOlderPages(id: Id, newest: Projection): Promise<boolean> {
  const first = store.branch.peek()[0];
  if (first === undefined) return true;
  const after = (page: Projection) => (page.items.some((node) => node.id === first) ? null : page.next);
  let stale = 0;
  for (let before = after(newest); before !== null; ) {
    const at = before;
    const page = await attempt(() => api.projection(id, { leaf: newest.leafId, before: at, limit: MAX_PAGE_SIZE }));
    if (!page || openSid !== id) return false;
    if (store.updateLoadedNodes(page)) before = after(page);
    else if ((stale += 1) >= MAX_STALE_ANSWERS) return false;
  }
  return true;
}

/**
 * Finds an unfinished or failed reply after a reload. It is on no branch, so this looks below the end of the branch.
 */
async function findUnfinished() {
  const tail = store.peekNode(store.branch.peek().at(-1) ?? null);
  if (!tail) return;
  const last = tail.role === "assistant" ? tail.siblings?.ids.at(-1) : tail.childrenIds?.at(-1);
  if (!last || last === tail.id) return;
  const node = await api.readNode(sid(), last).catch(() => null);
  if (node?.role !== "assistant" || node.status === "complete") return;
  if (node.status === "error" && tail.role === "assistant") return;
  store.upsertNode(node);
  store.setWatchedReply(node.id);
}

function announceReply(node: ChatNode) {
  if (node.role !== "assistant" || openSid === null) return;
  if (store.branch.peek().includes(node.id)) {
    announce(`${node.name ?? ""}: ${plainText(node.display ?? node.content).slice(0, 1500)}`);
  } else if (store.watchedReply.peek() === node.id) {
    announce(t("message.failed"));
  } else if (node.status === "complete") {
    store.setUnread(node.id, true);
    announce(t("notice.finishedElsewhere", { name: node.name ?? "" }));
  }
}

/** Marks the replies that finished elsewhere as read. */
export function markUnreadAsRead() {
  for (const id of store.unread.peek()) {
    store.setUnread(id, false);
    if (store.peekNode(id)?.isUnread) void api.setState(sid(), id, { isUnread: false }).catch(() => null);
  }
}

/**
 * Moves HEAD and shows its branch. The move is recorded for undo.
 * @param exact whether HEAD goes to exactly this node
 */
export const moveHead = async (nid: Id, exact: boolean = false) => (await queueHeadMove(nid, exact, true)) !== null;

/** Moves HEAD like `moveHead`, but does not record the move for undo. */
export const moveHeadUnrecorded = (nid: Id, exact: boolean) => queueHeadMove(nid, exact, false);

let runningMoves: Promise<unknown> = Promise.resolve();

/** Waits until the last requested move of HEAD is done. */
export const headMovesDone = () => runningMoves;

/** Runs moves of HEAD one after the other. A move knows its start only when the previous one has ended. */
function queueHeadMove(nid: Id, exact: boolean, isRemembered: boolean) {
  const id = sid();
  const arriving = runningMoves.then(() => (openSid === id ? executeHeadMove(id, nid, exact, isRemembered) : null));
  runningMoves = arriving.catch(() => null);
  return arriving;
}

async function executeHeadMove(id: Id, nid: Id, exact: boolean, isRemembered: boolean) {
  const from = store.head.peek();
  if (isRemembered && from) headMoves.startMove(from, store.newestOp);
  const moved = await attempt(() => api.checkout(id, nid, exact));
  if (!moved || openSid !== id) return null;
  if (isRemembered && from) headMoves.finishMove({ from, to: moved.leafId, op: moved.op });
  store.stopViewingBranch();
  await refresh();
  await findUnfinished();
  return openSid === id ? moved : null;
}

/** Loads the page of older messages. */
export async function loadOlder(limit: number = PAGE_SIZE) {
  const before = store.olderCursor.peek();
  const id = openSid;
  if (before === null || id === null || store.loadingOlder.peek()) return;
  store.setLoadingOlder(true);
  const leaf = store.viewedLeaf.peek() ?? store.head.peek();
  const page = await attempt(() => api.projection(id, { before, limit, ...(leaf ? { leaf } : {}) }));
  if (page && openSid === id && store.olderCursor.peek() === before) store.prependPage(page);
  store.setLoadingOlder(false);
}
