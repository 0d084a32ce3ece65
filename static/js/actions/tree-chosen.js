// Several messages of the whole tree at once: choosing them, and what is done with all of them in one step.
import { t } from "../lib/i18n.js";
import { copyText } from "../lib/clipboard.js";
import { moving } from "../model/arrangement.js";
import { doubtDeltas } from "../model/deltas.js";
import * as overview from "../model/overview.js";
import { dialog, inTree, tell } from "../model/page.js";
import * as story from "../model/story.js";
import { stepped } from "../model/trail.js";
import { oneNode } from "../net/api.js";
import * as api from "../net/arrange.js";
import { FLAG } from "../tree/outline.js";
import { drawn } from "../tree/overview.js";
import { topsOf } from "../tree/place.js";
import { isRead } from "./arrange.js";
import { asSaid } from "./choose.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";
import { refresh, sid } from "./follow.js";
import { compareHere } from "./overview.js";
import { arrange, say } from "./stash.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** The messages of some cards: of a straight run all of them; the beginning is no message. @param {Iterable<number>} all @returns {Id[]} */
function messagesOf(all) {
  const { cards, outline } = drawn.peek() ?? {};
  if (!cards || !outline) return [];
  const cardsOf = new Set([...all].map((n) => cards.cardOf[n] ?? -1).filter((card) => card >= 0));
  return [...cardsOf].flatMap((card) => {
    const n = cards.node[card] ?? 0;
    return n === 0 ? [] : outline.ids.slice(n, n + (cards.count[card] ?? 1));
  });
}

/** Chooses a message, or lets go of it. @param {number} n */
export function turnMark(n) {
  const now = overview.marked.peek();
  const ids = messagesOf([n]);
  const isIn = ids.every((id) => now.has(id));
  overview.mark(isIn ? [...now].filter((id) => !ids.includes(id)) : [...now, ...ids]);
}

/** Chooses more messages. @param {Iterable<number>} numbers */
export const markAlso = (numbers) => overview.mark([...overview.marked.peek(), ...messagesOf(numbers)]);

/** Chooses all that is drawn. */
export const markAll = () => markAlso(drawn.peek()?.cards.node ?? []);

export const markNone = () => overview.mark([]);

export const turnMarking = () => overview.setMarking(!overview.isMarking.peek());

/** The chosen messages, in the order of the tree. @param {(flags: number) => boolean} [is] only such */
function chosen(is = () => true) {
  const { outline } = drawn.value ?? {};
  if (!outline) return [];
  const numbers = [...overview.marked.value].flatMap((id) => outline.at.get(id) ?? []).sort((a, b) => a - b);
  return numbers.filter((n) => is(outline.flags[n] ?? 0));
}

/** @param {number[]} numbers @returns {Id[]} */
const idsOf = (numbers) => numbers.map((n) => drawn.peek()?.outline.ids[n] ?? "");

const UNFINISHED = FLAG.writing | FLAG.failed;
const isWhole = (/** @type {number} */ flags) => (flags & UNFINISHED) === 0;

/** @type {{id: "leaveOut" | "putBack", icon: string, isEnabled: boolean}[]} */
const MARKS = [
  { id: "leaveOut", icon: "eyeOff", isEnabled: false },
  { id: "putBack", icon: "eye", isEnabled: true },
];

for (const { id, icon, isEnabled } of MARKS) {
  const changes = (/** @type {number} */ flags) => isWhole(flags) && ((flags & FLAG.disabled) !== 0) === isEnabled;
  register({
    id: `tree.${id}`,
    label: `chosen.${id}`,
    icon,
    scope: "page",
    enabled: () => inTree.value && (isEnabled || isRead()) && chosen(changes).length > 0,
    run: async () => {
      const made = await attempt(() => api.setStates(sid(), idsOf(chosen(changes)), { isEnabled }));
      if (!made) return;
      stepped(made.op);
      markNone();
      doubtDeltas();
      await refresh();
      say(made, "notice.marked");
    },
  });
}

register({
  id: "tree.prune",
  label: "command.prune",
  icon: "trash",
  scope: "page",
  rearranges: true,
  enabled: () => inTree.value && chosen().length > 0,
  run: async () => {
    const { outline } = drawn.peek() ?? {};
    const made = outline && (await arrange(idsOf(topsOf(outline, chosen())).map((nodeId) => ({ op: "prune", nodeId }))));
    if (!made) return;
    markNone();
    say(made, "notice.pruned");
  },
});

/** So many messages are asked for at the same time. */
const AT_ONCE = 6;

/** Reads what is not known yet of some messages. @param {Id[]} ids */
async function readAll(ids) {
  const id = sid();
  const missing = ids.filter((nid) => !story.peekNode(nid));
  for (let from = 0; from < missing.length; from += AT_ONCE) {
    const some = await Promise.all(missing.slice(from, from + AT_ONCE).map((nid) => oneNode(id, nid)));
    if (story.session.peek()?.id === id) some.forEach(story.putNode);
  }
}

register({
  id: "tree.copy",
  label: "chosen.copy",
  icon: "copy",
  scope: "page",
  enabled: () => inTree.value && chosen(isWhole).length > 0,
  run: async () => {
    const ids = idsOf(chosen(isWhole));
    await attempt(() => readAll(ids));
    const nodes = ids.map(story.peekNode).filter((node) => node !== null);
    if (nodes.length < ids.length || !(await copyText(asSaid(nodes)))) return;
    tell({ tone: "quiet", text: t("notice.copied") });
  },
});

register({
  id: "tree.compare",
  label: "command.compare",
  icon: "compare",
  scope: "page",
  enabled: () => inTree.value && overview.marked.value.size === 2 && chosen(isWhole).length === 2,
  run: () => {
    const [one = 0, two = 0] = chosen();
    markNone();
    compareHere(one, two);
  },
});

register({
  id: "tree.none",
  label: "cancel",
  icon: "close",
  scope: "page",
  keys: ["Escape"],
  enabled: () => inTree.value && moving.value === null && dialog.value === null && overview.marked.value.size > 0,
  run: markNone,
});
