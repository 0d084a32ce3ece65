// The story: a window over the line, the composer, and what stands between them.
import { h, html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { readUnread } from "../actions/branches.js";
import "../actions/merge.js";
import "../actions/way.js";
import { canRun, run } from "../actions/commands.js";
import { lookAfterEdit } from "../actions/edit.js";
import { lookAfterWords } from "../actions/gone.js";
import { loadOlder, openStory } from "../actions/follow.js";
import { wordsFor } from "../actions/failure.js";
import { restore } from "../actions/library.js";
import { readArrangement } from "../actions/stash.js";
import { arrive, navigate } from "../actions/travel.js";
import { leadTo } from "../lib/focus.js";
import { moment, t } from "../lib/i18n.js";
import { excerpt } from "../lib/excerpt.js";
import { slideIn } from "../lib/motion.js";
import { plain } from "../lib/text.js";
import { chosen, moving } from "../model/arrangement.js";
import { age } from "../model/deltas.js";
import { fold } from "../model/folds.js";
import { hint, hintFits, hintSeen, route } from "../model/page.js";
import { editing, ends, focusField, focusNext, focusOn, loading, loadingOlder, nodeOf, older, peek, pointAt, sending, session, target, trashed } from "../model/story.js";
import { foldAround, folded } from "../tree/folds.js";
import { beforeTurn, isLinear, tail, writing } from "../tree/line.js";
import { turnOff } from "../tree/slide.js";
import { leads } from "../tree/turns.js";
import { Composer } from "./composer.js";
import { dropOn } from "./drag.js";
import { Message } from "./message.js";
import { Blank, CommandButton, Waiting, icon, later } from "./parts.js";

/** @import { Id, TrashItem } from "../lib/wire.d.ts" */
/** @import { Fold } from "../tree/folds.js" */

/** At most this many messages are in the page; the window moves by STEP when its end comes near. */
const MOST = 80;
/** The first picture has so many: what is above them follows once they are seen. */
const FEW = 12;
const STEP = 30;
const NEAR = 900;
const AT_END = 40;

/** Its room is there before it, so that nothing moves away under a hand when it comes. */
const Way = later(() => import("./way.js").then((module) => module.Way), () => (leads() ? html`<div class="way"></div>` : null));

export function Chat() {
  const state = loading.value;
  const at = session.value;
  const changed = age.value;
  useEffect(() => void (state.state === "ready" && readArrangement()), [at?.id, state.state, changed]);
  useEffect(() => void (state.state === "ready" && (readUnread(), lookAfterWords())), [at?.id, state.state]);
  if (state.state === "failed") return h(Unreadable, { error: state.error });
  if (state.state !== "ready" || !at) return html`<section class="chat"><div class="scroller"><div class="column">${h(Waiting, { rows: 6 })}</div></div></section>`;
  const bar = peek.value !== null ? h(PeekBar, {}) : moving.value !== null ? h(MovingBar, {}) : chosen.value !== null ? h(ChosenBar, {}) : h(Composer, { key: at.id });
  return html`<section class=${`chat ${moving.value ? "is-moving" : chosen.value ? "is-choosing" : ""}`} aria-label=${at.title}>${h(Way, {})}${h(Line, { key: at.id })}${bar}</section>`;
}

/** @param {{error: import("../net/api.js").ApiError}} props */
function Unreadable({ error }) {
  if (trashed.value) return h(InTrash, { item: trashed.value });
  const isGone = error.status === 404;
  const words = isGone ? { text: t("story.notFound"), hint: t("story.notFoundHint") } : wordsFor(error);
  const retry = () => route.value.page === "story" && void openStory(route.value.sid).then(() => arrive(route.value));
  return html`<section class="chat">${h(Blank, { symbol: "warning", title: words.text, hint: words.hint, whole: true }, html`<div class="actions">
    <button type="button" class=${isGone ? "primary" : ""} onClick=${() => navigate("/")}>${icon("book")}<span>${t("command.library")}</span></button>
    ${!isGone && html`<button type="button" class="primary" onClick=${retry}>${t("retry")}</button>`}</div>`)}</section>`;
}

/** The story was deleted, here or elsewhere; what it was is kept for a while. @param {{item: TrashItem}} props */
function InTrash({ item: { id, name, until } }) {
  return html`<section class="chat">${h(Blank, { symbol: "trash", title: t("notice.trashed", { name }), hint: t("story.trashedHint", { when: moment(until) }), whole: true }, html`<div class="actions">
    <button type="button" onClick=${() => navigate("/")}>${icon("book")}<span>${t("command.library")}</span></button>
    ${h(CommandButton, { id: "page.trash", wide: true })}
    <button type="button" class="primary" onClick=${() => restore(id)}>${icon("undo")}<span>${t("command.restore")}</span></button></div>`)}</section>`;
}

/** The part of the line that is in the page begins here; null: it ends with the line. @param {Id[]} ids @param {Id | null} first @param {number} most */
function windowOf(ids, first, most) {
  const last = Math.max(0, ids.length - most);
  const found = first === null ? -1 : ids.indexOf(first);
  const start = found < 0 ? last : Math.min(found, last);
  return { start, end: Math.min(ids.length, start + most) };
}

function Line() {
  const { entries: ids, folds } = folded.value;
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const [first, setFirst] = useState(/** @type {Id | null} */ (null));
  const [away, setAway] = useState(false);
  // `held` is the message that must not move while things above it change; null: the end of the line is followed.
  const held = useRef(/** @type {{id: string, top: number} | null} */ (null));
  const reached = useRef(0);
  const [most, setMost] = useState(FEW);
  const { start, end } = windowOf(ids, first, most);
  const beginning = start === 0 && older.value === null;

  const settle = () => {
    const box = scroller.current;
    if (!box) return;
    const hold = held.current;
    const element = hold && box.querySelector(`[data-node="${CSS.escape(hold.id)}"], [data-fold="${CSS.escape(hold.id)}"]`);
    if (!hold || !element) box.scrollTop = box.scrollHeight;
    else box.scrollTop += element.getBoundingClientRect().top - hold.top;
  };

  const look = () => {
    const box = scroller.current;
    if (!box) return;
    const below = box.scrollHeight - box.scrollTop - box.clientHeight;
    const isUp = box.scrollTop < reached.current - 1;
    reached.current = box.scrollTop;
    const atEnd = end === ids.length && below < AT_END;
    // Who follows the end keeps following it when something grows below the edge; only going up lets go of it.
    const follows = held.current === null && !isUp && end === ids.length;
    held.current = atEnd || follows ? null : firstVisible(box);
    if (follows && !atEnd) settle();
    setAway(end < ids.length || below > NEAR / 2);
    if (box.scrollTop < NEAR && start > 0) setFirst(ids[Math.max(0, start - STEP)] ?? null);
    else if (box.scrollTop < NEAR && older.peek() !== null) void loadOlder();
    else if (below < NEAR && end < ids.length) setFirst(ids[Math.min(start + STEP, ids.length - MOST)] ?? null);
  };

  useLayoutEffect(() => {
    // A story that only begins is read from its first line.
    const box = scroller.current;
    if (box && beginning && ids.length === 1) held.current = firstVisible(box);
  }, []);
  useEffect(() => setMost(MOST), []);
  useLayoutEffect(settle, [ids, start, end]);
  const before = useRef(ids);
  useLayoutEffect(() => {
    const turn = turnOff(before.current, ids);
    before.current = ids;
    if (!turn || !list.current) return;
    const come = new Set(ids.slice(turn.at));
    slideIn([...list.current.querySelectorAll("[data-node]")].filter((article) => come.has(/** @type {HTMLElement} */ (article).dataset["node"] ?? "")), turn.side);
  }, [ids]);
  const isSending = sending.value;
  useLayoutEffect(() => {
    if (isSending) toEnd();
  }, [isSending]);
  useEffect(() => {
    const observer = new ResizeObserver(settle);
    if (list.current) observer.observe(list.current);
    if (scroller.current) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    // What is folded may leave too little to scroll to what is above.
    const box = scroller.current;
    if (box && box.scrollHeight <= box.clientHeight && older.peek() !== null) void loadOlder();
  }, [ids]);
  useEffect(() => {
    // A page above arrived while its edge is in view: show it.
    if (held.current && start > 0 && (scroller.current?.scrollTop ?? NEAR) < NEAR) look();
  }, [ids.length]);

  const wanted = target.value;
  useLayoutEffect(() => {
    const at = wanted === null ? -1 : ids.indexOf(wanted);
    if (at < 0) return unfold(wanted);
    if (at < start || at >= end) return setFirst(ids[Math.max(0, at - MOST / 2)] ?? null);
    const article = articleOf(scroller.current, wanted);
    if (!article) return;
    pointAt(null);
    article.scrollIntoView({ block: "center" });
    leadTo(article);
    article.classList.add("found");
    article.addEventListener("animationend", () => article.classList.remove("found"), { once: true });
    held.current = firstVisible(/** @type {HTMLElement} */ (scroller.current));
  }, [wanted, ids, start]);
  const led = ends.value;
  const ledBefore = useRef(led);
  useLayoutEffect(() => {
    if (led !== ledBefore.current) toEnd();
    ledBefore.current = led;
  }, [led]);
  const isEditing = editing.value;
  useEffect(lookAfterEdit, [ids, isEditing]);
  const focus = focusNext.value;
  useLayoutEffect(() => {
    const article = articleOf(scroller.current, focus);
    if (!article) return unfold(focus);
    focusOn(null);
    leadTo(article);
  }, [focus, ids]);

  const turnFold = (/** @type {Fold} */ { summary, isOpen }) => {
    // What the reader opens stays where it is.
    held.current = scroller.current && firstVisible(scroller.current);
    fold(summary, !isOpen);
  };
  const toEnd = () => {
    held.current = null;
    setFirst(null);
    settle();
  };
  const last = ids.length - 1;
  return html`<div class="scroller" ref=${scroller} onScroll=${look} onKeyDown=${walk}>
    <div class="column" ref=${list}>
      ${beginning ? html`<header class="opening"><p>${session.value?.title}</p></header>` : html`<p class="aside top">${loadingOlder.value && t("loading")}</p>`}
      <ol class="line" aria-label=${t("story.line")}>${ids.slice(start, end).map((id, i) => {
        const run = folds.get(id);
        return run ? h(FoldLine, { key: id, fold: run, turn: () => turnFold(run) }) : h(Message, { key: id, id, last: start + i === last });
      })}</ol>
      ${ids.length === 0 && h(Blank, { symbol: "chat", title: t("story.empty"), hint: t("story.emptyHint") })}
      ${end === ids.length && h(Onward, {})}
    </div></div>
    ${away && html`<button type="button" class="to-end" onClick=${toEnd} aria-label=${t("story.toEnd")} title=${t("story.toEnd")}>${icon("down")}</button>`}
    ${h(HintLine, {})}`;
}

/** What a summary stands for, as one line. @param {{fold: Fold, turn: () => void}} props */
const FoldLine = ({ fold: { key, isOpen, count }, turn }) =>
  html`<li class="fold"><button type="button" data-fold=${key} aria-expanded=${isOpen} onClick=${turn}>${icon(isOpen ? "down" : "right")}<span>${t("summary.fold", { n: count })}</span></button></li>`;

/** Opens what a message is folded away in. @param {Id | null} id */
function unfold(id) {
  const around = id === null ? null : foldAround(id);
  if (around) fold(around.summary, true);
}

/** @param {HTMLElement | null} box @param {Id | null} id */
function articleOf(box, id) {
  return id === null ? null : /** @type {HTMLElement | null} */ (box?.querySelector(`[data-node="${CSS.escape(id)}"]`));
}

/** The messages and folds of the line. @param {Element} box @returns {HTMLElement[]} */
const entriesIn = (box) => [.../** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("[data-node], [data-fold]"))];

/** The first message or fold whose lower edge is in view. @param {HTMLElement} box */
function firstVisible(box) {
  const edge = box.getBoundingClientRect().top;
  for (const element of entriesIn(box)) {
    const { top, bottom } = element.getBoundingClientRect();
    if (bottom > edge + 1) return { id: element.dataset["node"] ?? element.dataset["fold"] ?? "", top };
  }
  return null;
}

/** Arrow keys walk from message to message, and to what is folded between them. @param {KeyboardEvent} event */
function walk(event) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const at = event.target instanceof HTMLElement && event.target.matches("[data-node], [data-fold], .tools > button") ? event.target : null;
  const from = /** @type {HTMLElement | null | undefined} */ (at?.closest("[data-node], [data-fold]"));
  if (!step || !from || event.altKey) return;
  const all = entriesIn(/** @type {HTMLElement} */ (event.currentTarget));
  const to = all[all.indexOf(from) + step];
  if (!to) return;
  event.preventDefault();
  to.focus();
}

/** The line ends here, but the story may have gone on from here before, or waits for a reply. */
function Onward() {
  const node = tail.value;
  if (!node || node.status !== "complete" || peek.value !== null) return null;
  const answer = canRun("message.answer", node);
  const follow = canRun("message.follow", node);
  if (!answer && !follow) return null;
  return html`<div class="actions onward">${icon("branch")}<span>${t(follow ? "story.onward" : "story.unanswered")}</span>
    ${h(CommandButton, { id: "message.follow", node, wide: true })}${h(CommandButton, { id: "message.answer", node, wide: true })}</div>`;
}

function PeekBar() {
  return html`<div class="dock"><div class="peek" role="status">${icon("branch")}<p>${t("peek.text")}</p>
    ${h(CommandButton, { id: "message.compare", node: nodeOf(peek.value), wide: true })}${h(CommandButton, { id: "message.merge", node: nodeOf(peek.value), wide: true })}${h(CommandButton, { id: "peek.back", wide: true })}${h(CommandButton, { id: "peek.settle", wide: true, class: "primary" })}</div></div>`;
}

/** A place for what is being moved is chosen in the story itself. */
function MovingBar() {
  return html`<div class="dock"><div class="peek" role="status">${icon(moving.value?.isCopy ? "copyTo" : "move")}<p>${t(moving.value?.isCopy ? "moving.copy" : "moving.text")} <q>${excerpt(plain(moving.value?.name ?? ""), 80)}</q></p>
    ${h(CommandButton, { id: "moving.elsewhere", wide: true })}<span ...${dropOn("moving.stash")}>${h(CommandButton, { id: "moving.stash", wide: true })}</span>${h(CommandButton, { id: "moving.cancel", wide: true })}${h(CommandButton, { id: "moving.cancelCopy", wide: true })}</div></div>`;
}

const CHOSEN = ["chosen.between", "chosen.leaveOut", "chosen.putBack", "chosen.mute", "chosen.unmute", "chosen.summarise", "chosen.keepLore", "chosen.copy", "chosen.none"];

/** What can be done with the messages that are ticked. */
function ChosenBar() {
  return html`<div class="dock"><div class="peek" role="status">${icon("check")}<p>${t("chosen.text", { n: chosen.value?.length ?? 0 })}</p>
    <div class="chosen">${CHOSEN.map((id) => h(CommandButton, { key: id, id, wide: true }))}</div></div></div>`;
}

function HintLine() {
  const which = hint.value;
  if (which === null || writing.value || peek.value !== null || isLinear.value) return null;
  const last = tail.value;
  if (!hintFits(last?.id)) return null;
  const before = which === "hint.goBack" ? nodeOf(beforeTurn.value) : null;
  const back = html`<button type="button" onClick=${() => (run("message.goBack", before), focusField())}>${icon("rewind")}<span>${t("hint.goBack.back")}</span></button>`;
  return html`<div class="hint-line" role="note">${icon(which === "hint.goBack" ? "rewind" : "branch")}<div><p>${t(which)}</p>
    ${which === "hint.goBack" && html`<div class="actions">${before && back}${h(CommandButton, { id: "message.reroll", node: last, wide: true })}</div>`}</div>
    <button type="button" class="round" aria-label=${t("close")} onClick=${() => (hintSeen(), focusField())}>${icon("close")}</button></div>`;
}
