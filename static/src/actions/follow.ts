// Keeps the open story in step with the server: the first reading, the live line, catching up.
import { t } from "../lib/i18n.ts";
import { notFetched } from "../lib/modules.ts";
import { inRounds } from "../lib/rounds.ts";
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
/** The most messages that the server gives at once. */
const MOST_AT_ONCE = 500;

let socket: SessionSocket | null = null;
let openSid: Id | null = null;

/** The open session. Throws where none is, which only a command without its `enabled` could reach. */
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
 * Opens a story; a second call while it opens waits for the same opening.
 * @returns false: it could not be read, or another story was opened meanwhile
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

/** What in the log is no step of anybody. */
const NO_STEPS = new Set(["begin", "reply", "checkout"]);
/** So much of the log is looked at; where more has happened, nobody remembers where they went before. */
const MOST_STEPS = 500;

/** The way back that the tab remembers is one as long as nobody did a step since. */
async function takeUpTrail(id: Id) {
  const since = trail.takeUp(id, story.head.peek());
  if (since === null) return;
  const log = await api.operations(id, { since, limit: MOST_STEPS }).catch(() => null);
  if (openSid !== id) return;
  for (const { op, kind } of log?.items ?? []) if (!NO_STEPS.has(kind)) trail.stepped(op);
  if (log === null || log.next !== null) trail.stepped(story.op);
}

/** A story cannot be read, or no longer: says why, and where it lies. */
async function closed(id: Id, error: ApiError) {
  const module = error.status === 404 ? await import("../net/trash.ts").catch(notFetched) : null;
  const page = (await module?.trash({ limit: 200 }).catch(() => null)) ?? null;
  if (openSid !== id) return;
  socket?.close();
  socket = null;
  openDialog(null);
  story.beginStory(true);
  story.storyFailed(error, page?.items.find((item) => item.id === id) ?? null);
}

/** A line that is lost may be that of a story which was deleted elsewhere. */
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
        // Whatever nobody was told of meanwhile.
        if (story.showsOtherwise()) readFar();
        void refresh();
      }
      if (!online) void lookAfter(id);
    },
  });
}

const listeners: Set<(frame: Frame) => void> = new Set();

/**
 * Tells of every frame, also those that change nothing of the story.
 * @returns ends it
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
  // What plugins show of a reply goes by its world and by who plays, and no frame tells it of replies that were there
  // before.
  if ((doubt || frame.type === "session.updated") && story.showsOtherwise()) {
    readFar();
    wish.refresh = true;
  }
  if (doubt && !wish.refresh) doubtDeltas();
  if (wish.refresh) void refresh().then(() => after(wish.finished, doubt));
}

/** What waits until the line is read anew: what stood on the old one may be gone. */
function after(finished: ChatNode | undefined, doubt: boolean | string | undefined) {
  if (doubt) doubtDeltas();
  if (finished) announce(finished);
}

function resume(from: { id: Id; offset: number; reasoningOffset: number }) {
  socket?.send({ type: "resume", ...from });
}

/**
 * Whether the next reading is of all of the line that is here, where plugins may show what was there before in another
 * way.
 */
let isFar = false;

const readFar = () => void (isFar = true);

/**
 * Reads the line anew with what plugins show of it: they have other code, which may also name and offer other things.
 */
export async function readShown() {
  readFar();
  await refresh();
  doubtDeltas();
}

const readings = inRounds(readLine);

/** Reads the line anew. Calls during a reading lead to one more reading, not to many. */
export const refresh = readings.ask;

/** Waits for the readings of the line that were asked for. */
export const readingEnds = readings.ends;

/** So often an answer may be older than what the page knows already. */
const MOST_STALE = 5;

async function readLine() {
  for (let stale = 0; stale < MOST_STALE; stale += 1) {
    const id = openSid;
    if (id === null) return;
    const leaf = story.peek.peek();
    const wasFar = isFar;
    isFar = false;
    const page = await attempt(() => api.projection(id, { limit: PAGE, ...(leaf ? { leaf } : {}) }));
    const isOurs = openSid === id && leaf === story.peek.peek();
    if (page && isOurs && story.applyProjection(page)) {
      // What was not read is still to be.
      if (wasFar && !(await readUp(id, page))) isFar = true;
      return;
    }
    isFar ||= wasFar;
    // Who opened another story or looks elsewhere meanwhile has read that line.
    if (!page || !isOurs) return;
  }
}

/**
 * Reads what is on the page above the newest messages of its line, piece by piece.
 * @returns whether all of it was read
 */
async function readUp(id: Id, newest: Projection): Promise<boolean> {
  const first = story.line.peek()[0];
  if (first === undefined) return true;
  const after = (page: Projection) => (page.items.some((node) => node.id === first) ? null : page.next);
  let stale = 0;
  for (let before = after(newest); before !== null; ) {
    const at = before;
    const page = await attempt(() => api.projection(id, { leaf: newest.leafId, before: at, limit: MOST_AT_ONCE }));
    if (!page || openSid !== id) return false;
    if (story.putAgain(page)) before = after(page);
    else if ((stale += 1) >= MOST_STALE) return false;
  }
  return true;
}

/** After a reload: a reply that is being written, or that failed, is in nobody's line. Look for it at the end. */
async function findUnfinished() {
  const tail = story.peekNode(story.line.peek().at(-1) ?? null);
  if (!tail) return;
  const last = tail.role === "assistant" ? tail.siblings?.ids.at(-1) : tail.childrenIds?.at(-1);
  if (!last || last === tail.id) return;
  const node = await api.oneNode(sid(), last).catch(() => null);
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

/** The reader does not want to be told any longer of what was finished elsewhere. */
export function passUnread() {
  for (const id of story.unread.peek()) {
    story.putUnread(id, false);
    if (story.peekNode(id)?.isUnread) void api.setState(sid(), id, { isUnread: false }).catch(() => null);
  }
}

/**
 * Moves HEAD and shows the line that leads there. The way back is remembered.
 * @param exact stand on this very node
 */
export const visit = async (nid: Id, exact: boolean = false) => (await go(nid, exact, true)) !== null;

/** Moves HEAD like a visit, and remembers no way back. */
export const stand = (nid: Id, exact: boolean) => go(nid, exact, false);

let going: Promise<unknown> = Promise.resolve();

/** Waits until the reader has arrived where they went last. */
export const arrival = () => going;

/** One move after the other: where a move begins is known when the one before it has ended. */
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

/** Loads the page above. */
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
