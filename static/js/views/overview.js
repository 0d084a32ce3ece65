// The page that shows the whole tree of a story, over its chat. Loaded when first opened.
import { h, html, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { followOutline, goThere, holdOver, holdOverStash, letGo, putHere, readMessage, readOutline, stopComparing, stopReading, takeHere, turnFold, turnRuns, turnSides } from "../actions/overview.js";
import { run } from "../actions/commands.js";
import { markAlso, turnMark, turnMarking } from "../actions/tree-chosen.js";
import { giveBackFocus, leaveTree } from "../actions/tree-page.js";
import { excerpt } from "../lib/excerpt.js";
import { drawn as onScreen, isFocusLost } from "../lib/focus.js";
import { addEnglish, clock, locale, moment, t } from "../lib/i18n.js";
import words from "../lib/strings/en-overview.js";
import { chosen, fragments, labels, moving, stashBeside } from "../model/arrangement.js";
import { compared, cursor, failure, isMarking, isOverStash, marked, reading, runs, sides } from "../model/overview.js";
import { editing, loading, nodeOf, purges, session } from "../model/story.js";
import { isLinear } from "../tree/line.js";
import { aim, beginningOf, carriedIn, chosenCards, comparedCards, drawn, placeName, placeOf, shownFor } from "../tree/overview.js";
import { nameOf } from "../tree/speaker.js";
import { Labels } from "./label.js";
import { Body } from "./message.js";
import { MessageMenu } from "./message-menu.js";
import { Blank, CommandButton, Waiting, icon, later } from "./parts.js";
import { Failed } from "./reading.js";
import "./tree-canvas.js";
import { STATES, Walk } from "./tree-walk.js";

/** @import { Key } from "../lib/i18n.js" */
/** @import { Drawn } from "../tree/overview.js" */
/** @import { TreeCanvas } from "./tree-canvas.js" */
/** @import { Scene } from "./tree-paint.js" */

addEnglish(words);

const Drawer = later(() => import("./tree-stash.js").then((module) => module.Drawer), 0);
const Compared = later(() => import("./tree-compare.js").then((module) => module.Compared), 0);

export function Overview() {
  const sid = session.value?.id;
  const isOpen = loading.value.state === "ready";
  const texts = purges.value;
  useEffect(() => (isOpen ? followOutline() : undefined), [sid, isOpen, texts]);
  // What goes on in the chat is shown there.
  const isElsewhere = isOpen && (isLinear.value || chosen.value !== null || editing.value !== null);
  useEffect(() => {
    if (isElsewhere) leaveTree();
  }, [isElsewhere]);
  useEffect(() => () => void onScreen().then(giveBackFocus), []);
  return html`<section class="overview" aria-label=${t("command.overview")}><h2 class="hidden">${t("command.overview")}</h2>${h(Content, {})}</section>`;
}

function Content() {
  const tree = drawn.value;
  if (tree && tree.outline.size > 1) return h(Whole, { key: session.value?.id, tree });
  const rest = tree
    ? h(Blank, { symbol: "tree", title: t("tree.empty"), hint: t("tree.emptyHint") })
    : failure.value
      ? html`${h(Failed, { error: failure.value })}<div class="actions"><button type="button" onClick=${readOutline}>${t("retry")}</button></div>`
      : h(Waiting, { rows: 6 });
  return html`<div class="overview-bar">${h(BackButton, {})}</div><div class="overview-rest">${rest}</div>`;
}

const BackButton = () => html`<button type="button" class="tree-back" aria-label=${t("tree.back")} title=${`${t("tree.back")} (Esc)`} onClick=${leaveTree}>${icon("back")}<span>${t("tree.back")}</span></button>`;

/** What a tree looks like now. @param {Drawn} tree @returns {Scene} */
function sceneOf(tree) {
  const { outline, cards, layout, head } = tree;
  return {
    outline,
    cards,
    layout,
    head: cards.cardOf[head] ?? -1,
    cursor: cards.cardOf[placeOf(tree)] ?? -1,
    marked: chosenCards.value,
    compared: comparedCards.value,
    carried: cards.cardOf[carriedIn(outline)] ?? -1,
    aim: aim.value && { card: cards.cardOf[aim.value.n] ?? -1, isPlace: aim.value.why === null },
    words: (n) => beginningOf(outline, n) || t("tree.wordless"),
    label: (n) => placeName(outline, n),
    runText: (n) => t("tree.run", { n }),
    beginning: t("tree.beginning"),
  };
}

/** @param {{tree: Drawn}} props */
function Whole({ tree }) {
  const ref = useRef(/** @type {TreeCanvas | null} */ (null));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const legend = useSignal(false);
  const at = placeOf(tree);
  const focusTree = () => /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector("[role=tree]"))?.focus({ preventScroll: true });
  const menu = async (/** @type {number} */ n) => {
    await readMessage(n);
    await onScreen();
    /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector(".tree-message .more"))?.click();
  };
  const enter = async (/** @type {number} */ n) => {
    await readMessage(n);
    await onScreen();
    /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector(".tree-message"))?.focus();
  };
  useLayoutEffect(() => {
    const canvas = ref.current;
    if (!canvas) return;
    canvas.hooks = { pick: (n) => (focusTree(), pick(n)), go: goThere, fold: (n) => (focusTree(), turnFold(n)), menu: (n) => void menu(n), take: (n) => takeHere(n) && (focusTree(), true), over: holdOver, stash: holdOverStash, drop: () => void letGo(), mark: (n) => (focusTree(), turnMark(n)), choose: (all) => (focusTree(), markAlso(all)) };
    canvas.show(sceneOf(tree), placeOf(tree));
    canvas.center(tree.head);
    if (isFocusLost() || !box.current?.contains(document.activeElement)) focusTree();
  }, []);
  const named = labels.value;
  const language = locale.value;
  const over = aim.value;
  const carried = moving.value;
  const marks = marked.value;
  const two = compared.value;
  const isChoosing = isMarking.value;
  useLayoutEffect(() => ref.current?.show(sceneOf(tree), at), [tree, at, named, language, over, carried, marks, two]);
  useLayoutEffect(() => void (ref.current && (ref.current.isMarking = isChoosing)), [isChoosing]);
  useEffect(() => {
    if (marks.size === 0 && isFocusLost()) focusTree();
  }, [marks]);
  useEffect(() => {
    // Nothing is moved any longer: put down, left, or gone.
    if (carried !== null) return;
    ref.current?.rest();
    holdOver(undefined);
    holdOverStash(false);
    if (isFocusLost()) focusTree();
  }, [carried]);
  const place = cursor.value;
  const isRead = reading.value;
  const isOpen = stashBeside.value;
  // A drawer that was left open does not take the keyboard from the tree.
  const wasLeftOpen = useRef(isOpen);
  if (!isOpen) wasLeftOpen.current = false;
  useEffect(() => {
    if (place === null) return;
    let isOver = false;
    // The place that the text beside it takes is known when it is drawn.
    void onScreen().then(() => isOver || ref.current?.reveal(at));
    return () => void (isOver = true);
  }, [place, isRead]);
  useEffect(() => {
    if (isRead === null && two === null && isFocusLost()) focusTree();
  }, [isRead, two]);
  useEffect(() => {
    if (two) void onScreen().then(() => ref.current?.frame([two.from, two.to].map((id) => shownFor(tree, tree.outline.at.get(id) ?? 0))));
  }, [two]);
  useEffect(() => void onScreen().then(() => ref.current?.reveal(at)), [isOpen]);
  const hidden = tree.outline.size - 1 - shownIn(tree);
  const isBusy = isRead !== null || two !== null || legend.value;
  return html`<div class=${`overview-whole ${isOpen ? "has-stash" : ""} ${two ? "is-comparing" : ""}`} ref=${box}>
    <div class="overview-bar">${h(BackButton, {})}
      <p class="aside tree-count">${t("tree.count", { n: tree.outline.size - 1 })}${hidden > 0 && html`<span> · ${t("tree.folded", { n: hidden })}</span>`}</p>
      ${h(Tools, { canvas: () => ref.current, head: tree.head, legend: () => (stopReading(), stopComparing(), (legend.value = !legend.peek())) })}</div>
    ${isOpen && h(Drawer, { tree, canvas: () => ref.current, focusTree, isCovered: isBusy, takesKeys: !wasLeftOpen.current })}
    <div class="tree-field"><tree-canvas ref=${ref} aria-hidden="true"></tree-canvas>${h(Walk, { tree, canvas: () => ref.current, enter, menu })}${carried ? h(MovingBar, { tree, focusTree }) : marks.size > 0 && h(ChosenBar, {})}</div>
    <aside class=${`tree-beside ${isBusy ? "" : "is-idle"}`} aria-label=${t(two ? "tree.compared" : isRead === null ? "tree.legend" : "tree.reading")}>
      ${two ? h(Compared, { ...two, back: () => (stopComparing(), focusTree()) }) : isRead === null ? h(Legend, {}) : h(Reading, { key: isRead, tree, back: () => (stopReading(), focusTree()) })}</aside></div>`;
}

