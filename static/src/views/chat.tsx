// The chat view: a window over the messages of the branch, the composer, and the bars between them.
import { Fragment, h, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { readUnread } from "../actions/branches.ts";
import "../actions/merge.ts";
import "../actions/turn-bar.ts";
import { canRun, run } from "../actions/commands.ts";
import { watchEditedMessage } from "../actions/edit.ts";
import { forgetPurgedEdits } from "../actions/purged-texts.ts";
import { loadOlder, openSession } from "../actions/session-sync.ts";
import { errorText } from "../actions/error-text.ts";
import { restore } from "../actions/library.ts";
import { readArrangement } from "../actions/stash.ts";
import { followRoute, navigate } from "../actions/navigation.ts";
import { focusQuietly } from "../lib/focus.ts";
import { moment, t } from "../lib/i18n.ts";
import { excerpt } from "../lib/excerpt.ts";
import { slideIn } from "../lib/motion.ts";
import { plainText } from "../lib/text.ts";
import { selectedIds, moving } from "../model/arrangement.ts";
import { deltasVersion } from "../model/deltas.ts";
import { setSummaryOpen } from "../model/summary-folds.ts";
import { hint, hintFits, markHintSeen, route } from "../model/page.ts";
import {
  editedMessage,
  endRequests,
  requestFieldFocus,
  focusNext,
  setFocusNext,
  loading,
  loadingOlder,
  nodeOf,
  olderCursor,
  viewedLeaf,
  scrollTo,
  sending,
  session,
  scrollTarget,
  trashItem,
} from "../model/session-store.ts";
import { closedFoldOf, foldedBranch } from "../tree/summary-folds.ts";
import { beforeTurn, isLinear, tail, writtenReply } from "../tree/shown-branch.ts";
import { versionSwitch } from "../tree/version-switch.ts";
import { hasTurnBar } from "../tree/turns.ts";
import { Composer } from "./composer.tsx";
import { dropOn } from "./drag.ts";
import { Message } from "./message.tsx";
import { EmptyState, CommandButton, LoadingRows, icon, lazyView } from "./common.tsx";
import type { Id, TrashItem } from "../lib/wire.d.ts";
import type { SummaryFold } from "../tree/summary-folds.ts";
import type { ApiError } from "../net/api.ts";

/** Maximum number of messages in the page. The window moves by STEP when the scroll position comes near its end. */
const MAX_IN_PAGE = 80;
/** Number of messages in the first render. The ones above follow after it. */
const FIRST_RENDERED = 12;
const STEP = 30;
const NEAR = 900;
const AT_END = 40;

/** The path bar. Its placeholder keeps the space, so that nothing moves under a finger when it is loaded. */
const TurnBar = lazyView(
  () => import("./turn-bar.tsx").then((module) => module.TurnBar),
  () => (hasTurnBar() ? <div class="way" /> : null),
);

export function Chat() {
  const state = loading.value;
  const at = session.value;
  const changed = deltasVersion.value;
  useEffect(() => void (state.state === "ready" && readArrangement()), [at?.id, state.state, changed]);
  useEffect(() => void (state.state === "ready" && (readUnread(), forgetPurgedEdits())), [at?.id, state.state]);
  if (state.state === "failed") return <Unreadable error={state.error} />;
  if (state.state !== "ready" || !at)
    return (
      <section class="chat">
        <div class="scroller">
          <div class="column">
            <LoadingRows rows={6} />
          </div>
        </div>
      </section>
    );
  const bar =
    viewedLeaf.value !== null ? (
      <ViewingBar />
    ) : moving.value !== null ? (
      <MovingBar />
    ) : selectedIds.value !== null ? (
      <SelectionBar />
    ) : (
      <Composer key={at.id} />
    );
  return (
    <section
      class={`chat ${moving.value ? "is-moving" : selectedIds.value ? "is-choosing" : ""}`}
      aria-label={at.title}
    >
      <TurnBar />
      <Branch key={at.id} />
      {bar}
    </section>
  );
}

function Unreadable({ error }: { error: ApiError }) {
  if (trashItem.value) return <InTrash item={trashItem.value} />;
  const isGone = error.status === 404;
  const words = isGone ? { text: t("story.notFound"), hint: t("story.notFoundHint") } : errorText(error);
  const retry = () =>
    route.value.page === "session" && void openSession(route.value.sid).then(() => followRoute(route.value));
  return (
    <section class="chat">
      <EmptyState symbol="warning" title={words.text} hint={words.hint} whole>
        <div class="actions">
          <button type="button" class={isGone ? "primary" : ""} onClick={() => navigate("/")}>
            {icon("book")}
            <span>{t("command.library")}</span>
          </button>
          {!isGone && (
            <button type="button" class="primary" onClick={retry}>
              {t("retry")}
            </button>
          )}
        </div>
      </EmptyState>
    </section>
  );
}

/** The notice for a session that was deleted, in this tab or elsewhere, and can still be restored. */
function InTrash({ item: { id, name, until } }: { item: TrashItem }) {
  return (
    <section class="chat">
      <EmptyState
        symbol="trash"
        title={t("notice.trashed", { name })}
        hint={t("story.trashedHint", { when: moment(until) })}
        whole
      >
        <div class="actions">
          <button type="button" onClick={() => navigate("/")}>
            {icon("book")}
            <span>{t("command.library")}</span>
          </button>
          <CommandButton id="page.trash" wide />
          <button type="button" class="primary" onClick={() => restore(id)}>
            {icon("undo")}
            <span>{t("command.restore")}</span>
          </button>
        </div>
      </EmptyState>
    </section>
  );
}

/** Returns the range of the branch that is in the page. `first` = its first message; null = it ends with the branch. */
function windowOf(ids: Id[], first: Id | null, most: number) {
  const last = Math.max(0, ids.length - most);
  const found = first === null ? -1 : ids.indexOf(first);
  const start = found < 0 ? last : Math.min(found, last);
  return { start, end: Math.min(ids.length, start + most) };
}

function Branch() {
  const { entries: ids, folds } = foldedBranch.value;
  const scroller = useRef<HTMLDivElement | null>(null);
  const list = useRef<HTMLDivElement | null>(null);
  const [first, setFirst] = useState(null as Id | null);
  const [away, setAway] = useState(false);
  // `held` is the message that must not move while content above it changes; null = the view follows the end.
  const held = useRef<{ id: string; top: number } | null>(null);
  const reached = useRef(0);
  const [most, setMost] = useState(FIRST_RENDERED);
  const { start, end } = windowOf(ids, first, most);
  const beginning = start === 0 && olderCursor.value === null;

  const settle = () => {
    const box = scroller.current;
    if (!box) return;
    const hold = held.current;
    const element =
      hold && box.querySelector(`[data-node="${CSS.escape(hold.id)}"], [data-fold="${CSS.escape(hold.id)}"]`);
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
    // A view that follows the end keeps following it when content grows below the edge. Only scrolling up ends that.
    const follows = held.current === null && !isUp && end === ids.length;
    held.current = atEnd || follows ? null : firstVisible(box);
    if (follows && !atEnd) settle();
    setAway(end < ids.length || below > NEAR / 2);
    if (box.scrollTop < NEAR && start > 0) setFirst(ids[Math.max(0, start - STEP)] ?? null);
    else if (box.scrollTop < NEAR && olderCursor.peek() !== null) void loadOlder();
    else if (below < NEAR && end < ids.length) setFirst(ids[Math.min(start + STEP, ids.length - MAX_IN_PAGE)] ?? null);
  };

  useLayoutEffect(() => {
    // A session with a single message is shown from its top.
    const box = scroller.current;
    if (box && beginning && ids.length === 1) held.current = firstVisible(box);
  }, []);
  useEffect(() => setMost(MAX_IN_PAGE), []);
  useLayoutEffect(settle, [ids, start, end]);
  const before = useRef(ids);
  useLayoutEffect(() => {
    const turn = versionSwitch(before.current, ids);
    before.current = ids;
    if (!turn || !list.current) return;
    const come = new Set(ids.slice(turn.at));
    slideIn(
      [...list.current.querySelectorAll("[data-node]")].filter((article) =>
        come.has((article as HTMLElement).dataset.node ?? ""),
      ),
      turn.side,
    );
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
    // With folded messages, the rest may be too short to scroll, so that scrolling would never load older messages.
    const box = scroller.current;
    if (box && box.scrollHeight <= box.clientHeight && olderCursor.peek() !== null) void loadOlder();
  }, [ids]);
  useEffect(() => {
    // A page of older messages arrived while its edge is in view: show it.
    if (held.current && start > 0 && (scroller.current?.scrollTop ?? NEAR) < NEAR) look();
  }, [ids.length]);

  const wanted = scrollTarget.value;
  useLayoutEffect(() => {
    const at = wanted === null ? -1 : ids.indexOf(wanted);
    if (at < 0) return unfold(wanted);
    if (at < start || at >= end) return setFirst(ids[Math.max(0, at - MAX_IN_PAGE / 2)] ?? null);
    const article = articleOf(scroller.current, wanted);
    if (!article) return;
    scrollTo(null);
    article.scrollIntoView({ block: "center" });
    focusQuietly(article);
    article.classList.add("found");
    article.addEventListener("animationend", () => article.classList.remove("found"), { once: true });
    held.current = firstVisible(scroller.current as HTMLElement);
  }, [wanted, ids, start]);
  const led = endRequests.value;
  const ledBefore = useRef(led);
  useLayoutEffect(() => {
    if (led !== ledBefore.current) toEnd();
    ledBefore.current = led;
  }, [led]);
  const edited = editedMessage.value;
  useLayoutEffect(() => {
    // The field is larger than the text. A view that follows the end would push it out at the top.
    const article = articleOf(scroller.current, edited);
    if (article && edited) held.current = { id: edited, top: article.getBoundingClientRect().top };
  }, [edited]);
  useEffect(watchEditedMessage, [ids, edited]);
  const focus = focusNext.value;
  useLayoutEffect(() => {
    const article = articleOf(scroller.current, focus);
    if (!article) return unfold(focus);
    setFocusNext(null);
    focusQuietly(article);
  }, [focus, ids]);

  const turnFold = ({ summary, isOpen }: SummaryFold) => {
    // The fold that the user opens must not move.
    held.current = scroller.current && firstVisible(scroller.current);
    setSummaryOpen(summary, !isOpen);
  };
  const toEnd = () => {
    held.current = null;
    setFirst(null);
    settle();
  };
  const last = ids.length - 1;
  return (
    <>
      <div class="scroller" ref={scroller} onScroll={look} onKeyDown={moveFocus}>
        <div class="column" ref={list}>
          {beginning ? (
            <header class="opening">
              <p>{session.value?.title}</p>
            </header>
          ) : (
            <p class="aside top">{loadingOlder.value && t("loading")}</p>
          )}
          <ol class="line" aria-label={t("story.line")}>
            {ids.slice(start, end).map((id, i) => {
              const run = folds.get(id);
              return run ? (
                <FoldLine key={id} fold={run} turn={() => turnFold(run)} />
              ) : (
                <Message key={id} id={id} last={start + i === last} />
              );
            })}
          </ol>
          {ids.length === 0 && <EmptyState symbol="chat" title={t("story.empty")} hint={t("story.emptyHint")} />}
          {end === ids.length && <BranchEnd />}
        </div>
      </div>
      {away && (
        <button type="button" class="to-end" onClick={toEnd} aria-label={t("story.toEnd")} title={t("story.toEnd")}>
          {icon("down")}
        </button>
      )}
      <HintLine />
    </>
  );
}

/** The line in place of the messages that a summary covers. */
const FoldLine = ({ fold: { key, isOpen, count }, turn }: { fold: SummaryFold; turn: () => void }) => (
  <li class="fold">
    <button type="button" data-fold={key} aria-expanded={isOpen} onClick={turn}>
      {icon(isOpen ? "down" : "right")}
      <span>{t("summary.fold", { n: count })}</span>
    </button>
  </li>
);

/** Opens the fold around a message. */
function unfold(id: Id | null) {
  const around = id === null ? null : closedFoldOf(id);
  if (around) setSummaryOpen(around.summary, true);
}

function articleOf(box: HTMLElement | null, id: Id | null) {
  return id === null ? null : (box?.querySelector(`[data-node="${CSS.escape(id)}"]`) as HTMLElement | null);
}

/** Returns the elements of all messages and folds. */
const entriesIn = (box: Element): HTMLElement[] => [
  ...(box.querySelectorAll("[data-node], [data-fold]") as NodeListOf<HTMLElement>),
];

/** Returns the first message or fold whose lower edge is in view. */
function firstVisible(box: HTMLElement) {
  const edge = box.getBoundingClientRect().top;
  for (const element of entriesIn(box)) {
    const { top, bottom } = element.getBoundingClientRect();
    if (bottom > edge + 1) return { id: element.dataset.node ?? element.dataset.fold ?? "", top };
  }
  return null;
}

/** Moves the focus between messages and folds with the arrow keys. */
function moveFocus(event: KeyboardEvent) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const at =
    event.target instanceof HTMLElement && event.target.matches("[data-node], [data-fold], .tools > button")
      ? event.target
      : null;
  const from = at?.closest("[data-node], [data-fold]") as HTMLElement | null | undefined;
  if (!step || !from || event.altKey) return;
  const all = entriesIn(event.currentTarget as HTMLElement);
  const to = all[all.indexOf(from) + step];
  if (!to) return;
  event.preventDefault();
  to.focus();
}

