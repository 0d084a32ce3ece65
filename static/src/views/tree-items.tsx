// The accessible tree for keyboards and screen readers. One element has the focus. It contains the current message and
// the ones one step away, however large the tree is.
import { h } from "../../vendor/preact.js";
import { canRun, run } from "../actions/commands.ts";
import { cancelMove } from "../actions/move.ts";
import {
  compareMessages,
  moveHeadToCard,
  moveCursor,
  dropOnTarget,
  stopComparing,
  stopReading,
  toggleFold,
} from "../actions/overview.ts";
import { closeTree } from "../actions/tree-page.ts";
import { addToSelection, selectAll, clearSelection, toggleSelected } from "../actions/tree-selection.ts";
import { t } from "../lib/i18n.ts";
import { moving } from "../model/arrangement.ts";
import { compared, selected, openMessage } from "../model/overview.ts";
import { FLAG } from "../tree/outline.ts";
import { neighboursOf, previewOf, labelAt, cursorMessage, visibleMessage } from "../tree/overview.ts";
import type { Key } from "../lib/i18n.ts";
import type { DrawnTree } from "../tree/overview.ts";
import type { TreeCanvas } from "./tree-canvas.ts";

/** `enter` opens a message and moves the focus to it. */
interface Props {
  tree: DrawnTree;
  canvas: () => TreeCanvas | null;
  enter: (n: number) => void;
  menu: (n: number) => void;
}

export function TreeItems({ tree, canvas, enter, menu }: Props) {
  const at = cursorMessage(tree);
  const { above, beside, below } = neighboursOf(tree, at);
  const level = (tree.layout.row[tree.cards.cardOf[at] ?? 0] ?? 0) + 1;
  const item = (n: number, depth: number, family: number[]) => (
    <Item key={n} tree={tree} n={n} level={depth} place={family.indexOf(n) + 1} count={family.length} />
  );
  const keys = (event: KeyboardEvent) => {
    const act = keyAction(event, { tree, at, above, beside, below, canvas: canvas(), enter, menu });
    if (!act) return;
    event.preventDefault();
    act();
  };
  return (
    <div
      class="tree-walk"
      role="tree"
      tabindex={0}
      aria-label={t("tree.label")}
      aria-description={t("tree.about")}
      aria-activedescendant={`tree-item-${at}`}
      onKeyDown={keys}
      onContextMenu={(event: Event) => event.preventDefault()}
    >
      {above !== null && item(above, level - 1, [above])}
      {beside.map((n) => item(n, level, beside))}
      {below.map((n) => item(n, level + 1, below))}
    </div>
  );
}

/** Returns the action of a key. */
function keyAction(
  event: KeyboardEvent,
  {
    tree,
    at,
    above,
    beside,
    below,
    canvas,
    enter,
    menu,
  }: Omit<Props, "canvas"> & {
    at: number;
    above: number | null;
    beside: number[];
    below: number[];
    canvas: TreeCanvas | null;
  },
): (() => unknown) | null {
  // With Shift, the messages passed are selected.
  const step = (n: number | null | undefined) => () =>
    n != null && (event.shiftKey && addToSelection([at, n]), moveCursor(n));
  const isMod = event.ctrlKey || event.metaKey;
  if (isMod && event.key === "a") return selectAll;
  if (event.altKey || (isMod && event.key !== "Enter")) return null;
  const place = beside.indexOf(at);
  const isRun = (tree.cards.count[tree.cards.cardOf[at] ?? 0] ?? 1) > 1;
  switch (event.key) {
    case "ArrowUp":
      return step(above);
    case "ArrowDown":
      return step(below[0]);
    case "ArrowLeft":
      return step(beside[place - 1]);
    case "ArrowRight":
      return step(beside[place + 1]);
    case "Home":
      return step(0);
    case "End":
      return step(visibleMessage(tree, tree.head));
    case "Enter":
      return () => (moving.peek() ? dropOnTarget() : isMod ? moveHeadToCard(at) : isRun ? toggleFold(at) : enter(at));
    case "s":
      return () => toggleSelected(at);
    case "c":
      return canRun("tree.compare") ? () => run("tree.compare") : () => compareMessages(tree.head, at);
    case "p":
      return moving.peek() ? dropOnTarget : null;
    case " ":
      return () => toggleFold(at);
    case "+":
    case "=":
      return () => canvas?.closer();
    case "-":
      return () => canvas?.farther();
    case "0":
      return () => canvas?.fit();
    case "m":
    case "ContextMenu":
      return () => menu(at);
    case "F10":
      return event.shiftKey ? () => menu(at) : null;
    case "Escape":
      return () =>
        moving.peek()
          ? cancelMove()
          : selected.peek().size > 0
            ? clearSelection()
            : openMessage.peek() !== null
              ? stopReading()
              : compared.peek() !== null
                ? stopComparing()
                : closeTree();
    default:
      return null;
  }
}

/** The flags of a message, with their texts. */
export const STATES: [number, Key][] = [
  [FLAG.writing, "tree.isWriting"],
  [FLAG.failed, "tree.hasFailed"],
  [FLAG.disabled, "tree.isOut"],
  [FLAG.muted, "tree.isMuted"],
  [FLAG.unread, "tree.isUnread"],
  [FLAG.summary, "tree.isSummary"],
  [FLAG.merge, "tree.isMerge"],
];

/** Returns a message as a screen reader reads it. */
function itemText({ outline, cards, head }: DrawnTree, n: number) {
  const card = cards.cardOf[n] ?? 0;
  const count = cards.count[card] ?? 1;
  const words = previewOf(outline, n) || t("tree.wordless");
  const flags = outline.flags[n] ?? 0;
  const what =
    n === 0
      ? t("tree.beginning")
      : count > 1
        ? t("tree.run", { n: count })
        : flags & FLAG.mine
          ? t("tree.mine", { text: words })
          : words;
  const states = count > 1 ? [] : STATES.flatMap(([flag, key]) => (flags & flag ? [t(key)] : []));
  const isMarked = selected.value.has(outline.ids[n] ?? "") ? [t("tree.isMarked")] : [];
  const trunk = n === head ? [t("tree.isHere")] : cards.trunk[card] === 1 ? [t("tree.onTrunk")] : [];
  const hidden = cards.hidden[card] ?? 0;
  return [what, labelAt(outline, n), ...isMarked, ...trunk, ...states, hidden > 0 ? t("tree.hides", { n: hidden }) : ""]
    .filter(Boolean)
    .join(", ");
}

interface ItemProps {
  tree: DrawnTree;
  n: number;
  level: number;
  place: number;
  count: number;
}

function Item({ tree, n, level, place, count }: ItemProps) {
  const { cards, outline, head } = tree;
  const card = cards.cardOf[n] ?? 0;
  const isRun = (cards.count[card] ?? 1) > 1;
  const expanded = isRun ? false : cards.foldable[card] === 1 ? (cards.hidden[card] ?? 0) === 0 : undefined;
  return (
    <div
      id={`tree-item-${n}`}
      role="treeitem"
      aria-level={level}
      aria-posinset={place}
      aria-setsize={count}
      aria-expanded={expanded}
      aria-selected={selected.value.has(outline.ids[n] ?? "") || outline.ids[n] === openMessage.value}
      aria-current={n === head ? "true" : undefined}
    >
      {itemText(tree, n)}
    </div>
  );
}
