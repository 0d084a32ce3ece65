// What the open story recalls, and the documents that it looks through.
import { openDialog } from "../model/page.ts";
import * as story from "../model/story.ts";
import { oneNode, trace } from "../net/api.ts";
import * as api from "../net/recall.ts";
import { register } from "./commands.ts";
import { attempt } from "./failure.ts";
import type { Document, Id, Recall, SummarySettings } from "../lib/wire.d.ts";

/** What the open story recalls from now on. */
export async function changeRecall(recall: Recall) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.setRecall(open.id, recall)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ recall: changed.recall ?? recall });
}

/** Whether the open story sums itself up from now on. */
export async function changeSummaries(summaries: SummarySettings) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.setSummaries(open.id, summaries)));
  if (changed && story.session.peek()?.id === changed.id)
    story.putSession({ summaries: changed.summaries ?? summaries });
}

/** The summaries of the line on screen. */
export const readSummaries = () =>
  attempt(() => api.summaries(story.session.peek()?.id ?? "", story.line.peek().at(-1)));

/** How a message reads, from the page where it is there; nothing where it is gone. */
export const readEnd = async (id: Id): Promise<string> =>
  (story.peekNode(id) ?? (await oneNode(story.session.peek()?.id ?? "", id).catch(() => null)))?.content ?? "";

/** The summaries that the prompt of the newest reply on screen told. */
export async function readTold(): Promise<Id[]> {
  const newest = story.line.peek().findLast((id) => Boolean(story.peekNode(id)?.metadata?.model));
  const made = newest && (await trace(story.session.peek()?.id ?? "", newest).catch(() => null));
  return (made ? made.summaries?.texts?.map(({ id }) => id) : null) ?? [];
}

/**
 * Gives a summary another text, unless it says something else by now than when it was read.
 * @param was null: whatever it says
 */
export const correct = (id: Id, content: string, was: string | null): Promise<true | { theirs: string } | undefined> =>
  attempt(async () => {
    const sid = story.session.peek()?.id ?? "";
    if (was !== null) {
      const now = (await api.summaries(sid, story.line.peek().at(-1))).items.find((one) => one.id === id);
      if (now && now.content !== was) return { theirs: now.content };
    }
    await api.correctSummary(sid, id, content);
    return true;
  });

/** Has a summary made anew. */
export const anew = (id: Id) => attempt(async () => (await api.dropSummary(story.session.peek()?.id ?? "", id), true));

export const readCollections = () => attempt(api.collections);

/** All documents of a collection. */
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

/** @param key the same for the same text, so that it is kept once */
export const addDocument = (collection: string, content: string, key: string) =>
  attempt(() => api.addDocument(collection, content, key));

export const removeDocument = (id: Id) => attempt(async () => (await api.removeDocument(id), true));

register({
  id: "session.recall",
  label: "command.recall",
  icon: "bookmark",
  scope: "page",
  enabled: () => story.session.value !== null,
  run: () => openDialog({ kind: "recall" }),
});
