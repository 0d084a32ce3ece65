// Selecting several messages in the tree, and actions on all of them in one step.
import { t } from "../lib/i18n.ts";
import { copyText } from "../lib/clipboard.ts";
import { moving } from "../model/arrangement.ts";
import { invalidateDeltas } from "../model/deltas.ts";
import * as overview from "../model/overview.ts";
import { dialog, inTree, notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { recordStep } from "../model/head-moves.ts";
import { readNode } from "../net/api.ts";
import * as api from "../net/arrange.ts";
import { FLAG } from "../tree/outline.ts";
import { drawnTree } from "../tree/overview.ts";
import { topsOf } from "../tree/move-target.ts";
import { isReadByModel } from "./message-state.ts";
import { textWithSpeakers } from "./message-selection.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { refresh, sid } from "./session-sync.ts";
import { compareMessages } from "./overview.ts";
import { arrange, notifyEdit } from "./stash.ts";
import type { Id } from "../lib/wire.d.ts";

/** Returns the messages of some cards: all messages of a folded run, but not the root. */
function messagesOf(all: Iterable<number>): Id[] {
  const { cards, outline } = drawnTree.peek() ?? {};
  if (!cards || !outline) return [];
  const cardsOf = new Set([...all].map((n) => cards.cardOf[n] ?? -1).filter((card) => card >= 0));
  return [...cardsOf].flatMap((card) => {
    const n = cards.node[card] ?? 0;
    return n === 0 ? [] : outline.ids.slice(n, n + (cards.count[card] ?? 1));
  });
}

/** Selects a message or removes it from the selection. */
export function toggleSelected(n: number) {
  const now = overview.selected.peek();
  const ids = messagesOf([n]);
  const isIn = ids.every((id) => now.has(id));
  overview.setSelected(isIn ? [...now].filter((id) => !ids.includes(id)) : [...now, ...ids]);
}

/** Adds messages to the selection. */
export const addToSelection = (numbers: Iterable<number>) =>
  overview.setSelected([...overview.selected.peek(), ...messagesOf(numbers)]);

/** Selects everything on screen. */
export const selectAll = () => addToSelection(drawnTree.peek()?.cards.node ?? []);

export const clearSelection = () => overview.setSelected([]);

export const toggleSelecting = () => overview.setSelecting(!overview.isSelecting.peek());

/**
 * Returns the selected messages in tree order.
 * @param is filter by flags
 */
function selectedNumbers(is: (flags: number) => boolean = () => true) {
  const { outline } = drawnTree.value ?? {};
  if (!outline) return [];
  const numbers = [...overview.selected.value].flatMap((id) => outline.at.get(id) ?? []).sort((a, b) => a - b);
  return numbers.filter((n) => is(outline.flags[n] ?? 0));
}

const idsOf = (numbers: number[]): Id[] => numbers.map((n) => drawnTree.peek()?.outline.ids[n] ?? "");

const UNFINISHED = FLAG.writing | FLAG.failed;
const isComplete = (flags: number) => (flags & UNFINISHED) === 0;

const STATE_COMMANDS: { id: "leaveOut" | "putBack"; icon: string; isEnabled: boolean }[] = [
  { id: "leaveOut", icon: "eyeOff", isEnabled: false },
  { id: "putBack", icon: "eye", isEnabled: true },
];

for (const { id, icon, isEnabled } of STATE_COMMANDS) {
  const changes = (flags: number) => isComplete(flags) && ((flags & FLAG.disabled) !== 0) === isEnabled;
  register({
    id: `tree.${id}`,
    label: `chosen.${id}`,
    icon,
    scope: "page",
    enabled: () => inTree.value && (isEnabled || isReadByModel()) && selectedNumbers(changes).length > 0,
    run: async () => {
      const result = await attempt(() => api.setStates(sid(), idsOf(selectedNumbers(changes)), { isEnabled }));
      if (!result) return;
      recordStep(result.op);
      clearSelection();
      invalidateDeltas();
      await refresh();
      notifyEdit(result, "notice.marked");
    },
  });
}

register({
  id: "tree.prune",
  label: "command.prune",
  icon: "trash",
  scope: "page",
  rearranges: true,
  enabled: () => inTree.value && selectedNumbers().length > 0,
  run: async () => {
    const { outline } = drawnTree.peek() ?? {};
    const result =
      outline && (await arrange(idsOf(topsOf(outline, selectedNumbers())).map((nodeId) => ({ op: "prune", nodeId }))));
    if (!result) return;
    clearSelection();
    notifyEdit(result, "notice.pruned");
  },
});

/** Maximum number of parallel requests for messages. */
const MAX_PARALLEL = 6;

/** Loads the given messages that are not loaded yet. */
async function readAll(ids: Id[]) {
  const id = sid();
  const missing = ids.filter((nid) => !store.peekNode(nid));
  for (let from = 0; from < missing.length; from += MAX_PARALLEL) {
    const some = await Promise.all(missing.slice(from, from + MAX_PARALLEL).map((nid) => readNode(id, nid)));
    if (store.session.peek()?.id === id) some.forEach(store.upsertNode);
  }
}

register({
  id: "tree.copy",
  label: "chosen.copy",
  icon: "copy",
  scope: "page",
  enabled: () => inTree.value && selectedNumbers(isComplete).length > 0,
  run: async () => {
    const ids = idsOf(selectedNumbers(isComplete));
    await attempt(() => readAll(ids));
    const nodes = ids.map(store.peekNode).filter((node) => node !== null);
    if (nodes.length < ids.length || !(await copyText(textWithSpeakers(nodes)))) return;
    notify({ tone: "quiet", text: t("notice.copied") });
  },
});

register({
  id: "tree.compare",
  label: "command.compare",
  icon: "compare",
  scope: "page",
  enabled: () => inTree.value && overview.selected.value.size === 2 && selectedNumbers(isComplete).length === 2,
  run: () => {
    const [one = 0, two = 0] = selectedNumbers();
    clearSelection();
    compareMessages(one, two);
  },
});

register({
  id: "tree.none",
  label: "cancel",
  icon: "close",
  scope: "page",
  keys: ["Escape"],
  enabled: () => inTree.value && moving.value === null && dialog.value === null && overview.selected.value.size > 0,
  run: clearSelection,
});
