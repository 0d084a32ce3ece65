// What is kept of a story as knowledge: a message, several, or what lies in the stash becomes an entry of a lorebook.
import { t } from "../lib/i18n.js";
import { recall, remember } from "../lib/storage.js";
import { choose, fragments } from "../model/arrangement.js";
import { characters } from "../model/library.js";
import { openDialog, tell } from "../model/page.js";
import * as story from "../model/story.js";
import * as api from "../net/lore.js";
import { inOrder } from "../tree/fragment.js";
import { nameOf } from "../tree/speaker.js";
import { asSaid } from "./choose.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";
import { readFragment } from "./stash.js";
import { textOf } from "./turn.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */
/** @import { Passage } from "../model/dialog.d.ts" */
/** @import { NewEntry } from "./lore.js" */

/** The book that something was kept in last, as the browser remembers it. */
const LAST_BOOK = "lorebook";

export const lastBook = () => recall(LAST_BOOK);

/** What a passage says, who speaks in it, and what it may be called. @param {Passage} passage */
export async function readPassage(passage) {
  const nodes = await attempt(() => nodesOf(passage));
  if (!nodes) return undefined;
  const said = nodes.filter((node) => textOf(node).trim());
  const spoken = said.map(nameOf).filter((name) => name !== t("you") && name !== t("narrator"));
  const title = "fragmentId" in passage ? fragments.peek()?.find(({ id }) => id === passage.fragmentId)?.name : null;
  return { text: asSaid(said), names: [...spoken, ...characters.peek().map(({ name }) => name)], title: title ?? "" };
}

/** @param {Passage} passage @returns {Promise<ChatNode[]>} */
async function nodesOf(passage) {
  if ("nodeIds" in passage) return passage.nodeIds.map(story.peekNode).filter((node) => node !== null);
  const nodes = [];
  for (let next = /** @type {string | null | undefined} */ (undefined); next !== null; ) {
    const page = await readFragment(passage.fragmentId, next);
    nodes.push(...page.items);
    next = page.next;
  }
  return inOrder(nodes).map(({ node }) => node);
}

/**
 * Keeps an entry in a book, or in a new one.
 * @param {{id: Id} | {name: string}} where @param {NewEntry} entry @param {(request: unknown) => string} keyFor
 */
export async function keepLore(where, entry, keyFor) {
  const key = keyFor([where, entry]);
  const kept = await attempt(async () => {
    if ("id" in where) return { bookId: where.id, uid: (await api.addEntry(where.id, entry, key)).uid };
    const { id, entries } = await api.create({ name: where.name, entries: [entry] }, key);
    return { bookId: id, uid: entries[0]?.uid };
  });
  if (!kept) return;
  const { bookId } = kept;
  const uid = String(kept.uid);
  remember(LAST_BOOK, bookId);
  openDialog(null);
  choose(null);
  tell({ tone: "quiet", text: t("notice.loreKept"), act: { label: "notice.open", run: () => openDialog({ kind: "lore", bookId, uid }) } });
}

register({
  id: "message.keepLore",
  label: "command.keepLore",
  icon: "lore",
  scope: "message",
  keys: ["k"],
  enabled: ({ node }) => node?.status === "complete" && textOf(node).trim() !== "",
  run: ({ node }) => node && openDialog({ kind: "keepLore", passage: { nodeIds: [node.id] } }),
});
