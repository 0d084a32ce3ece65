// One message: who, when, the text, its siblings, what one can do with it.
import { h, html, useEffect, useLayoutEffect, useRef, useSignal, useSignalEffect } from "../../vendor/preact.js";
import { canArrange } from "../actions/arrange.js";
import { pick } from "../actions/choose.js";
import { run } from "../actions/commands.js";
import { readVersions, toSibling } from "../actions/travel.js";
import { clock, locale, moment, said, t, wordFor } from "../lib/i18n.js";
import { LiveProse, prose, typed, unfold, unfolded } from "../lib/markdown.js";
import { growing } from "../lib/tags.js";
import { isWestern, sentence } from "../lib/text.js";
import { chosen } from "../model/arrangement.js";
import { fanned } from "../model/way.js";
import { characterById } from "../model/library.js";
import { seenNotes, seenProblems } from "../model/secrets.js";
import { editing, familyOf, nodeOf, unread } from "../model/story.js";
import { streamOf } from "../model/stream.js";
import { isLinear, placeAmongSiblings, wentOnFrom } from "../tree/line.js";
import { nameOf } from "../tree/speaker.js";
import { familyKey } from "../tree/turns.js";
import { TurnChanges } from "./changes.js";
import { dropOn, handleOf } from "./drag.js";
import { EditForm } from "./edit-form.js";
import { Labels } from "./label.js";
import { MessageMenu, Stars } from "./message-menu.js";
import { showPicturesNow, usePictures } from "./outside.js";
import { Avatar, CommandButton, ProblemLine, icon, later } from "./parts.js";
import { Provenance } from "./provenance.js";
import { LeftOut, scriptedNow, useScripted } from "./scripted.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */

const Versions = later(() => import("./versions.js").then((module) => module.Versions), 2);

/** @param {{id: Id, last: boolean}} props */
export function Message({ id, last }) {
  const node = nodeOf(id);
  const swipe = useRef({ x: 0, y: 0 });
  if (!node) return null;
  const name = nameOf(node);
  const touched = (/** @type {TouchEvent} */ event) => swiped(node, swipe.current, event);
  // A linear session shows what it has as one line, whatever the tree says of it.
  const isLeftOut = node.isEnabled === false && !isLinear.value;
  return html`<li class=${`message ${node.role} ${node.kind} ${node.status} ${isLeftOut ? "disabled" : ""} ${last ? "last" : ""}`}>
    <article data-node=${id} tabindex=${last ? 0 : -1} aria-label=${t("message.by", { name, time: clock(node.timestamp) })}
      aria-busy=${node.status === "generating"} onTouchStart=${touched} onTouchEnd=${touched} ...${dropOn("message.placeHere", node)}>
      <span class="handle" ...${handleOf(node)}>${h(Avatar, { name, symbol: SYMBOLS[node.kind] ?? "", src: characterById(node.characterId ?? "")?.avatar })}</span>
      <header><span class="who">${name}</span><time datetime=${node.timestamp} title=${moment(node.timestamp)}>${clock(node.timestamp)}</time>
        ${node.metadata?.editedFrom && !isLinear.value && html`<span class="edited">${icon("edit")}${t("message.edited")}</span>`}${h(Stars, { node })}${!isLinear.value && h(Labels, { nid: id })}
        ${isLeftOut && html`<span class="left-out">${icon("eyeOff")}${t("message.leftOut")}</span>`}
        ${node.effects === "muted" && !isLinear.value && html`<span class="left-out">${icon("worldOff")}${t("message.muted")}</span>`}</header>
      ${editing.value === id ? h(EditForm, { node, last }) : h(Body, { node })}
      ${!isLinear.value && h(Provenance, { node })}
      ${node.status === "complete" && h(TurnChanges, { nid: id })}
      <footer>${h(SiblingSwitch, { node })}<div class="tools" role="group" aria-label=${t("message.tools")}>
        ${toolsOf(node).map((command) => h(CommandButton, { key: command, id: command, node, wide: last && command === "message.reroll" }))}
        ${chosen.value && canArrange(node) && html`<label class="pick"><input type="checkbox" checked=${chosen.value.includes(id)} onClick=${(/** @type {MouseEvent} */ event) => pick(id, event.shiftKey)} /><span>${t("chosen.pick")}</span></label>`}
        ${h(CommandButton, { id: "message.placeHere", node, wide: true, class: "place" })}
        ${node.status !== "generating" && h(MessageMenu, { node })}</div></footer>
    </article>${fanned.value === familyKey(node) && !isLinear.value && familyOf(node).value.length > 1 && h(Versions, { node })}</li>`;
}

/** What is nobody's message has a sign where others have a face. @type {{[kind: string]: string}} */
const SYMBOLS = { summary: "summarise", merge: "merge" };

const TOOLS = ["message.reroll", "message.edit", "message.goBack", "message.copy", "message.leaveOut", "message.putBack", "message.why"];

/** A failure has its own, larger button to try again. @param {ChatNode} node */
const toolsOf = (node) => (node.status === "error" ? TOOLS.slice(1) : TOOLS);

