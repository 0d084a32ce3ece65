// The list of stories: search, order, folders, tags, pins, and changes of several stories at once.
import { coalesce } from "../lib/coalesce.ts";
import { t } from "../lib/i18n.ts";
import * as library from "../model/library.ts";
import { openDialog, notify } from "../model/page.ts";
import * as model from "../model/session-list.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/session-list.ts";
import { restore as restoreItem } from "../net/api.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { navigate } from "./navigation.ts";
import type { Id, Session, SessionArrangement, SessionsChange } from "../lib/wire.d.ts";
import type { SessionFilter, SessionOrder } from "../model/session-list.ts";

/** Number of the last read of the list; only its result is shown. */
let lastRead = 0;

/** Reads the stories that the filter shows, and the folders and tags. */
export async function readSessionList() {
  const read = (lastRead += 1);
  const wanted = { filter: model.sessionFilter.peek(), order: model.sessionOrder.peek() };
  const page = await attempt(() => api.filteredSessions(wanted));
  if (!page || read !== lastRead) return;
  library.setSessions(page.items, page.next);
}

/** Reads the folders and tags, and what open folders have. Without a connection, the known ones stay. */
export async function readSessionGroups() {
  const groups = await Promise.all([api.sessionFolders(), api.sessionTags()]).catch(() => null);
  if (!groups) return;
  model.setSessionGroups(...groups);
  if (!model.isFiltered(model.sessionFilter.peek())) await Promise.all([...model.openFolders.peek()].map(readFolder));
}

/** Reads the stories of a folder that the list has not read yet. */
async function readFolder(name: string) {
  const known = model.folders.peek().find((folder) => folder.name === name);
  const count = library.sessions.peek().filter(({ folder }) => folder === name).length;
  if (!known || known.count <= count) return;
  const all = await attempt(() => api.sessionsInFolder(name, model.sessionOrder.peek()));
  if (all) library.addSessions(all, library.moreSessions.peek());
}

export async function openFolder(name: string, isOpen: boolean) {
  model.setFolderOpen(name, isOpen);
  if (isOpen) await readFolder(name);
}

/** Changes the filter. */
export function filterSessions(change: Partial<SessionFilter> | null) {
  model.changeSessionFilter(change);
  void reading.request();
}

/** Reads the list once more if it is read already, with the newest filter. */
const reading = coalesce(readSessionList);

export function sortSessions(order: SessionOrder) {
  model.setSessionOrder(order);
  void readSessionList();
}

/** Shows the stories with a character on the first page. */
export function showChatsOf(characterId: Id) {
  model.changeSessionFilter(null);
  model.changeSessionFilter({ characterId });
  openDialog(null);
  navigate("/");
  void readSessionList();
}

export function toggleSelected(sid: Id) {
  const next = new Set(model.selectedSessions.peek());
  if (!next.delete(sid)) next.add(sid);
  model.selectSessions(next);
}

/** Changes folder, tags or pin of one story. */
export async function arrangeSession(session: Session, changes: SessionArrangement) {
  const changed = await attempt(() => api.arrangeSession(session.id, changes));
  if (!changed) return;
  openDialog(null);
  await readSessionList();
  notifyChanged([session]);
}

/**
 * Changes several stories, one change after the other. Those that were refused are counted in a notice.
 * @param changes what happens to each of them
 */
export async function changeSessions(ids: Id[], changes: Omit<SessionsChange, "ids">[]) {
  const before = library.sessions.peek().filter(({ id }) => ids.includes(id));
  const refused = new Set<Id>();
  const isSent = await attempt(async () => {
    for (const change of changes)
      for (const { id, isDone } of await api.changeSessions({ ids, ...change })) if (!isDone) refused.add(id);
    return true;
  });
  if (isSent) openDialog(null);
  model.selectSessions(null);
  await readSessionList();
  if (refused.size > 0) notify({ tone: "error", text: t("stories.refused", { n: refused.size }) });
  const changed = before.filter(({ id }) => !refused.has(id));
  if (!isSent || changed.length === 0) return;
  if (changes.some(({ action }) => action === "delete")) notifyTrashed(changed.map(({ id }) => id));
  else notifyChanged(changed);
}

/** @param before the stories as they were */
function notifyChanged(before: Session[]) {
  const undo = async () => {
    await attempt(async () => {
      for (const { id, folder, tags, isPinned } of before) await api.arrangeSession(id, { folder, tags, isPinned });
    });
    await readSessionList();
  };
  notify({
    tone: "quiet",
    text: t("stories.changed", { n: before.length }),
    action: { label: "command.undo", run: () => void undo() },
  });
}

function notifyTrashed(ids: Id[]) {
  const undo = async () => {
    await attempt(async () => {
      for (const id of ids) await restoreItem(id);
    });
    await readSessionList();
  };
  notify({
    tone: "quiet",
    text: t("stories.trashed", { n: ids.length }),
    action: { label: "command.restore", run: () => void undo() },
  });
}

register({
  id: "session.chatsOf",
  label: "stories.chatsOfThis",
  icon: "chat",
  scope: "page",
  enabled: () => (store.session.value?.characterIds.length ?? 0) > 0,
  run: () => {
    const character = store.session.peek()?.characterIds[0];
    if (character) showChatsOf(character);
  },
});