/** The actions at the end of the branch: another branch continues from here, or the message has no reply. */
function BranchEnd() {
  const node = tail.value;
  if (node?.status !== "complete" || viewedLeaf.value !== null) return null;
  const answer = canRun("message.answer", node);
  const follow = canRun("message.follow", node);
  if (!answer && !follow) return null;
  return (
    <div class="actions onward">
      {icon("branch")}
      <span>{t(follow ? "story.onward" : "story.unanswered")}</span>
      <CommandButton id="message.follow" node={node} wide />
      <CommandButton id="message.answer" node={node} wide />
    </div>
  );
}

function ViewingBar() {
  return (
    <div class="dock">
      <div class="peek" role="status">
        {icon("branch")}
        <p>{t("peek.text")}</p>
        <CommandButton id="message.compare" node={nodeOf(viewedLeaf.value)} wide />
        <CommandButton id="message.merge" node={nodeOf(viewedLeaf.value)} wide />
        <CommandButton id="peek.back" wide />
        <CommandButton id="peek.settle" wide class="primary" />
      </div>
    </div>
  );
}

/** The bar while something is being moved. The user chooses the target among the messages. */
function MovingBar() {
  return (
    <div class="dock">
      <div class="peek" role="status">
        {icon(moving.value?.isCopy ? "copyTo" : "move")}
        <p>
          {t(moving.value?.isCopy ? "moving.copy" : "moving.text")}{" "}
          <q>{excerpt(plainText(moving.value?.name ?? ""), 80)}</q>
        </p>
        <CommandButton id="moving.elsewhere" wide />
        <span {...dropOn("moving.stash")}>
          <CommandButton id="moving.stash" wide />
        </span>
        <CommandButton id="moving.cancel" wide />
        <CommandButton id="moving.cancelCopy" wide />
      </div>
    </div>
  );
}

