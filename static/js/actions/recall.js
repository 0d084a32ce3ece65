// What the open story recalls, and the documents that it looks through.
import { openDialog } from "../model/page.js";
import * as story from "../model/story.js";
import { oneNode, trace } from "../net/api.js";
import * as api from "../net/recall.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";

/** @import { Document, Id, Recall, SummarySettings } from "../lib/wire.d.ts" */

/** What the open story recalls from now on. @param {Recall} recall */
export async function changeRecall(recall) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.setRecall(open.id, recall)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ recall: changed.recall ?? recall });
}

/** Whether the open story sums itself up from now on. @param {SummarySettings} summaries */
export async function changeSummaries(summaries) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.setSummaries(open.id, summaries)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ summaries: changed.summaries ?? summaries });
}

/** The summaries of the line on screen. */
export const readSummaries = () => attempt(() => api.summaries(story.session.peek()?.id ?? "", story.line.peek().at(-1)));

/** How a message reads, from the page where it is there; nothing where it is gone. @param {Id} id @returns {Promise<string>} */
export const readEnd = async (id) => (story.peekNode(id) ?? (await oneNode(story.session.peek()?.id ?? "", id).catch(() => null)))?.content ?? "";

/** The summaries that the prompt of the newest reply on screen told. @returns {Promise<Id[]>} */
export async function readTold() {
  const newest = story.line.peek().findLast((id) => Boolean(story.peekNode(id)?.metadata?.model));
  const made = newest && (await trace(story.session.peek()?.id ?? "", newest).catch(() => null));
  return (made && made.summaries?.texts?.map(({ id }) => id)) || [];
}

/**
 * Gives a summary another text, unless it says something else by now than when it was read.
 * @param {Id} id @param {string} content @param {string | null} was null: whatever it says
 * @returns {Promise<true | {theirs: string} | undefined>}
 */
export const correct = (id, content, was) =>
  attempt(async () => {
    const sid = story.session.peek()?.id ?? "";
    if (was !== null) {
      const now = (await api.summaries(sid, story.line.peek().at(-1))).items.find((one) => one.id === id);
      if (now && now.content !== was) return { theirs: now.content };
    }
    await api.correctSummary(sid, id, content);
    return true;
  });

/** Has a summary made anew. @param {Id} id */
export const anew = (id) => attempt(async () => (await api.dropSummary(story.session.peek()?.id ?? "", id), true));

export const readCollections = () => attempt(api.collections);

/** All documents of a collection. @param {string} collection */
export const readDocuments = (collection) =>
  attempt(async () => {
    /** @type {Document[]} */
    const all = [];
    for (let next = /** @type {string | null | undefined} */ (undefined); next !== null; ) {
      const page = await api.documents(collection, next);
      all.push(...page.items);
      next = page.next;
    }
    return all;
  });

/** @param {string} collection @param {string} content @param {string} key the same for the same text, so that it is kept once */
export const addDocument = (collection, content, key) => attempt(() => api.addDocument(collection, content, key));

/** @param {Id} id */
export const removeDocument = (id) => attempt(async () => (await api.removeDocument(id), true));

register({
  id: "session.recall",
  label: "command.recall",
  icon: "bookmark",
  scope: "page",
  enabled: () => story.session.value !== null,
  run: () => openDialog({ kind: "recall" }),
});