/** So many letters say which message something would come below. */
const AIMED = 60;

/** What begins with something said is not quoted twice. @param {string} text */
const unquoted = (text) => text.replace(/^["“]+/, "").replace(/["”]+$/, "");

/** What is moved, where it would come, and why it cannot. @param {{tree: Drawn, focusTree: () => void}} props */
function MovingBar({ tree, focusTree }) {
  const to = aim.value;
  const what = moving.value;
  // Who chose it from a menu goes on by keys from where they were.
  useEffect(() => {
    if (!document.activeElement?.closest(".tree-walk")) focusTree();
  }, []);
  const put = html`<button type="button" class="primary" aria-disabled=${to?.why !== null} onClick=${putHere}>${icon("move")}<span>${t("command.placeHere")}</span></button>`;
  const place = to && (to.why ? t(`tree.refused.${to.why}`) : to.n === 0 ? t("tree.aimFirst") : t("tree.aim", { text: unquoted(excerpt(beginningOf(tree.outline, to.n), AIMED)) || t("tree.wordless") }));
  return html`<div class="tree-bar peek" role="status">${icon(what?.isCopy ? "copyTo" : "move")}<p>${t(what?.isCopy ? "moving.copy" : "moving.text")} <q>${what?.name ?? ""}</q>${place && html`<span class=${to?.why ? "bad" : ""}>${place}</span>`}</p>
    ${to && put}${h(CommandButton, { id: "moving.elsewhere", wide: true })}<span data-takes="stash" class=${isOverStash.value ? "is-over" : ""}>${h(CommandButton, { id: "moving.stash", wide: true })}</span>${h(CommandButton, { id: "moving.cancel", wide: true })}${h(CommandButton, { id: "moving.cancelCopy", wide: true })}</div>`;
}