// The text

/** @param {{node: ChatNode}} props */
export function Body({ node }) {
  if (node.status === "generating") return h(LiveBody, { key: node.id, node });
  return html`${node.reasoning && h(Thinking, { node, text: node.reasoning, live: false })}
    ${h(Words, { node })}
    ${node.status === "error" && h(Failure, { node })}
    ${node.metadata?.isTruncated && node.status === "complete" && html`<p class="aside">${t("message.cut")}</p>`}
    ${seenNotes(node.notes ?? []).map((note, i) => html`<p key=${i} class="aside note" title=${note.plugin}>${said(note.text)}</p>`)}
    ${h(Problems, { node })}`;
}

/**
 * What a message says: what others wrote without its machine parts, one's own words just as they were typed, and both as
 * scripts have them. What a script makes of one's own words is no more what was typed.
 * @param {{node: ChatNode}} props
 */
function Words({ node }) {
  const isOwn = node.role === "user";
  const { text, left, isChanged, isComing } = useScripted(node, "text", isOwn ? node.content : (node.display ?? node.content));
  return html`${text && h(Prose, { id: node.id, text, isOwn: isOwn && !isChanged, isComing })}${h(LeftOut, { left })}`;
}

/** A reply that is being written. @param {{node: ChatNode}} props */
function LiveBody({ node }) {
  const stream = streamOf(node);
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  const begun = useSignal(growing(stream.text) !== "");
  // What has come may all be for nobody to read.
  const isComing = useSignal(stream.text !== "");
  const thoughts = useSignal(stream.reasoning);
  const live = useRef(/** @type {LiveProse | null} */ (null));
  useSignalEffect(() => {
    void stream.shown.value;
    const text = growing(stream.text);
    begun.value = text !== "";
    isComing.value = stream.text !== "";
    thoughts.value = stream.reasoning;
    const shown = scriptedNow(node, "text", text);
    // Until a script has had its say for the first time nothing is shown that it would take away.
    if (host.current && shown && (shown.text || live.current)) (live.current ??= new LiveProse(host.current)).show(shown.text);
    if (host.current) showPicturesNow(host.current, node);
  });
  useFolds(host, node.id, []);
  return html`${thoughts.value && h(Thinking, { node, text: thoughts.value, live: !begun.value })}
    <div class="prose live" ref=${host}></div>
    ${(!begun.value || node.metadata?.phase === "values") && html`<p class="aside phase">${phaseOf(node, isComing.value)}</p>`}`;
}

/** The text of a message that is only read. @param {{node: ChatNode}} props */
export const ReadOnly = ({ node }) => h(Words, { node });

/** What a reader unfolded in a text, for as long as the page lives. @type {Map<Id, boolean[]>} */
const folds = new Map();

/** Unfolds in a text what was unfolded when it was last drawn. @param {{current: HTMLElement | null}} host @param {Id} id @param {unknown[]} drawnFor */
function useFolds(host, id, drawnFor) {
  useLayoutEffect(() => {
    const drawn = host.current;
    if (!drawn) return undefined;
    unfold(drawn, folds.get(id) ?? []);
    return () => {
      const open = unfolded(drawn);
      if (open.length > 0) folds.set(id, open);
    };
  }, [id, ...drawnFor]);
}

/** Rendered Markdown. @param {{id: Id, text: string, isOwn: boolean, isComing: boolean}} props */
function Prose({ id, text, isOwn, isComing }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => ref.current?.replaceChildren(isOwn ? typed(text) : prose(text)), [text, isOwn, locale.value]);
  useFolds(ref, id, [text, isOwn, locale.value]);
  const question = usePictures(ref, id, [text, isOwn, locale.value]);
  return html`<div class=${`prose ${isWestern(text) ? "western" : ""} ${isComing ? "coming" : ""}`} ref=${ref}></div>${question}`;
}

/** @param {ChatNode} node @param {boolean} isComing */
function phaseOf(node, isComing) {
  const { phase, queuePosition } = node.metadata ?? {};
  if (phase === "queued") return t("phase.queued", { n: queuePosition ?? 1 });
  if (phase === "values") return t("phase.values");
  return t(phase === "thinking" || isComing ? "phase.thinking" : "phase.waiting");
}

/** @param {{node: ChatNode, text: string, live: boolean}} props */
function Thinking({ node, text, live }) {
  const shown = useScripted(node, "thoughts", text);
  return html`<details class="thinking"><summary>${t(live ? "phase.thinking" : "message.thinking")}</summary><div>${shown.text}</div></details>${h(LeftOut, { left: shown.left })}`;
}

