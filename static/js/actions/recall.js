// What the open story recalls, and the documents that it looks through.
import { openDialog } from "../model/page.js";
import * as story from "../model/story.js";
import * as api from "../net/recall.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";

/** @import { Document, Id, Recall } from "../lib/wire.d.ts" */

/** What the open story recalls from now on. @param {Recall} recall */
export async function changeRecall(recall) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.setRecall(open.id, recall)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ recall: changed.recall ?? recall });
}

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