const CHOSEN = ["tree.compare", "tree.leaveOut", "tree.putBack", "tree.copy", "tree.prune", "tree.none"];

/** What can be done with the messages that are chosen. */
const ChosenBar = () => html`<div class="tree-bar peek" role="status">${icon("check")}<p>${t("chosen.text", { n: marked.value.size })}</p>
  <div class="chosen">${CHOSEN.map((id) => h(CommandButton, { key: id, id, wide: true }))}</div></div>`;

/** While something is moved, what is clicked is its place; a card of several messages opens, one of a single message is read. @param {number} n */
function pick(n) {
  if (moving.peek()) return holdOver(n), void putHere();
  const { cards } = drawn.peek() ?? {};
  if ((cards?.count[cards.cardOf[n] ?? 0] ?? 1) > 1) turnFold(n);
  else void readMessage(n);
}

/** How many messages are on cards of their own or in runs. @param {Drawn} tree */
const shownIn = ({ cards }) => cards.count.reduce((sum, count) => sum + count, 0) - 1;

/** @param {{canvas: () => TreeCanvas | null, head: number, legend: () => void}} props */
function Tools({ canvas, head, legend }) {
  const tool = (/** @type {Key} */ label, /** @type {string} */ symbol, /** @type {() => unknown} */ act, /** @type {boolean | null} */ on = null) =>
    html`<button type="button" class="round" aria-label=${t(label)} title=${t(label)} aria-pressed=${on} onClick=${act}>${icon(symbol)}</button>`;
  return html`<div class="tree-tools" role="group" aria-label=${t("tree.tools")}>
    ${tool("tree.sides", "sides", turnSides, sides.value)}${tool("tree.runs", "summarise", turnRuns, runs.value)}${tool("tree.marking", "check", turnMarking, isMarking.value)}<i></i>
    ${tool("tree.farther", "line", () => canvas()?.farther())}${tool("tree.closer", "plus", () => canvas()?.closer())}${tool("tree.fit", "fit", () => canvas()?.fit())}${tool("tree.home", "here", () => canvas()?.center(head))}<i></i>
    ${h(StashButton, {})}${tool("tree.legend", "help", legend)}</div>`;
}

