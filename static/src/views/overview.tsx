// The page that shows the whole tree of a story, over its chat. Loaded when first opened.
import { Fragment, h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import {
  followOutline,
  moveHeadToCard,
  setDropTarget,
  setOverStash,
  endDrag,
  dropOnTarget,
  readMessage,
  readOutline,
  stopComparing,
  stopReading,
  startDraggingMessage,
  toggleFold,
  toggleRuns,
  toggleSideBranches,
} from "../actions/overview.ts";
import { run } from "../actions/commands.ts";
import { addToSelection, toggleSelected, toggleSelecting } from "../actions/tree-selection.ts";
import { restoreFocus, closeTree } from "../actions/tree-page.ts";
import { excerpt } from "../lib/excerpt.ts";
import { afterRender as onScreen, isFocusLost } from "../lib/focus.ts";
import { addEnglish, clock, locale, moment, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-overview.ts";
import { selectedIds, fragments, labels, moving, isStashOpen } from "../model/arrangement.ts";
import {
  compared,
  cursor,
  failure,
  isSelecting,
  isOverStash,
  selected,
  openMessage,
  areRunsFolded,
  areSidesFolded,
} from "../model/overview.ts";
import { editedMessage, loading, nodeOf, purgeCount, session } from "../model/session-store.ts";
import { isLinear } from "../tree/shown-branch.ts";
import {
  moveTarget,
  previewOf,
  movedMessage,
  selectedCards,
  comparedCards,
  drawnTree,
  labelAt,
  cursorMessage,
  visibleMessage,
} from "../tree/overview.ts";
import { speakerName } from "../tree/speaker.ts";
import { Labels } from "./label.tsx";
import { Body } from "./message.tsx";
import { MessageMenu } from "./message-menu.tsx";
import { EmptyState, CommandButton, LoadingRows, icon, lazyView } from "./common.tsx";
import { QueryError } from "./use-query.tsx";
import "./tree-canvas.ts";
import { STATES, TreeItems } from "./tree-items.tsx";
import type { Key } from "../lib/i18n.ts";
import type { DrawnTree } from "../tree/overview.ts";
import type { TreeCanvas } from "./tree-canvas.ts";
import type { TreeScene } from "./tree-paint.ts";

addEnglish(words);

const StashPanel = lazyView(() => import("./tree-stash.tsx").then((module) => module.StashPanel), 0);
const ComparisonPanel = lazyView(() => import("./tree-compare.tsx").then((module) => module.ComparisonPanel), 0);

export function Overview() {
  const sid = session.value?.id;
  const isOpen = loading.value.state === "ready";
  const texts = purgeCount.value;
  useEffect(() => (isOpen ? followOutline() : undefined), [sid, isOpen, texts]);
  // Selecting and editing messages happen in the chat, and a linear session has no tree view.
  const isElsewhere = isOpen && (isLinear.value || selectedIds.value !== null || editedMessage.value !== null);
  useEffect(() => {
    if (isElsewhere) closeTree();
  }, [isElsewhere]);
  useEffect(() => () => void onScreen().then(restoreFocus), []);
  return (
    <section class="overview" aria-label={t("command.overview")}>
      <h2 class="hidden">{t("command.overview")}</h2>
      <Content />
    </section>
  );
}

function Content() {
  const tree = drawnTree.value;
  if (tree && tree.outline.size > 1) return <TreeView key={session.value?.id} tree={tree} />;
  const rest = tree ? (
    <EmptyState symbol="tree" title={t("tree.empty")} hint={t("tree.emptyHint")} />
  ) : failure.value ? (
    <>
      <QueryError error={failure.value} />
      <div class="actions">
        <button type="button" onClick={readOutline}>
          {t("retry")}
        </button>
      </div>
    </>
  ) : (
    <LoadingRows rows={6} />
  );
  return (
    <>
      <div class="overview-bar">
        <BackButton />
      </div>
      <div class="overview-rest">{rest}</div>
    </>
  );
}

const BackButton = () => (
  <button
    type="button"
    class="tree-back"
    aria-label={t("tree.back")}
    title={`${t("tree.back")} (Esc)`}
    onClick={closeTree}
  >
    {icon("back")}
    <span>{t("tree.back")}</span>
  </button>
);

/** Returns what the canvas draws of the tree now. */
function treeSceneOf(tree: DrawnTree): TreeScene {
  const { outline, cards, layout, head } = tree;
  return {
    outline,
    cards,
    layout,
    head: cards.cardOf[head] ?? -1,
    cursor: cards.cardOf[cursorMessage(tree)] ?? -1,
    selected: selectedCards.value,
    compared: comparedCards.value,
    carried: cards.cardOf[movedMessage(outline)] ?? -1,
    moveTarget: moveTarget.value && {
      card: cards.cardOf[moveTarget.value.n] ?? -1,
      isPlace: moveTarget.value.why === null,
    },
    words: (n) => previewOf(outline, n) || t("tree.wordless"),
    label: (n) => labelAt(outline, n),
    runText: (n) => t("tree.run", { n }),
    beginning: t("tree.beginning"),
  };
}

function TreeView({ tree }: { tree: DrawnTree }) {
  const ref = useRef<TreeCanvas | null>(null);
  const box = useRef<HTMLDivElement | null>(null);
  const legend = useSignal(false);
  const at = cursorMessage(tree);
  const focusTree = () =>
    (box.current?.querySelector("[role=tree]") as HTMLElement | null | undefined)?.focus({ preventScroll: true });
  const menu = async (n: number) => {
    await readMessage(n);
    await onScreen();
    (box.current?.querySelector(".tree-message .more") as HTMLElement | null | undefined)?.click();
  };
  const enter = async (n: number) => {
    await readMessage(n);
    await onScreen();
    (box.current?.querySelector(".tree-message") as HTMLElement | null | undefined)?.focus();
  };
  useLayoutEffect(() => {
    const canvas = ref.current;
    if (!canvas) return;
    canvas.hooks = {
      pick: (n) => (focusTree(), handleCardClick(n)),
      go: moveHeadToCard,
      fold: (n) => (focusTree(), toggleFold(n)),
      menu: (n) => void menu(n),
      take: (n) => startDraggingMessage(n) && (focusTree(), true),
      over: setDropTarget,
      stash: setOverStash,
      drop: () => void endDrag(),
      mark: (n) => (focusTree(), toggleSelected(n)),
      choose: (all) => (focusTree(), addToSelection(all)),
    };
    canvas.show(treeSceneOf(tree), cursorMessage(tree));
    canvas.center(tree.head);
    if (isFocusLost() || !box.current?.contains(document.activeElement)) focusTree();
  }, []);
  const named = labels.value;
  const language = locale.value;
  const over = moveTarget.value;
  const carried = moving.value;
  const marks = selected.value;
  const two = compared.value;
  const isChoosing = isSelecting.value;
  useLayoutEffect(
    () => ref.current?.show(treeSceneOf(tree), at),
    [tree, at, named, language, over, carried, marks, two],
  );
  useLayoutEffect(() => void (ref.current && (ref.current.isMarking = isChoosing)), [isChoosing]);
  useEffect(() => {
    if (marks.size === 0 && isFocusLost()) focusTree();
  }, [marks]);
  useEffect(() => {
    // The move has ended: dropped, cancelled, or the moved part is gone.
    if (carried !== null) return;
    ref.current?.rest();
    setDropTarget(undefined);
    setOverStash(false);
    if (isFocusLost()) focusTree();
  }, [carried]);
  const place = cursor.value;
  const isRead = openMessage.value;
  const isOpen = isStashOpen.value;
  // A drawer that was already open does not take the focus from the tree.
  const wasLeftOpen = useRef(isOpen);
  if (!isOpen) wasLeftOpen.current = false;
  useEffect(() => {
    if (place === null) return;
    let isOver = false;
    // The width of the panel beside the tree is known only after it is drawn.
    void onScreen().then(() => isOver || ref.current?.reveal(at));
    return () => void (isOver = true);
  }, [place, isRead]);
  useEffect(() => {
    if (isRead === null && two === null && isFocusLost()) focusTree();
  }, [isRead, two]);
  useEffect(() => {
    if (two)
      void onScreen().then(() =>
        ref.current?.frame([two.from, two.to].map((id) => visibleMessage(tree, tree.outline.at.get(id) ?? 0))),
      );
  }, [two]);
  useEffect(() => void onScreen().then(() => ref.current?.reveal(at)), [isOpen]);
  const hidden = tree.outline.size - 1 - visibleCount(tree);
  const isBusy = isRead !== null || two !== null || legend.value;
  return (
    <div class={`overview-whole ${isOpen ? "has-stash" : ""} ${two ? "is-comparing" : ""}`} ref={box}>
      <div class="overview-bar">
        <BackButton />
        <p class="aside tree-count">
          {t("tree.count", { n: tree.outline.size - 1 })}
          {hidden > 0 && <span> · {t("tree.folded", { n: hidden })}</span>}
        </p>
        <Tools
          canvas={() => ref.current}
          head={tree.head}
          legend={() => (stopReading(), stopComparing(), (legend.value = !legend.peek()))}
        />
      </div>
      {isOpen && (
        <StashPanel
          tree={tree}
          canvas={() => ref.current}
          focusTree={focusTree}
          isCovered={isBusy}
          takesKeys={!wasLeftOpen.current}
        />
      )}
      <div class="tree-field">
        <tree-canvas ref={ref} aria-hidden="true" />
        <TreeItems tree={tree} canvas={() => ref.current} enter={enter} menu={menu} />
        {carried ? <MovingBar tree={tree} focusTree={focusTree} /> : marks.size > 0 && <SelectionBar />}
      </div>
      <aside
        class={`tree-beside ${isBusy ? "" : "is-idle"}`}
        aria-label={t(two ? "tree.compared" : isRead === null ? "tree.legend" : "tree.reading")}
      >
        {two ? (
          <ComparisonPanel {...two} back={() => (stopComparing(), focusTree())} />
        ) : isRead === null ? (
          <Legend />
        ) : (
          <OpenMessage key={isRead} tree={tree} back={() => (stopReading(), focusTree())} />
        )}
      </aside>
    </div>
  );
}

/** Number of characters that name the message below which the moved part would go. */
const TARGET_LENGTH = 60;

/** Removes quotation marks at both ends: the text is shown as a quotation. */
const unquoted = (text: string) => text.replace(/^["“]+/, "").replace(/["”]+$/, "");

/** Shows what is moved, its target, and why it cannot go there. */
function MovingBar({ tree, focusTree }: { tree: DrawnTree; focusTree: () => void }) {
  const to = moveTarget.value;
  const what = moving.value;
  // A user who started the move from a menu continues with the keyboard in the tree.
  useEffect(() => {
    if (!document.activeElement?.closest(".tree-walk")) focusTree();
  }, []);
  const put = (
    <button type="button" class="primary" aria-disabled={to?.why !== null} onClick={dropOnTarget}>
      {icon("move")}
      <span>{t("command.placeHere")}</span>
    </button>
  );
  const place =
    to &&
    (to.why
      ? t(`tree.refused.${to.why}`)
      : to.n === 0
        ? t("tree.aimFirst")
        : t("tree.aim", {
            text: unquoted(excerpt(previewOf(tree.outline, to.n), TARGET_LENGTH)) || t("tree.wordless"),
          }));
  return (
    <div class="tree-bar peek" role="status">
      {icon(what?.isCopy ? "copyTo" : "move")}
      <p>
        {t(what?.isCopy ? "moving.copy" : "moving.text")} <q>{what?.name ?? ""}</q>
        {place && <span class={to?.why ? "bad" : ""}>{place}</span>}
      </p>
      {to && put}
      <CommandButton id="moving.elsewhere" wide />
      <span data-takes="stash" class={isOverStash.value ? "is-over" : ""}>
        <CommandButton id="moving.stash" wide />
      </span>
      <CommandButton id="moving.cancel" wide />
      <CommandButton id="moving.cancelCopy" wide />
    </div>
  );
}

const SELECTION_COMMANDS = ["tree.compare", "tree.leaveOut", "tree.putBack", "tree.copy", "tree.prune", "tree.none"];

/** Shows the actions for the selected messages. */
const SelectionBar = () => (
  <div class="tree-bar peek" role="status">
    {icon("check")}
    <p>{t("chosen.text", { n: selected.value.size })}</p>
    <div class="chosen">
      {SELECTION_COMMANDS.map((id) => (
        <CommandButton key={id} id={id} wide />
      ))}
    </div>
  </div>
);

/**
 * Handles a click on a card. During a move the card is the target. Otherwise a card of several messages unfolds, and a
 * single message is opened for reading.
 */
function handleCardClick(n: number) {
  if (moving.peek()) return (setDropTarget(n), void dropOnTarget());
  const { cards } = drawnTree.peek() ?? {};
  if ((cards?.count[cards.cardOf[n] ?? 0] ?? 1) > 1) toggleFold(n);
  else void readMessage(n);
}

/** Returns how many messages are visible, on their own cards or in runs. */
const visibleCount = ({ cards }: DrawnTree) => cards.count.reduce((sum, count) => sum + count, 0) - 1;

interface ToolsProps {
  canvas: () => TreeCanvas | null;
  head: number;
  legend: () => void;
}

function Tools({ canvas, head, legend }: ToolsProps) {
  const tool = (label: Key, symbol: string, act: () => unknown, on?: boolean) => (
    <button type="button" class="round" aria-label={t(label)} title={t(label)} aria-pressed={on} onClick={act}>
      {icon(symbol)}
    </button>
  );
  return (
    <div class="tree-tools" role="group" aria-label={t("tree.tools")}>
      {tool("tree.sides", "sides", toggleSideBranches, areSidesFolded.value)}
      {tool("tree.runs", "summarise", toggleRuns, areRunsFolded.value)}
      {tool("tree.marking", "check", toggleSelecting, isSelecting.value)}
      <i />
      {tool("tree.farther", "line", () => canvas()?.farther())}
      {tool("tree.closer", "plus", () => canvas()?.closer())}
      {tool("tree.fit", "fit", () => canvas()?.fit())}
      {tool("tree.home", "here", () => canvas()?.center(head))}
      <i />
      <StashButton />
      {tool("tree.legend", "help", legend)}
    </div>
  );
}

/** Renders the button that shows the size of the stash and opens it beside the tree. */
function StashButton() {
  const n = fragments.value?.length ?? 0;
  const name = n > 0 ? t("tree.stashHas", { n }) : t("command.stash");
  return (
    <button
      type="button"
      class="round stash-button"
      data-takes="stash"
      aria-label={name}
      title={`${name} (D)`}
      aria-pressed={isStashOpen.value}
      onClick={() => run("session.stash")}
    >
      {icon("stash")}
      {n > 0 && <b aria-hidden="true">{n}</b>}
    </button>
  );
}

/**
 * Message commands that need the chat around the message. Beside the current branch, those for runs are left out as
 * well.
 */
const CHAT_COMMANDS = ["message.choose", "message.goOn", "message.otherModel"];
const OTHER_BRANCH_COMMANDS = [...CHAT_COMMANDS, "message.summarise"];

/** Commands that the chat shows as buttons of a message, and commands that need the whole tree. */
const TREE_COMMANDS = [
  "message.branchHere",
  "message.makeCurrent",
  "message.compareHere",
  "message.mergeHere",
  "message.leaveOut",
  "message.putBack",
  "message.copy",
  "message.why",
];

function OpenMessage({ tree, back }: { tree: DrawnTree; back: () => void }) {
  const node = nodeOf(openMessage.value);
  const n = tree.outline.at.get(openMessage.value ?? "") ?? -1;
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || document.querySelector(":popover-open")) return;
    event.preventDefault();
    back();
  };
  if (!node || n < 0) return <LoadingRows rows={3} />;
  const flags = tree.outline.flags[n] ?? 0;
  const card = tree.cards.cardOf[n] ?? -1;
  const isTrunk = tree.cards.trunk[card] === 1;
  const isFolded = (tree.cards.hidden[card] ?? 0) > 0;
  return (
    <article
      class="tree-message"
      tabindex={-1}
      aria-label={t("message.by", { name: speakerName(node), time: clock(node.timestamp) })}
      onKeyDown={keys}
    >
      <header>
        <b>{speakerName(node)}</b>
        <time datetime={node.timestamp} title={moment(node.timestamp)}>
          {clock(node.timestamp)}
        </time>
        <button
          type="button"
          class="round"
          aria-label={t("tree.close")}
          title={`${t("tree.close")} (Esc)`}
          onClick={back}
        >
          {icon("close")}
        </button>
      </header>
      <p class="tree-states">
        <Labels nid={node.id} />
        {n === tree.head && <span class="chip on">{t("tree.isHere")}</span>}
        {STATES.filter(([flag]) => (flags & flag) !== 0).map(([, key]) => (
          <span key={key} class="chip">
            {t(key)}
          </span>
        ))}
      </p>
      <div class="tree-text" tabindex={0} role="group" aria-label={t("tree.text")}>
        <Body node={node} />
      </div>
      <footer class="actions">
        {n !== tree.head && node.status === "complete" && (
          <button type="button" class="primary" onClick={() => moveHeadToCard(n)}>
            {icon("right")}
            <span>{t("message.go")}</span>
          </button>
        )}
        {tree.cards.foldable[card] === 1 && (
          <button type="button" onClick={() => toggleFold(n)}>
            {icon(isFolded ? "branches" : "sides")}
            <span>{t(isFolded ? "tree.unfold" : "tree.fold")}</span>
          </button>
        )}
        <span class="tree-more">
          <CommandButton id="message.why" node={node} />
          {node.status !== "generating" && (
            <MessageMenu node={node} without={isTrunk ? CHAT_COMMANDS : OTHER_BRANCH_COMMANDS} first={TREE_COMMANDS} />
          )}
        </span>
      </footer>
    </article>
  );
}

/** The entries of the legend: the class of each sign and its description. */
const SIGNS: [string, Key][] = [
  ["head", "tree.sign.head"],
  ["trunk", "tree.sign.trunk"],
  ["side", "tree.sign.side"],
  ["out", "tree.sign.out"],
  ["writing", "tree.sign.writing"],
  ["failed", "tree.sign.failed"],
  ["unread", "tree.sign.unread"],
  ["folded", "tree.sign.folded"],
  ["run", "tree.sign.run"],
];
const WORDS = { folded: "+3", run: "···", failed: "!" } as Record<string, string>;

const Legend = () => (
  <div class="tree-legend">
    <p>{t("tree.choose")}</p>
    <h2>{t("tree.legend")}</h2>
    <ul>
      {SIGNS.map(([sign, key]) => (
        <li key={sign}>
          <span class={`sign sign-${sign}`} aria-hidden="true">
            {WORDS[sign] ?? ""}
          </span>
          <span>{t(key)}</span>
        </li>
      ))}
    </ul>
  </div>
);
