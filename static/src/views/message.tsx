// One message: author, time, text, siblings and actions.
import { Fragment, h, useEffect, useLayoutEffect, useRef, useSignal, useSignalEffect } from "../../vendor/preact.js";
import { canArrange } from "../actions/message-state.ts";
import { toggleSelected } from "../actions/message-selection.ts";
import { run } from "../actions/commands.ts";
import { readModelsAndPlugins } from "../actions/library.ts";
import { readVersions, goToNext, goToSibling, isNextNew } from "../actions/navigation.ts";
import { clock, locale, moment, t, optionalText } from "../lib/i18n.ts";
import { LiveMarkdown, renderMarkdown, renderTyped, restoreDetails, openDetails } from "../lib/markdown.ts";
import { failureDetail } from "../lib/model-failure.ts";
import { visiblePart } from "../lib/hidden-tags.ts";
import { isWestern, sentence } from "../lib/text.ts";
import { codedMessageText } from "../lib/coded-message.ts";
import { selectedIds } from "../model/arrangement.ts";
import { openSiblings } from "../model/turn-bar.ts";
import { characterById, chatModels, models } from "../model/library.ts";
import { visibleNotes, visibleProblems } from "../model/secrets.ts";
import { editedMessage, session, siblingsOf, nodeOf, unread } from "../model/session-store.ts";
import { streamOf } from "../model/stream.ts";
import { isLinear, placeAmongSiblings, continuedVersions } from "../tree/shown-branch.ts";
import { speakerName } from "../tree/speaker.ts";
import { familyKey } from "../tree/turns.ts";
import { TurnChanges } from "./changes.tsx";
import { dropOn, handleOf } from "./drag.ts";
import { EditForm } from "./edit-form.tsx";
import { Labels } from "./label.tsx";
import { MessageMenu, Stars } from "./message-menu.tsx";
import { showRemoteImages, useRemoteImages } from "./remote-images.tsx";
import { Avatar, CommandButton, ProblemLine, icon, lazyView } from "./common.tsx";
import { Provenance } from "./provenance.tsx";
import { LeftOutScripts, displayedTextNow, useDisplayedText } from "./display-scripts.tsx";
import type { Key } from "../lib/i18n.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

const Versions = lazyView(() => import("./versions.tsx").then((module) => module.Versions), 2);

export function Message({ id, last }: { id: Id; last: boolean }) {
  const node = nodeOf(id);
  const swipe = useRef({ x: 0, y: 0 });
  if (!node) return null;
  const name = speakerName(node);
  const touched = (event: TouchEvent) => handleSwipe(node, swipe.current, event);
  // A linear session shows all messages of its line, whatever the tree says of them.
  const isLeftOut = node.isEnabled === false && !isLinear.value;
  return (
    <li class={`message ${node.role} ${node.kind} ${node.status} ${isLeftOut ? "disabled" : ""} ${last ? "last" : ""}`}>
      <article
        data-node={id}
        tabindex={last ? 0 : -1}
        aria-label={t("message.by", { name, time: clock(node.timestamp) })}
        aria-busy={node.status === "generating"}
        onTouchStart={touched}
        onTouchEnd={touched}
        {...dropOn("message.placeHere", node)}
      >
        <span class="handle" {...handleOf(node)}>
          <Avatar
            name={name}
            symbol={KIND_ICONS[node.kind] ?? ""}
            src={characterById(node.characterId ?? "")?.avatar}
          />
        </span>
        <header>
          <span class="who">{name}</span>
          <time datetime={node.timestamp} title={moment(node.timestamp)}>
            {clock(node.timestamp)}
          </time>
          {node.metadata?.editedFrom && !isLinear.value && (
            <span class="edited">
              {icon("edit")}
              {t("message.edited")}
            </span>
          )}
          <Stars node={node} />
          {!isLinear.value && <Labels nid={id} />}
          {isLeftOut && (
            <span class="left-out">
              {icon("eyeOff")}
              {t("message.leftOut")}
            </span>
          )}
          {node.effects === "muted" && !isLinear.value && (
            <span class="left-out">
              {icon("worldOff")}
              {t("message.muted")}
            </span>
          )}
        </header>
        {editedMessage.value === id ? <EditForm node={node} last={last} /> : <Body node={node} />}
        {!isLinear.value && <Provenance node={node} />}
        {node.status === "complete" && <TurnChanges nid={id} />}
        <footer>
          <SiblingSwitch node={node} />
          <div class="tools" role="group" aria-label={t("message.tools")}>
            {toolsOf(node).map((command) => (
              <CommandButton key={command} id={command} node={node} wide={last && command === "message.reroll"} />
            ))}
            {selectedIds.value && canArrange(node) && (
              <label class="pick">
                <input
                  type="checkbox"
                  checked={selectedIds.value.includes(id)}
                  onClick={(event: MouseEvent) => toggleSelected(id, event.shiftKey)}
                />
                <span>{t("chosen.pick")}</span>
              </label>
            )}
            <CommandButton id="message.placeHere" node={node} wide class="place" />
            {node.status !== "generating" && <MessageMenu node={node} />}
          </div>
        </footer>
      </article>
      {openSiblings.value === familyKey(node) && !isLinear.value && siblingsOf(node).value.length > 1 && (
        <Versions node={node} />
      )}
    </li>
  );
}

