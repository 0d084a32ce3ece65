// What of the open story is summed up: whether, and the summaries of the line on screen, chapters around their parts, each with
// the way to its messages.
import { h, html, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { goTo } from "../actions/branches.js";
import { anew, changeSummaries, correct, readEnd, readSummaries, readTold } from "../actions/recall.js";
import { has, nested } from "../lib/chapters.js";
import { excerpt } from "../lib/excerpt.js";
import { t } from "../lib/i18n.js";
import { served } from "../lib/served.js";
import { plain } from "../lib/text.js";
import { begunUnder, keepBegun } from "../model/begun.js";
import { session } from "../model/story.js";
import { fieldsOf, fillIn, useBegun } from "./begun.js";
import { Blank, Waiting, icon } from "./parts.js";
import { useLatest } from "./reading.js";
import { Sure, takeFocus } from "./sure.js";

/** @import { Chapter } from "../lib/chapters.js" */
/** @import { Id, Summaries, Summary } from "../lib/wire.d.ts" */

const OFF = { enabled: false };
/** How often it is looked again while something is being summed up, in milliseconds. */
const AGAIN = 1500;
/** So many are shown at once; a longer list is folded, for there is more below it. */
const FEW = 3;
/** So much is told of a message that a summary begins or ends with, in letters. */
const ENDS = 60;

/** The name under which is kept what was begun of a summary. */
const BEGUN = "summary.";

export function SummariesOf() {
  const found = useSignal(/** @type {Summaries | null} */ (null));
  const isUnread = useSignal(false);
  /** Those that the prompt of the newest reply told. */
  const told = useSignal(/** @type {Set<Id>} */ (new Set()));
  const settings = session.value?.summaries ?? OFF;
  const read = async () => {
    const answer = await readSummaries();
    if (answer) found.value = answer;
    isUnread.value = !answer;
  };
  useEffect(() => void read(), [settings.enabled]);
  useEffect(() => void readTold().then((ids) => (told.value = new Set(ids))), []);
  const isWorking = found.value?.isWorking ?? false;
  useEffect(() => {
    if (!isWorking) return;
    const again = setTimeout(read, AGAIN);
    return () => clearTimeout(again);
  }, [found.value]);
  // The setting may be told before the work begins, but is answered after that.
  const turn = (/** @type {Event} */ event) => void changeSummaries({ ...settings, enabled: /** @type {HTMLInputElement} */ (event.target).checked }).then(read);
  const items = found.value?.items ?? [];
  return html`<label class="check"><input type="checkbox" checked=${settings.enabled} onChange=${turn} /><span>${t("summaries.on")}<small>${t("summaries.onHint")}</small></span></label>
    ${isUnread.value && h(Blank, { symbol: "warning", title: t("recall.unread") }, html`<button type="button" class="primary" onClick=${read}>${t("retry")}</button>`)}
    ${found.value === null && !isUnread.value && h(Waiting, { rows: 2 })}
    ${found.value?.problem && html`<p class="aside" role="status">${icon("warning")} ${t("summaries.problem", { why: served(found.value.problem) })}</p>`}
    ${isWorking && !found.value?.problem && html`<p class="aside" role="status">${t("summaries.working")}</p>`}
    ${found.value !== null && settings.enabled && !isWorking && items.length === 0 && html`<p class="aside">${t("summaries.none")}</p>`}
    ${items.length > 0 && h(List, { items, told: told.value, read })}`;
}

/** @param {{items: Summary[], told: Set<Id>, read: () => unknown}} props */
function List({ items, told, read }) {
  const tops = nested(items);
  const begun = useRef(begunUnder(BEGUN)).current;
  // How it was found it stays: what grows while it is looked at does not fold itself.
  const isOpen = useRef(tops.length <= FEW || items.some(({ id }) => begun.includes(id))).current;
  return html`<details class="section-fold" open=${isOpen}><summary><h3>${t("summaries.title")} <small>${items.length}</small></h3></summary>
    <div><p class="aside">${told.size > 0 ? t("summaries.toldOf", { n: items.filter(({ id }) => told.has(id)).length }) : t("summaries.toldNone")}</p><ul>${tops.map((chapter) => h(One, { key: chapter.one.id, chapter, told, begun, read }))}</ul></div></details>`;
}

/** @param {{chapter: Chapter, told: Set<Id>, begun: Id[], read: () => unknown}} props */
function One({ chapter, told, begun, read }) {
  const { one, parts } = chapter;
  const writing = useSignal(begun.includes(one.id));
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  const isOpen = useSignal(parts.some((part) => has(part, (id) => begun.includes(id))));
  const name = t(one.level > 1 ? "summaries.chapter" : "summaries.piece", { n: one.nodeIds.length });
  const done = async (/** @type {boolean} */ isSaved) => {
    writing.value = false;
    if (isSaved) await read();
    button.current?.focus();
  };
  const asking = useSignal(false);
  const first = useRef(/** @type {HTMLElement | null} */ (null));
  const keep = () => {
    asking.value = false;
    first.current?.focus();
  };
  const again = async () => {
    asking.value = false;
    if (await anew(one.id)) await read();
    first.current?.focus();
  };
  const marks = [one.plugin && t("summaries.by", { plugin: one.plugin }), one.isStale && t("summaries.stale"), one.isEdited && t("summaries.edited")].filter(Boolean).join(" · ");
  const turn = (/** @type {Event} */ event) => (isOpen.value = /** @type {HTMLDetailsElement} */ (event.currentTarget).open);
  return html`<li class="fragment"><article aria-label=${name}><h4>${name}${told.has(one.id) && html` <span class="chip on">${t("summaries.told")}</span>`}</h4>${h(Ends, { one })}${marks && html`<p class="aside">${marks}</p>`}
    ${writing.value ? h(Correction, { one, done }) : html`<p class="long">${one.content || t("summaries.empty")}</p>`}
    <div class="actions">${one.firstId && html`<button type="button" onClick=${() => goTo(/** @type {string} */ (one.firstId), false)}>${icon("eye")}<span>${t("summaries.first")}</span></button>`}
      ${one.lastId && html`<button type="button" onClick=${() => goTo(/** @type {string} */ (one.lastId), false)}>${icon("eye")}<span>${t("summaries.last")}</span></button>`}
      ${!writing.value && html`<button type="button" ref=${button} onClick=${() => (writing.value = true)}>${icon("edit")}<span>${t("summaries.correct")}</span></button>`}
      ${!writing.value && html`<button type="button" ref=${first} aria-expanded=${asking.value} onClick=${() => (asking.value = !asking.peek())}>${icon(one.plugin ? "shred" : "reroll")}<span>${t(one.plugin ? "summaries.destroy" : "summaries.anew")}</span></button>`}</div>
    ${asking.value && !writing.value && h(Sure, { text: t(one.plugin ? "summaries.destroyText" : one.isEdited ? "summaries.anewOwn" : "summaries.anewText"), yes: t("summaries.anewYes"), no: t("recall.removeNo"), act: again, keep })}
    ${parts.length > 0 && html`<details class="section-fold" open=${isOpen.value} onToggle=${turn}><summary>${t("summaries.parts", { n: parts.length })}</summary>${isOpen.value && html`<ul>${parts.map((part) => h(One, { key: part.one.id, chapter: part, told, begun, read }))}</ul>`}</details>`}</article></li>`;
}

/** How the first and the last of its messages begin. @param {{one: Summary}} props */
function Ends({ one: { firstId, lastId } }) {
  const ends = useSignal(/** @type {string[]} */ ([]));
  const ids = [...new Set([firstId, lastId])].filter((id) => id !== null);
  useLatest(() => Promise.all(ids.map(readEnd)), (texts) => (ends.value = texts.map((text) => excerpt(plain(text), ENDS)).filter(Boolean)), [firstId, lastId]);
  const [first, last] = ends.value;
  return first && html`<p class="aside">${last ? t("summaries.from", { first, last }) : t("summaries.of", { first })}</p>`;
}

/** What is being written in its place, which outlasts a reload. @param {{one: Summary, done: (isSaved: boolean) => unknown}} props */
function Correction({ one: { id, content }, done }) {
  const begun = useBegun(BEGUN + id);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  /** What stood there when it was begun: what comes meanwhile is not written over what is typed. */
  const start = useRef(content).current;
  useLayoutEffect(() => {
    if (begun && form.current) fillIn(form.current, begun);
  }, []);
  const text = () => fieldsOf(/** @type {HTMLFormElement} */ (form.current))["content"]?.replaceAll("\r\n", "\n") ?? "";
  const keep = () => keepBegun(BEGUN + id, text() === start ? null : fieldsOf(/** @type {HTMLFormElement} */ (form.current)));
  /** What somebody else wrote there meanwhile. */
  const theirs = useSignal(/** @type {string | null} */ (null));
  const write = async (/** @type {boolean} */ isSure) => {
    const kept = await correct(id, text(), isSure ? null : start);
    theirs.value = kept && kept !== true ? kept.theirs : null;
    if (kept === true) await done(true);
  };
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    void write(false);
  };
  return html`<form ref=${form} onSubmit=${save} onInput=${keep}><label>${t("summaries.text")}<textarea name="content" rows="5" defaultValue=${start} ref=${takeFocus}></textarea></label>${theirs.value !== null && html`<div class="theirs" role="alert"><p>${t("summaries.changed")}</p><p class="long">${theirs.value || t("summaries.empty")}</p><div class="actions start"><button type="button" onClick=${() => write(true)}>${t("summaries.over")}</button></div></div>`}<div class="actions"><button class="primary">${t("summaries.save")}</button><button type="button" onClick=${() => done(false)}>${t("cancel")}</button></div></form>`;
}