const SELECTION_COMMANDS = [
  "chosen.between",
  "chosen.leaveOut",
  "chosen.putBack",
  "chosen.mute",
  "chosen.unmute",
  "chosen.summarise",
  "chosen.keepLore",
  "chosen.copy",
  "chosen.none",
];

/** The actions for the selected messages. */
function SelectionBar() {
  return (
    <div class="dock">
      <div class="peek" role="status">
        {icon("check")}
        <p>{t("chosen.text", { n: selectedIds.value?.length ?? 0 })}</p>
        <div class="chosen">
          {SELECTION_COMMANDS.map((id) => (
            <CommandButton key={id} id={id} wide />
          ))}
        </div>
      </div>
    </div>
  );
}

function HintLine() {
  const which = hint.value;
  if (which === null || writtenReply.value || viewedLeaf.value !== null || isLinear.value) return null;
  const last = tail.value;
  if (!hintFits(last?.id)) return null;
  const before = which === "hint.goBack" ? nodeOf(beforeTurn.value) : null;
  const back = (
    <button type="button" onClick={() => (run("message.goBack", before), requestFieldFocus())}>
      {icon("rewind")}
      <span>{t("hint.goBack.back")}</span>
    </button>
  );
  return (
    <div class="hint-line" role="note">
      {icon(which === "hint.goBack" ? "rewind" : "branch")}
      <div>
        <p>{t(which)}</p>
        {which === "hint.goBack" && (
          <div class="actions">
            {before && back}
            <CommandButton id="message.reroll" node={last} wide />
          </div>
        )}
      </div>
      <button type="button" class="round" aria-label={t("close")} onClick={() => (markHintSeen(), requestFieldFocus())}>
        {icon("close")}
      </button>
    </div>
  );
}