/** Icons for messages without an author, in place of an avatar. */
const KIND_ICONS: { [kind: string]: string } = { summary: "summarise", merge: "merge" };

const TOOLS = [
  "message.reroll",
  "message.edit",
  "message.goBack",
  "message.copy",
  "message.leaveOut",
  "message.putBack",
  "message.why",
];

/** Returns the tools of a message. A failed message has its own, larger retry button. */
const toolsOf = (node: ChatNode) => (node.status === "error" ? TOOLS.slice(1) : TOOLS);

// Text of the message

/** Returns what the reader is told of a reply that may lack its end. */
function cutText(reason: string | null | undefined) {
  if (!reason) return t("message.cutUnknown");
  if (reason === "length" || reason === "cancelled") return t("message.cut");
  if (reason === "content_filter") return t("message.cutFiltered");
  return reason === "abort" ? t("message.cutAborted") : t("message.cutReason", { reason });
}

export function Body({ node }: { node: ChatNode }) {
  if (node.status === "generating") return <LiveBody key={node.id} node={node} />;
  return (
    <>
      {node.reasoning && <Thinking node={node} text={node.reasoning} live={false} />}
      <MessageText node={node} />
      {node.status === "error" && <Failure node={node} />}
      {node.metadata?.isTruncated && node.status === "complete" && (
        <p class="aside">{cutText(node.metadata.finishReason)}</p>
      )}
      {visibleNotes(node.notes ?? []).map((note, i) => (
        <p key={i} class="aside note" title={note.plugin}>
          {codedMessageText({ ...note, message: note.text })}
        </p>
      ))}
      <Problems node={node} />
    </>
  );
}

/**
 * Renders the text of a message, changed by scripts. Replies lose their machine-readable parts; the user's own text is
 * shown as typed. A user text that a script changed is rendered like a reply.
 */
function MessageText({ node }: { node: ChatNode }) {
  const isOwn = node.role === "user";
  const { text, left, isChanged, isLoading } = useDisplayedText(
    node,
    "text",
    isOwn ? node.content : (node.display ?? node.content),
  );
  return (
    <>
      {text && <Prose id={node.id} text={text} isOwn={isOwn && !isChanged} isComing={isLoading} />}
      <LeftOutScripts left={left} />
    </>
  );
}

/** Renders a reply while it is generated. */
function LiveBody({ node }: { node: ChatNode }) {
  const stream = streamOf(node);
  const host = useRef<HTMLDivElement | null>(null);
  const hasText = useSignal(visiblePart(stream.text) !== "");
  // The text received so far may be hidden completely.
  const isComing = useSignal(stream.text !== "");
  const thoughts = useSignal(stream.reasoning);
  const live = useRef<LiveMarkdown | null>(null);
  useSignalEffect(() => {
    void stream.shown.value;
    const text = visiblePart(stream.text);
    hasText.value = text !== "";
    isComing.value = stream.text !== "";
    thoughts.value = stream.reasoning;
    const shown = displayedTextNow(node, "text", text);
    // Shows nothing until scripts have run for the first time, because they may remove the text.
    if (host.current && shown && (shown.text || live.current))
      (live.current ??= new LiveMarkdown(host.current)).show(shown.text);
    if (host.current) showRemoteImages(host.current, node);
  });
  useFolds(host, node.id, []);
  return (
    <>
      {thoughts.value && <Thinking node={node} text={thoughts.value} live={!hasText.value} />}
      <div class="prose live" ref={host} />
      {(!hasText.value || node.metadata?.phase === "values") && (
        <p class="aside phase">{phaseOf(node, isComing.value)}</p>
      )}
    </>
  );
}

