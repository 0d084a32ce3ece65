// Keeps the open session in sync with the server: first load, WebSocket, catching up.
import { t } from "../lib/i18n.ts";
import { ignoreFetchFailure } from "../lib/modules.ts";
import { coalesce } from "../lib/coalesce.ts";
import { plain } from "../lib/text.ts";
import { openDialog, passHint, speak } from "../model/page.ts";
import { doubtDeltas } from "../model/deltas.ts";
import * as library from "../model/library.ts";
import * as story from "../model/story.ts";
import * as trail from "../model/trail.ts";
import * as api from "../net/api.ts";
import { ApiError } from "../net/api.ts";
import { SessionSocket } from "../net/socket.ts";
import { attempt } from "./failure.ts";
import type { ChatNode, Frame, Id, Projection } from "../lib/wire.d.ts";

export const PAGE = 60;
/** Maximum number of messages in one response of the server. */
const MAX_AT_ONCE = 500;

let socket: SessionSocket | null = null;
let openSid: Id | null = null;

/** Returns the open session. Throws if there is none, which only a command without `enabled` could cause. */
export function sid() {
  if (openSid === null) throw new Error("no session is open");
  return openSid;
}

export function closeStory() {
  passHint();
  speak("");
  socket?.close();
  socket = null;
  openSid = null;
  story.beginStory(false);
}

let opening: { id: Id; done: Promise<boolean> } | null = null;

/**
 * Opens a session. A second call for the same session waits for the first.
 * @returns false if it could not be read, or if another session was opened meanwhile
 */
export function openStory(id: Id): Promise<boolean> {
  if (opening?.id === id && openSid === id) return opening.done;
  const mine = { id, done: readStory(id).finally(() => opening === mine && (opening = null)) };
  opening = mine;
  return mine.done;
}

async function readStory(id: Id) {
  closeStory();
  openSid = id;
  story.beginStory(true);
  try {
    const [session, page] = await Promise.all([api.session(id), api.projection(id, { limit: PAGE })]);
    if (openSid !== id) return false;
    story.putSession(session);
    story.applyProjection(page);
    await takeUpTrail(id);
    if (openSid !== id) return false;
    story.storyReady();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    await closed(id, error);
    return false;
  }
  await findUnfinished();
  if (openSid === id) listen(id);
  return openSid === id;
}

/** Kinds of log entries that are not steps. */
const NO_STEPS = new Set(["begin", "reply", "checkout"]);
/** Maximum number of log entries to read. If there are more, the remembered moves of HEAD are dropped. */
const MAX_STEPS = 500;

/** Restores the moves of HEAD that this tab remembers. They are valid only until the next step of anyone. */
async function takeUpTrail(id: Id) {
  const since = trail.takeUp(id, story.head.peek());
  if (since === null) return;
  const log = await api.operations(id, { since, limit: MAX_STEPS }).catch(() => null);
  if (openSid !== id) return;
  for (const { op, kind } of log?.items ?? []) if (!NO_STEPS.has(kind)) trail.stepped(op);
  if (log === null || log.next !== null) trail.stepped(story.op);
}

/** Shows why a session cannot be read (any more), and whether it is in the trash. */
async function closed(id: Id, error: ApiError) {
  const module = error.status === 404 ? await import("../net/trash.ts").catch(ignoreFetchFailure) : null;
  const page = (await module?.trash({ limit: 200 }).catch(() => null)) ?? null;
  if (openSid !== id) return;
  socket?.close();
  socket = null;
  openDialog(null);
  story.beginStory(true);
  story.storyFailed(error, page?.items.find((item) => item.id === id) ?? null);
}

/** Checks after a lost connection whether the session was deleted elsewhere. */
async function lookAfter(id: Id) {
  const error = await api.session(id).then(
    () => null,
    (why) => why,
  );
  if (openSid === id && error instanceof ApiError && error.status === 404) await closed(id, error);
}

function listen(id: Id) {
  socket = new SessionSocket(id, {
    since: () => story.op,
    frame: (frame) => openSid === id && heard(frame),
    dead: api.doubtReads,
    state: (online) => {
      if (openSid !== id) return;
      const back = online && !story.online.peek();
      story.setOnline(online);
      if (online) for (const node of story.generating()) resume(story.resumeOf(node));
      if (back) {
        // Loads whatever changed while the connection was lost.
        if (story.showsOtherwise()) readFar();
        void refresh();
      }
      if (!online) void lookAfter(id);
    },
  });
}

const listeners: Set<(frame: Frame) => void> = new Set();

/**
 * Calls a listener for every frame, including those that do not change the session.
 * @returns a function that removes the listener
 */
