// The cards of the open session as they are now. Drawing and keyboard navigation use the same ones.
import { computed } from "../../vendor/preact.js";
import { quoteText } from "../lib/hidden-tags.ts";
import { labels, labelsOf, moving } from "../model/arrangement.ts";
import {
  dropTarget,
  compared,
  cursor,
  sideExceptions,
  selected,
  openRuns,
  outline,
  areRunsFolded,
  areSidesFolded,
} from "../model/overview.ts";
import { head, session } from "../model/session-store.ts";
import { cardsOf, layOut } from "./layout.ts";
import { FLAG, trunkTo } from "./outline.ts";
import { refusalOf } from "./move-target.ts";
import type { Id } from "../lib/wire.d.ts";
import type { Cards, Layout } from "./layout.ts";
import type { Outline } from "./outline.ts";
import type { MoveRefusal } from "./move-target.ts";

/** `head`: the number of HEAD's message. */
export interface DrawnTree {
  outline: Outline;
  cards: Cards;
  layout: Layout;
  head: number;
}

/** Returns the numbers of the messages that are in the outline. */
const numbersOf = ({ at }: Outline, ids: Iterable<Id>) => new Set([...ids].flatMap((id) => at.get(id) ?? []));

/** Flags of messages that users look for. They are never part of a run. */
const KEPT_FLAGS = FLAG.writing | FLAG.failed | FLAG.unread | FLAG.summary | FLAG.merge;

export const drawnTree = computed(() => {
  const of = outline.value;
  if (!of) return null;
  const at = of.at.get(head.value ?? "") ?? 0;
  const trunk = trunkTo(of, at);
  const named = numbersOf(
    of,
    labels.value.map(({ nodeId }) => nodeId),
  );
  const keeps = (n: number) => n === at || named.has(n) || ((of.flags[n] ?? 0) & KEPT_FLAGS) !== 0;
  const folding = {
    trunk,
    sides: areSidesFolded.value,
    flipped: numbersOf(of, sideExceptions.value),
    runs: areRunsFolded.value,
    openRuns: numbersOf(of, openRuns.value),
    keeps,
  };
  const cards = cardsOf(of, folding);
  return { outline: of, cards, layout: layOut(cards), head: at } as DrawnTree;
});

/**
 * Returns the visible message for one that may be folded: itself, the start of its run, or the nearest visible
 * ancestor.
 */
export function visibleMessage({ outline: { parent }, cards }: DrawnTree, n: number) {
  let at = n;
  while (at > 0 && (cards.cardOf[at] ?? -1) < 0) at = parent[at] ?? 0;
  return cards.node[cards.cardOf[at] ?? 0] ?? 0;
}

/** Returns the message at the keyboard cursor. */
export const cursorMessage = (tree: DrawnTree) =>
  visibleMessage(tree, tree.outline.at.get(cursor.value ?? "") ?? tree.head);

/** Returns the top message of the part being moved; -1 if it is not in this tree. */
export function movedMessage({ at }: Outline) {
  const what = moving.value;
  return what && "nodeId" in what.piece && what.from === session.value?.id ? (at.get(what.piece.nodeId) ?? -1) : -1;
}

/**
 * Where the moved part would be put, and why it cannot. On a straight run this is its last message. `null` if it is
 * held over nothing.
 */
export const moveTarget = computed(() => {
  const tree = drawnTree.value;
  const what = moving.value;
  if (!tree || !what || dropTarget.value === null) return null;
  const { outline: of, cards } = tree;
  const over = dropTarget.value === undefined ? cursorMessage(tree) : of.at.get(dropTarget.value);
  if (over === undefined) return null;
  const card = cards.cardOf[over] ?? -1;
  const n = (cards.node[card] ?? over) + (cards.count[card] ?? 1) - 1;
  return { n, nid: of.ids[n] ?? "", why: refusalOf(of, movedMessage(of), what.isCopy, n) as MoveRefusal | null };
});

/** The child cards of each card as linked lists, oldest first. */
const families: WeakMap<Cards, { first: Int32Array; next: Int32Array }> = new WeakMap();

function familiesOf(cards: Cards) {
  const known = families.get(cards);
  if (known) return known;
  const found = { first: new Int32Array(cards.size).fill(-1), next: new Int32Array(cards.size).fill(-1) };
  for (let card = cards.size - 1; card > 0; card -= 1) {
    const above = cards.parent[card] ?? 0;
    found.next[card] = found.first[above] ?? -1;
    found.first[above] = card;
  }
  families.set(cards, found);
  return found;
}

/** Returns the messages one step away: the one above, those beside it from left to right, and those below. */
export function neighboursOf({ cards, layout }: DrawnTree, n: number) {
  const card = cards.cardOf[n] ?? 0;
  const above = cards.parent[card] ?? -1;
  const { first, next } = familiesOf(cards);
  const below = (of: number) => {
    const list = [];
    for (let i = first[of] ?? -1; i >= 0; i = next[i] ?? -1) list.push(i);
    return list.sort((a, b) => (layout.column[a] ?? 0) - (layout.column[b] ?? 0)).map((i) => cards.node[i] ?? 0);
  };
  return {
    above: above < 0 ? null : (cards.node[above] ?? 0),
    beside: above < 0 ? [cards.node[card] ?? 0] : below(above),
    below: below(card),
  };
}

/** The cards that contain selected messages. */
export const selectedCards = computed(() => {
  const { outline: of, cards } = drawnTree.value ?? {};
  const marks = new Uint8Array(cards?.size ?? 0);
  for (const id of selected.value) {
    const card = cards?.cardOf[of?.at.get(id) ?? -1] ?? -1;
    if (card >= 0) marks[card] = 1;
  }
  return marks;
});

/** The cards of the two compared messages, or of their visible ancestors. */
export const comparedCards = computed(() => {
  const tree = drawnTree.value;
  const two = compared.value;
  return tree && two
    ? [two.from, two.to].map((id) => tree.cards.cardOf[visibleMessage(tree, tree.outline.at.get(id) ?? 0)] ?? -1)
    : [];
});

/** Returns the label of a message, or of a change node after it. */
export const labelAt = (of: Outline, n: number) =>
  labelsOf(of.ids[n] ?? "")[0]?.name ?? labelsOf(of.ends.get(n) ?? "")[0]?.name ?? "";

/** Cached previews. Removing hidden tags costs more than drawing. */
const previews: WeakMap<Outline, Map<number, string>> = new WeakMap();

/** Returns the start of a message. */
export function previewOf(of: Outline, n: number) {
  let known = previews.get(of);
  if (!known) previews.set(of, (known = new Map()));
  let text = known.get(n);
  if (text === undefined) known.set(n, (text = quoteText(of.previews[n] ?? "")));
  return text;
}