/** Renders the text of a message that can only be read. */
export const ReadOnly = ({ node }: { node: ChatNode }) => <MessageText node={node} />;

/** Which folds of a text the user opened, by node. Kept until the page is reloaded. */
const folds: Map<Id, boolean[]> = new Map();

/** Opens the folds that were open when the text was last rendered. */
function useFolds(host: { current: HTMLElement | null }, id: Id, drawnFor: unknown[]) {
  useLayoutEffect(() => {
    const drawn = host.current;
    if (!drawn) return undefined;
    restoreDetails(drawn, folds.get(id) ?? []);
    return () => {
      const open = openDetails(drawn);
      if (open.length > 0) folds.set(id, open);
    };
  }, [id, ...drawnFor]);
}

/** Renders Markdown; the user's own text is rendered as typed. */
function Prose({ id, text, isOwn, isComing }: { id: Id; text: string; isOwn: boolean; isComing: boolean }) {
  const ref = useRef<HTMLDivElement | null>(null);
  useLayoutEffect(
    () => ref.current?.replaceChildren(isOwn ? renderTyped(text) : renderMarkdown(text)),
    [text, isOwn, locale.value],
  );
  useFolds(ref, id, [text, isOwn, locale.value]);
  const question = useRemoteImages(ref, id, [text, isOwn, locale.value]);
  return (
    <>
      <div class={`prose ${isWestern(text) ? "western" : ""} ${isComing ? "coming" : ""}`} ref={ref} />
      {question}
    </>
  );
}

function phaseOf(node: ChatNode, isComing: boolean) {
  const { phase, queuePosition } = node.metadata ?? {};
  if (phase === "queued") return t("phase.queued", { n: queuePosition ?? 1 });
  if (phase === "values") return t("phase.values");
  return t(phase === "thinking" || isComing ? "phase.thinking" : "phase.waiting");
}

function Thinking({ node, text, live }: { node: ChatNode; text: string; live: boolean }) {
  const shown = useDisplayedText(node, "thoughts", text);
  return (
    <>
      <details class="thinking">
        <summary>{t(live ? "phase.thinking" : "message.thinking")}</summary>
        <div>{shown.text}</div>
      </details>
      <LeftOutScripts left={shown.left} />
    </>
  );
}

/**
 * Returns the code whose texts explain a failure. Without a model, a story is written by the plugin that is the default
 * model, and stories of other programs do not have that plugin. Then a model is missing, not a plugin.
 */
function useFailureCode(code: string) {
  const isModelMissing = code === "narrator_inactive" && !session.value?.model;
  useEffect(() => {
    if (isModelMissing && models.peek() === null) void readModelsAndPlugins();
  }, [isModelMissing]);
  if (!isModelMissing || models.value === null) return code;
  return chatModels.value.length === 0 ? "no_model" : "no_model_chosen";
}

function Failure({ node }: { node: ChatNode }) {
  const given = node.metadata?.error;
  const {
    code: sent = "",
    args,
    message = "",
    hint = "",
  } = typeof given === "string" ? { code: given } : (given ?? {});
  const code = useFailureCode(sent);
  const title = optionalText(`failure.${code}`);
  // Shows messages of model servers and plugins, and those about prompts, as they contain numbers. For other errors the
  // title already says everything.
  const hasOwnDetail = /^(provider|plugin|prompt)_/.test(code) || args?.words !== undefined;
  const detail = title && !hasOwnDetail ? "" : failureDetail({ code, ...(args && { args }), message });
  const advice = optionalText(`failureHint.${code}`) || sentence(hint);
  return (
    <div class="failure" role="group" aria-label={t("message.failed")}>
      {icon("warning")}
      <div>
        <p>
          <strong>{title || t("message.failed")}</strong>
        </p>
        {detail && <p class="detail">{detail}</p>}
        {advice && <p class="hint">{advice}</p>}
        <div class="actions">
          <button type="button" class="primary" onClick={() => run("message.reroll", node)}>
            {icon("reroll")}
            <span>{t("retry")}</span>
          </button>
          {code === "no_model" && <CommandButton id="page.connect" wide />}
          {code !== "interrupted" && code !== "no_model" && <CommandButton id="session.model" wide />}
        </div>
      </div>
    </div>
  );
}

/** Problems that only fitted a value to its rules. Any other code means that a rule failed. */
const HARMLESS = new Set(["clamped", "rounded", "nothing_there"]);

const VALUES_FAILED = "values_failed";

