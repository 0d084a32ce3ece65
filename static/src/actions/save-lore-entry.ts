// Turns messages, or a fragment of the stash, into an entry of a lorebook.
import { t } from "../lib/i18n.ts";
import { readStored, writeStored } from "../lib/storage.ts";
import { setSelectedIds, fragments } from "../model/arrangement.ts";
import { characters } from "../model/library.ts";
import { openDialog, notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/lore.ts";
import { fragmentOrder } from "../tree/fragment.ts";
import { speakerName } from "../tree/speaker.ts";
import { textWithSpeakers } from "./message-selection.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { readFragment } from "./stash.ts";
import { shownTextOf } from "./turn.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";
import type { Passage } from "../model/dialog.d.ts";
import type { NewEntry } from "./lore.ts";

/** Storage key of the lorebook that was used last. */
const LAST_BOOK = "lorebook";

export const lastBook = () => readStored(LAST_BOOK);

/** Returns the text of a passage, the names of its speakers and of all characters, and a suggested title. */
export async function readPassage(passage: Passage) {
  const nodes = await attempt(() => nodesOf(passage));
  if (!nodes) return undefined;
  const withText = nodes.filter((node) => shownTextOf(node).trim());
  const spoken = withText.map(speakerName).filter((name) => name !== t("you") && name !== t("narrator"));
  const title = "fragmentId" in passage ? fragments.peek()?.find(({ id }) => id === passage.fragmentId)?.name : null;
  return {
    text: textWithSpeakers(withText),
    names: [...spoken, ...characters.peek().map(({ name }) => name)],
    title: title ?? "",
  };
}

async function nodesOf(passage: Passage): Promise<ChatNode[]> {
  if ("nodeIds" in passage) return passage.nodeIds.map(store.peekNode).filter((node) => node !== null);
  const nodes = [];
  for (let next = undefined as string | null | undefined; next !== null; ) {
    const page = await readFragment(passage.fragmentId, next);
    nodes.push(...page.items);
    next = page.next;
  }
  return fragmentOrder(nodes).map(({ node }) => node);
}

/** Adds an entry to a lorebook, or to a new one. */
export async function saveLoreEntry(
  where: { id: Id } | { name: string },
  entry: NewEntry,
  keyFor: (request: unknown) => string,
) {
  const key = keyFor([where, entry]);
  const saved = await attempt(async () => {
    if ("id" in where) return { bookId: where.id, uid: (await api.addEntry(where.id, entry, key)).uid };
    const { id, entries } = await api.create({ name: where.name, entries: [entry] }, key);
    return { bookId: id, uid: entries[0]?.uid };
  });
  if (!saved) return;
  const { bookId } = saved;
  const uid = String(saved.uid);
  writeStored(LAST_BOOK, bookId);
  openDialog(null);
  setSelectedIds(null);
  notify({
    tone: "quiet",
    text: t("notice.loreKept"),
    action: { label: "notice.open", run: () => openDialog({ kind: "lore", bookId, uid }) },
  });
}

register({
  id: "message.keepLore",
  label: "command.keepLore",
  icon: "lore",
  scope: "message",
  keys: ["k"],
  enabled: ({ node }) => node?.status === "complete" && shownTextOf(node).trim() !== "",
  run: ({ node }) => node && openDialog({ kind: "saveLoreEntry", passage: { nodeIds: [node.id] } }),
});
