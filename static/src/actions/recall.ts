// What the open session recalls, and the documents that it searches.
import { openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { readNode, trace } from "../net/api.ts";
import * as api from "../net/recall.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import type { Document, Id, Recall, SummarySettings } from "../lib/wire.d.ts";

/** Changes the recall settings of the open session. */
export async function changeRecall(recall: Recall) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.setRecall(open.id, recall)));
  if (changed && store.session.peek()?.id === changed.id) store.updateSession({ recall: changed.recall ?? recall });
}

/** Changes the settings for automatic summaries of the open session. */
export async function changeSummaries(summaries: SummarySettings) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.setSummaries(open.id, summaries)));
  if (changed && store.session.peek()?.id === changed.id)
    store.updateSession({ summaries: changed.summaries ?? summaries });
}

/** Reads the summaries of the branch on screen. */
export const readSummaries = () =>
  attempt(() => api.summaries(store.session.peek()?.id ?? "", store.branch.peek().at(-1)));

/** Returns the text of a message, loaded if necessary; "" if the message is gone. */
export const readMessageText = async (id: Id): Promise<string> =>
  (store.peekNode(id) ?? (await readNode(store.session.peek()?.id ?? "", id).catch(() => null)))?.content ?? "";

/** Returns the summaries in the prompt of the newest reply on screen. */
export async function readSentSummaries(): Promise<Id[]> {
  const newest = store.branch.peek().findLast((id) => Boolean(store.peekNode(id)?.metadata?.model));
  const result = newest && (await trace(store.session.peek()?.id ?? "", newest).catch(() => null));
  return (result ? result.summaries?.texts?.map(({ id }) => id) : null) ?? [];
}

/**
 * Changes the text of a summary, unless somebody else changed it since it was read.
 * @param was the text as read; null: no check
 */
export const correctSummary = (
  id: Id,
  content: string,
  was: string | null,
): Promise<true | { theirs: string } | undefined> =>
  attempt(async () => {
    const sid = store.session.peek()?.id ?? "";
    if (was !== null) {
      const now = (await api.summaries(sid, store.branch.peek().at(-1))).items.find((one) => one.id === id);
      if (now && now.content !== was) return { theirs: now.content };
    }
    await api.correctSummary(sid, id, content);
    return true;
  });

/** Drops a summary, so that it is made again. */
export const dropSummary = (id: Id) =>
  attempt(async () => (await api.dropSummary(store.session.peek()?.id ?? "", id), true));

export const readCollections = () => attempt(api.collections);

/** Reads all documents of a collection. */
export const readDocuments = (collection: string) =>
  attempt(async () => {
    const all: Document[] = [];
    for (let next = undefined as string | null | undefined; next !== null; ) {
      const page = await api.documents(collection, next);
      all.push(...page.items);
      next = page.next;
    }
    return all;
  });

/**
 * Adds a document.
 * @param key the same for the same text, so that it is stored once
 */
export const addDocument = (collection: string, content: string, key: string) =>
  attempt(() => api.addDocument(collection, content, key));

export const removeDocument = (id: Id) => attempt(async () => (await api.removeDocument(id), true));

register({
  id: "session.recall",
  label: "command.recall",
  icon: "bookmark",
  scope: "page",
  enabled: () => store.session.value !== null,
  run: () => openDialog({ kind: "recall" }),
});