function Problems({ node }: { node: ChatNode }) {
  const all = visibleProblems(node.problems ?? []);
  const harmless = all.filter(({ code }) => HARMLESS.has(code));
  // The other model that failed to write the values is not a rule.
  const unkept = all.filter(({ code }) => code === VALUES_FAILED);
  const broken = all.filter(({ code }) => !HARMLESS.has(code) && code !== VALUES_FAILED);
  const list = (some: typeof all) => some.map((problem, i) => <ProblemLine key={i} problem={problem} />);
  return (
    <>
      {unkept.length > 0 && (
        <details class="aside problems broken" open>
          <summary>{t("message.unkept")}</summary>
          {list(unkept)}
        </details>
      )}
      {broken.length > 0 && (
        <details class="aside problems broken" open>
          <summary>{t("message.broken", { n: broken.length })}</summary>
          {list(broken)}
        </details>
      )}
      {harmless.length > 0 && (
        <details class="aside problems">
          <summary>{t("message.adjusted", { n: harmless.length })}</summary>
          {list(harmless)}
        </details>
      )}
    </>
  );
}

// Siblings

/** Maximum number of versions shown as dots; more are only counted. */
const MAX_DOTS = 12;

/** Shows the counter and a dot for each version. The dot is full if the story continues from that version. */
function SiblingSwitch({ node }: { node: ChatNode }) {
  const { index, count } = placeAmongSiblings(node);
  const read = useSignal(0);
  useEffect(() => {
    if (count > 1 && count <= MAX_DOTS) void readVersions(node).then(() => (read.value += 1));
  }, [node.id, count]);
  void read.value;
  if (count < 2 || isLinear.value) return null;
  const followed = continuedVersions(node);
  const place = [t("siblings.place", { i: index + 1, n: count }), followed[index] ? "" : t("siblings.candidate")]
    .filter(Boolean)
    .join(", ");
  const isNew = isNextNew(node);
  const arrow = (label: Key, symbol: string, can: boolean, go: () => unknown) => (
    <button type="button" aria-label={t(label)} title={t(label)} aria-disabled={!can} onClick={() => can && go()}>
      {icon(symbol)}
    </button>
  );
  return (
    <div class="siblings" role="group" aria-label={place}>
      {siblingsOf(node).value.some((id) => unread.value.includes(id)) && <b class="new">{t("unread.new")}</b>}
      {arrow("command.previous", "left", index > 0, () => goToSibling(node, "previous"))}
      <button
        type="button"
        class="count"
        aria-label={t("siblings.all", { i: index + 1, n: count })}
        title={`${t("command.versions")} (V)`}
        aria-expanded={openSiblings.value === familyKey(node)}
        onClick={() => run("message.versions", node)}
      >
        <span>
          {index + 1}/{count}
        </span>
      </button>
      {arrow(isNew ? "siblings.new" : "command.next", "right", isNew || index < count - 1, () => goToNext(node))}
      {count <= MAX_DOTS && (
        <span class="versions" aria-hidden="true" title={t("siblings.dots")}>
          {followed.map((isFollowed, i) => (
            <i key={i} class={`${isFollowed ? "confirmed" : "candidate"} ${i === index ? "here" : ""}`} />
          ))}
        </span>
      )}
    </div>
  );
}

const SWIPE_DISTANCE = 56;

/** Whether the finger is on something that has its own use for it: a field, or a wide block that scrolls. */
const hasOwnTouch = (target: EventTarget | null) => {
  const scrolls = (box: Element) =>
    box.scrollWidth > box.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(box).overflowX);
  for (let box = target instanceof Element ? target : null; box && !box.matches("article"); box = box.parentElement)
    if (box.matches("input, textarea") || scrolls(box)) return true;
  return false;
};

function handleSwipe(node: ChatNode, from: { x: number; y: number }, event: TouchEvent) {
  const touch = event.changedTouches[0];
  if (!touch) return;
  const [dx, dy] = [touch.clientX - from.x, touch.clientY - from.y];
  // Two fingers zoom the page.
  const isOther = event.touches.length > 1 || hasOwnTouch(event.target);
  if (event.type === "touchstart")
    Object.assign(from, isOther ? { x: Number.NaN } : { x: touch.clientX, y: touch.clientY });
  else if (!isLinear.peek() && Math.abs(dx) > SWIPE_DISTANCE && Math.abs(dx) > 2 * Math.abs(dy))
    void (dx > 0 ? goToSibling(node, "previous") : goToNext(node));
}
