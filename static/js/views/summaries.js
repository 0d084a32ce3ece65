// What of the open story is summed up: whether, and the summaries of the line on screen with the way to their messages.
import { h, html, useEffect, useSignal } from "../../vendor/preact.js";
import { goTo } from "../actions/branches.js";
import { anew, changeSummaries, correct, readSummaries } from "../actions/recall.js";
import { t } from "../lib/i18n.js";
import { session } from "../model/story.js";
import { Blank, Waiting, icon } from "./parts.js";

/** @import { Summaries, Summary } from "../lib/wire.d.ts" */

const OFF = { enabled: false };
/** How often it is looked again while something is being summed up, in milliseconds. */
const AGAIN = 1500;

export function SummariesOf() {
  const found = useSignal(/** @type {Summaries | null} */ (null));
  const isUnread = useSignal(false);
  const settings = session.value?.summaries ?? OFF;
  const read = async () => {
    const answer = await readSummaries();
    if (answer) found.value = answer;
    isUnread.value = !answer;
  };
  useEffect(() => void read(), [settings.enabled]);
  const isWorking = found.value?.isWorking ?? false;
  useEffect(() => {
    if (!isWorking) return;
    const again = setTimeout(read, AGAIN);
    return () => clearTimeout(again);
  }, [found.value]);
  const turn = (/** @type {Event} */ event) => void changeSummaries({ ...settings, enabled: /** @type {HTMLInputElement} */ (event.target).checked });
  const items = found.value?.items ?? [];
  return html`<label class="check"><input type="checkbox" checked=${settings.enabled} onChange=${turn} /><span>${t("summaries.on")}<small>${t("summaries.onHint")}</small></span></label>
    ${(settings.enabled || items.length > 0) && html`<h3>${t("summaries.title")}</h3>`}
    ${isUnread.value && h(Blank, { symbol: "warning", title: t("recall.unread") }, html`<button type="button" class="primary" onClick=${read}>${t("retry")}</button>`)}
    ${found.value === null && !isUnread.value && h(Waiting, { rows: 2 })}
    ${found.value?.problem && html`<p class="aside" role="status">${icon("warning")} ${t("summaries.problem", { why: found.value.problem })}</p>`}
    ${isWorking && !found.value?.problem && html`<p class="aside" role="status">${t("summaries.working")}</p>`}
    ${found.value !== null && settings.enabled && !isWorking && items.length === 0 && html`<p class="aside">${t("summaries.none")}</p>`}
    ${items.length > 0 && html`<ul>${items.map((one) => h(One, { key: one.id, one, read }))}</ul>`}`;
}

/** @param {{one: Summary, read: () => unknown}} props */
function One({ one, read }) {
  const writing = useSignal(false);
  const name = t(one.level > 1 ? "summaries.chapter" : "summaries.piece", { n: one.nodeIds.length });
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const text = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("content") ?? "");
    if (!(await correct(one.id, text))) return;
    writing.value = false;
    await read();
  };
  const again = async () => (await anew(one.id)) && (await read());
  const marks = [one.isStale && t("summaries.stale"), one.isEdited && t("summaries.edited")].filter(Boolean).join(" · ");
  return html`<li class="fragment"><article aria-label=${name}><h4>${name}</h4>${marks && html`<p class="aside">${marks}</p>`}
    ${writing.value ? html`<form onSubmit=${save}><label>${t("summaries.text")}<textarea name="content" rows="5" defaultValue=${one.content} autofocus></textarea></label><div class="actions"><button class="primary">${t("summaries.save")}</button><button type="button" onClick=${() => (writing.value = false)}>${t("cancel")}</button></div></form>` : html`<p class="long">${one.content || t("summaries.empty")}</p>`}
    <div class="actions">${one.firstId && html`<button type="button" onClick=${() => goTo(/** @type {string} */ (one.firstId), false)}>${icon("eye")}<span>${t("summaries.first")}</span></button>`}
      ${one.lastId && html`<button type="button" onClick=${() => goTo(/** @type {string} */ (one.lastId), false)}>${icon("eye")}<span>${t("summaries.last")}</span></button>`}
      ${!writing.value && html`<button type="button" onClick=${() => (writing.value = true)}>${icon("edit")}<span>${t("summaries.correct")}</span></button>`}
      <button type="button" onClick=${again}>${icon("reroll")}<span>${t("summaries.anew")}</span></button></div></article></li>`;
}
