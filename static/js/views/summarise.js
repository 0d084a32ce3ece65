// A summary of a run: which messages, and the text, which a model can draft. Loaded when first opened.
import { h, html, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { canArrange } from "../actions/arrange.js";
import { canDraft, draftSummary, readFurther, summarise } from "../actions/summarise.js";
import { t } from "../lib/i18n.js";
import { openDialog } from "../model/page.js";
import { loadingOlder, nodeOf, older } from "../model/story.js";
import { shown } from "../tree/line.js";
import { Modal, icon } from "./parts.js";
import { RunChooser, runOf } from "./run.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */
/** @import { Growing } from "../actions/drafts.js" */

/** @param {{first: Id | null, last: Id}} props without a first one: what nobody has summarised yet */
export function Summarise({ first, last }) {
  const nodes = /** @type {ChatNode[]} */ (shown.value.map(nodeOf).filter(canArrange));
  const run = useSignal({ first: first ?? unsummarised(nodes, last), last });
  const text = useSignal("");
  const drafting = useSignal(/** @type {Growing | null} */ (null));
  const end = useRef(() => {});
  useLayoutEffect(() => () => end.current(), []);
  const ids = runOf(nodes, run.value.first, run.value.last).map((node) => node.id);
  const stop = () => {
    end.current();
    drafting.value = null;
  };
  const begin = () => {
    text.value = "";
    drafting.value = { text: "", status: "waiting", place: 1 };
    end.current = draftSummary(ids, (now) => {
      text.value = now.text;
      drafting.value = now.status === "done" || now.status === "error" ? null : now;
    });
  };
  const put = (/** @type {Id} */ from, /** @type {Id} */ to) => {
    stop();
    run.value = { first: from, last: to };
  };
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    stop();
    if (text.peek().trim()) await summarise(ids, text.peek());
  };
  const making = drafting.value;
  return h(Modal, { title: t("summarise.title"), class: "wide", keeps: true }, html`<form onSubmit=${save}><p class="aside">${t("summarise.text")}</p>
    ${h(RunChooser, { nodes, first: run.value.first, last: run.value.last, put })}
    ${older.value !== null && html`<button type="button" class="start" aria-disabled=${loadingOlder.value} onClick=${() => loadingOlder.peek() || readFurther()}>${t("summarise.older")}</button>`}
    <label>${t("speaker.summary")}<textarea rows="8" required value=${text.value} aria-busy=${making !== null} placeholder=${making ? phaseOf(making) : ""}
      onInput=${(/** @type {Event} */ event) => (stop(), (text.value = /** @type {HTMLTextAreaElement} */ (event.target).value))}></textarea></label>
    <div class="actions">${canDraft() &&
      (making
        ? html`<button key="stop" type="button" class="start" onClick=${stop}>${icon("stop")}<span>${t("command.stopDraft")}</span></button>`
        : html`<button key="draft" type="button" class="start" onClick=${begin}>${icon("draft")}<span>${t("summarise.draft")}</span></button>`)}
      <button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary" disabled=${!text.value.trim()}>${t("summarise.take")}</button></div></form>`);
}

/** @param {Growing} now */
const phaseOf = ({ status, place }) => (status === "queued" ? t("phase.queued", { n: place }) : t(status === "thinking" ? "phase.thinking" : "phase.waiting"));

/** The first message after the newest summary above the last one. @param {ChatNode[]} nodes @param {Id} last */
function unsummarised(nodes, last) {
  const run = runOf(nodes, nodes[0]?.id ?? last, last);
  const after = run.findLastIndex((node) => node.kind === "summary" && node.id !== last) + 1;
  return run[after]?.id ?? last;
}