/** @param {{node: ChatNode}} props */
function Failure({ node }) {
  const given = node.metadata?.error;
  const { code = "", message = "", hint = "" } = typeof given === "string" ? { code: given } : (given ?? {});
  const title = wordFor(`failure.${code}`);
  // What a model server or a plugin said is worth reading, and numbers are; what else Clotho says is in the title already.
  const detail = title && !/^(provider|plugin|prompt)_/.test(code) ? "" : sentence(after(message, title));
  const advice = wordFor(`failureHint.${code}`) || sentence(hint);
  return html`<div class="failure" role="group" aria-label=${t("message.failed")}>${icon("warning")}<div><p><strong>${title || t("message.failed")}</strong></p>
    ${detail && html`<p class="detail">${detail}</p>`}${advice && html`<p class="hint">${advice}</p>`}
    <div class="actions"><button type="button" class="primary" onClick=${() => run("message.reroll", node)}>${icon("reroll")}<span>${t("retry")}</span></button>
      ${code !== "interrupted" && h(CommandButton, { id: "session.model", wide: true })}</div></div></div>`;
}

/** What the server says of a model server before it comes to that one's own words; a title says it in every language. */
const LEAD = /^the model server('s answer cannot be understood| cannot be reached| failed| refused the request| asks to wait)[:\s]*/i;

/** A message without the words that the title has said already. @param {string} message @param {string} title */
function after(message, title) {
  if (title && LEAD.test(message)) return message.replace(LEAD, "");
  const said = title.replace(/\.$/, "").toLowerCase();
  return said && message.toLowerCase().startsWith(said) ? message.slice(said.length).replace(/^[:,\s]+/, "") : message;
}

/** What only brought a value into its rules; anything else means that a rule did not do its work. */
const HARMLESS = new Set(["clamped", "rounded", "nothing_there"]);

const UNKEPT = "values_failed";

/** @param {{node: ChatNode}} props */
function Problems({ node }) {
  const all = seenProblems(node.problems ?? []);
  const harmless = all.filter(({ code }) => HARMLESS.has(code));
  // Another model that did not keep the values is no rule.
  const unkept = all.filter(({ code }) => code === UNKEPT);
  const broken = all.filter(({ code }) => !HARMLESS.has(code) && code !== UNKEPT);
  const list = (/** @type {typeof all} */ some) => some.map((problem, i) => h(ProblemLine, { key: i, problem }));
  return html`${unkept.length > 0 && html`<details class="aside problems broken" open><summary>${t("message.unkept")}</summary>${list(unkept)}</details>`}
    ${broken.length > 0 && html`<details class="aside problems broken" open><summary>${t("message.broken", { n: broken.length })}</summary>${list(broken)}</details>`}
    ${harmless.length > 0 && html`<details class="aside problems"><summary>${t("message.adjusted", { n: harmless.length })}</summary>${list(harmless)}</details>`}`;
}

// Siblings

/** More versions than these are counted only. */
const MOST_DOTS = 12;

/** The counter, and a dot for each version: a full one where the story went on from it. @param {{node: ChatNode}} props */
function SiblingSwitch({ node }) {
  const { index, count } = placeAmongSiblings(node);
  const read = useSignal(0);
  useEffect(() => {
    if (count > 1 && count <= MOST_DOTS) void readVersions(node).then(() => (read.value += 1));
  }, [node.id, count]);
  void read.value;
  if (count < 2 || isLinear.value) return null;
  const followed = wentOnFrom(node);
  const place = [t("siblings.place", { i: index + 1, n: count }), followed[index] ? "" : t("siblings.candidate")].filter(Boolean).join(", ");
  const arrow = (/** @type {"previous" | "next"} */ which, /** @type {string} */ symbol, /** @type {boolean} */ can) =>
    html`<button type="button" aria-label=${t(`command.${which}`)} aria-disabled=${!can} onClick=${() => can && toSibling(node, which)}>${icon(symbol)}</button>`;
  return html`<div class="siblings" role="group" aria-label=${place}>
    ${familyOf(node).value.some((id) => unread.value.includes(id)) && html`<b class="new">${t("unread.new")}</b>`}${arrow("previous", "left", index > 0)}<button type="button" class="count" aria-label=${t("siblings.all", { i: index + 1, n: count })} title=${`${t("command.versions")} (V)`} aria-expanded=${fanned.value === familyKey(node)} onClick=${() => run("message.versions", node)}><span>${index + 1}/${count}</span></button>${arrow("next", "right", index < count - 1)}
    ${count <= MOST_DOTS && html`<span class="versions" aria-hidden="true" title=${t("siblings.dots")}>${followed.map(
      (isFollowed, i) => html`<i key=${i} class=${`${isFollowed ? "confirmed" : "candidate"} ${i === index ? "here" : ""}`}></i>`,
    )}</span>`}</div>`;
}

const SWIPE = 56;

/** @param {ChatNode} node @param {{x: number, y: number}} from @param {TouchEvent} event */
function swiped(node, from, event) {
  const touch = event.changedTouches[0];
  if (!touch) return;
  const [dx, dy] = [touch.clientX - from.x, touch.clientY - from.y];
  if (event.type === "touchstart") Object.assign(from, { x: touch.clientX, y: touch.clientY });
  else if (!isLinear.peek() && Math.abs(dx) > SWIPE && Math.abs(dx) > 2 * Math.abs(dy)) void toSibling(node, dx > 0 ? "previous" : "next");
}