export function hear(listener: (frame: Frame) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function heard(frame: Frame) {
  listeners.forEach((listener) => listener(frame));
  const wish = story.applyFrame(frame);
  if (wish.resume) resume(wish.resume);
  const session = story.session.peek();
  if (frame.type === "session.updated" && session) library.putSession(session);
  const doubt = frame.type === "tree.changed" || (frame.type === "node.state.updated" && frame.effects);
  // The display of replies depends on the state and the persona. No frame reports this for older replies.
  if ((doubt || frame.type === "session.updated") && story.showsOtherwise()) {
    readFar();
    wish.refresh = true;
  }
  if (doubt && !wish.refresh) doubtDeltas();
  if (wish.refresh) void refresh().then(() => after(wish.finished, doubt));
}

/** Handles what must wait until the branch is read again, because old messages may be gone. */
function after(finished: ChatNode | undefined, doubt: boolean | string | undefined) {
  if (doubt) doubtDeltas();
  if (finished) announce(finished);
}

function resume(from: { id: Id; offset: number; reasoningOffset: number }) {
  socket?.send({ type: "resume", ...from });
}

/** Whether the next read covers the whole loaded branch, because plugins may display older messages differently. */
let isFar = false;

const readFar = () => void (isFar = true);

/**
 * Reads the branch and its display again after the code of plugins changed. Their names and suggestions may change too.
 */
export async function readShown() {
  readFar();
  await refresh();
  doubtDeltas();
}

const readings = coalesce(readLine);

/** Reads the branch again. Several calls during a read cause only one more read. */
export const refresh = readings.ask;

/** Waits for all requested reads of the branch. */
export const readingEnds = readings.ends;

/** Maximum number of times that an answer may be older than what the page already knows. */
const MAX_STALE = 5;

async function readLine() {
  for (let stale = 0; stale < MAX_STALE; stale += 1) {
    const id = openSid;
    if (id === null) return;
    const leaf = story.peek.peek();
    const wasFar = isFar;
    isFar = false;
    const page = await attempt(() => api.projection(id, { limit: PAGE, ...(leaf ? { leaf } : {}) }));
    const isOurs = openSid === id && leaf === story.peek.peek();
    if (page && isOurs && story.applyProjection(page)) {
      // Parts that were not read are still to be read.
      if (wasFar && !(await readUp(id, page))) isFar = true;
      return;
    }
    isFar ||= wasFar;
    // If the user opened another session or views another branch meanwhile, that branch has already been read.
    if (!page || !isOurs) return;
  }
}

/**
 * Reads the loaded messages above the newest page of a branch, page by page.
 * @returns whether all were read
 */
async function readUp(id: Id, newest: Projection): Promise<boolean> {
  const first = story.line.peek()[0];
  if (first === undefined) return true;
  const after = (page: Projection) => (page.items.some((node) => node.id === first) ? null : page.next);
  let stale = 0;
  for (let before = after(newest); before !== null; ) {
    const at = before;
    const page = await attempt(() => api.projection(id, { leaf: newest.leafId, before: at, limit: MAX_AT_ONCE }));
    if (!page || openSid !== id) return false;
    if (story.putAgain(page)) before = after(page);
    else if ((stale += 1) >= MAX_STALE) return false;
  }
  return true;
}

/**
 * Finds an unfinished or failed reply after a reload. It is on no branch, so this looks below the end of the branch.
 */
async function findUnfinished() {
  const tail = story.peekNode(story.line.peek().at(-1) ?? null);
  if (!tail) return;
  const last = tail.role === "assistant" ? tail.siblings?.ids.at(-1) : tail.childrenIds?.at(-1);
  if (!last || last === tail.id) return;
  const node = await api.readNode(sid(), last).catch(() => null);
  if (node?.role !== "assistant" || node.status === "complete") return;
  if (node.status === "error" && tail.role === "assistant") return;
  story.putNode(node);
  story.watch(node.id);
}

function announce(node: ChatNode) {
  if (node.role !== "assistant" || openSid === null) return;
  if (story.line.peek().includes(node.id)) {
    speak(`${node.name ?? ""}: ${plain(node.display ?? node.content).slice(0, 1500)}`);
  } else if (story.watched.peek() === node.id) {
    speak(t("message.failed"));
  } else if (node.status === "complete") {
    story.putUnread(node.id, true);
    speak(t("notice.finishedElsewhere", { name: node.name ?? "" }));
  }
}

/** Marks the replies that finished elsewhere as read. */
export function passUnread() {
  for (const id of story.unread.peek()) {
    story.putUnread(id, false);
    if (story.peekNode(id)?.isUnread) void api.setState(sid(), id, { isUnread: false }).catch(() => null);
  }
}

/**
 * Moves HEAD and shows its branch. The move is recorded for undo.
 * @param exact whether HEAD goes to exactly this node
 */
export const visit = async (nid: Id, exact: boolean = false) => (await go(nid, exact, true)) !== null;

/** Moves HEAD like `visit`, but does not record the move for undo. */
export const stand = (nid: Id, exact: boolean) => go(nid, exact, false);

let going: Promise<unknown> = Promise.resolve();

/** Waits until the last requested move of HEAD is done. */
export const arrival = () => going;

/** Runs moves of HEAD one after the other. A move knows its start only when the previous one has ended. */
function go(nid: Id, exact: boolean, isRemembered: boolean) {
  const id = sid();
  const arriving = going.then(() => (openSid === id ? move(id, nid, exact, isRemembered) : null));
  going = arriving.catch(() => null);
  return arriving;
}

async function move(id: Id, nid: Id, exact: boolean, isRemembered: boolean) {
  const from = story.head.peek();
  if (isRemembered && from) trail.setOut(from, story.op);
  const moved = await attempt(() => api.checkout(id, nid, exact));
  if (!moved || openSid !== id) return null;
  if (isRemembered && from) trail.went({ from, to: moved.leafId, op: moved.op });
  story.leavePeek();
  await refresh();
  await findUnfinished();
  return openSid === id ? moved : null;
}

/** Loads the page of older messages. */
export async function loadOlder(limit: number = PAGE) {
  const before = story.older.peek();
  const id = openSid;
  if (before === null || id === null || story.loadingOlder.peek()) return;
  story.setLoadingOlder(true);
  const leaf = story.peek.peek() ?? story.head.peek();
  const page = await attempt(() => api.projection(id, { before, limit, ...(leaf ? { leaf } : {}) }));
  if (page && openSid === id && story.older.peek() === before) story.prependPage(page);
  story.setLoadingOlder(false);
}