/** Says how much lies in it, and opens it beside the tree. */
function StashButton() {
  const n = fragments.value?.length ?? 0;
  const name = n > 0 ? t("tree.stashHas", { n }) : t("command.stash");
  return html`<button type="button" class="round stash-button" data-takes="stash" aria-label=${name} title=${`${name} (D)`} aria-pressed=${stashBeside.value} onClick=${() => run("session.stash")}>${icon("stash")}${n > 0 && html`<b aria-hidden="true">${n}</b>`}</button>`;
}

/** Commands of a message that need the chat around it; of those beside the line also what is about runs of it. */
const APART = ["message.choose", "message.goOn", "message.otherModel"];
const BESIDE = [...APART, "message.summarise"];

/** What the chat has as buttons of a message, and what needs the whole tree. */
const HERE = ["message.branchHere", "message.makeCurrent", "message.compareHere", "message.mergeHere", "message.leaveOut", "message.putBack", "message.copy", "message.why"];

/** @param {{tree: Drawn, back: () => void}} props */
function Reading({ tree, back }) {
  const node = nodeOf(reading.value);
  const n = tree.outline.at.get(reading.value ?? "") ?? -1;
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || document.querySelector(":popover-open")) return;
    event.preventDefault();
    back();
  };
  if (!node || n < 0) return h(Waiting, { rows: 3 });
  const flags = tree.outline.flags[n] ?? 0;
  const card = tree.cards.cardOf[n] ?? -1;
  const isTrunk = tree.cards.trunk[card] === 1;
  const isFolded = (tree.cards.hidden[card] ?? 0) > 0;
  return html`<article class="tree-message" tabindex="-1" aria-label=${t("message.by", { name: nameOf(node), time: clock(node.timestamp) })} onKeyDown=${keys}>
    <header><b>${nameOf(node)}</b><time datetime=${node.timestamp} title=${moment(node.timestamp)}>${clock(node.timestamp)}</time>
      <button type="button" class="round" aria-label=${t("tree.close")} title=${`${t("tree.close")} (Esc)`} onClick=${back}>${icon("close")}</button></header>
    <p class="tree-states">${h(Labels, { nid: node.id })}${n === tree.head && html`<span class="chip on">${t("tree.isHere")}</span>`}${STATES.filter(([flag]) => (flags & flag) !== 0).map(([, key]) => html`<span key=${key} class="chip">${t(key)}</span>`)}</p>
    <div class="tree-text" tabindex="0" role="group" aria-label=${t("tree.text")}>${h(Body, { node })}</div>
    <footer class="actions">${n !== tree.head && node.status === "complete" && html`<button type="button" class="primary" onClick=${() => goThere(n)}>${icon("right")}<span>${t("branches.go")}</span></button>`}
      ${tree.cards.foldable[card] === 1 && html`<button type="button" onClick=${() => turnFold(n)}>${icon(isFolded ? "branches" : "sides")}<span>${t(isFolded ? "tree.unfold" : "tree.fold")}</span></button>`}
      <span class="tree-more">${h(CommandButton, { id: "message.why", node })}${node.status !== "generating" && h(MessageMenu, { node, without: isTrunk ? APART : BESIDE, first: HERE })}</span></footer></article>`;
}

/** How each thing looks. @type {[string, Key][]} */
const SIGNS = [["head", "tree.sign.head"], ["trunk", "tree.sign.trunk"], ["side", "tree.sign.side"], ["out", "tree.sign.out"], ["writing", "tree.sign.writing"], ["failed", "tree.sign.failed"], ["unread", "tree.sign.unread"], ["folded", "tree.sign.folded"], ["run", "tree.sign.run"]];
const WORDS = /** @type {Record<string, string>} */ ({ folded: "+3", run: "···", failed: "!" });

const Legend = () => html`<div class="tree-legend"><p>${t("tree.choose")}</p><h2>${t("tree.legend")}</h2>
  <ul>${SIGNS.map(([sign, key]) => html`<li key=${sign}><span class=${`sign sign-${sign}`} aria-hidden="true">${WORDS[sign] ?? ""}</span><span>${t(key)}</span></li>`)}</ul></div>`;
