// What an import says of what came in: what works, what was translated, what is kept and does nothing here, what was left out. A long
// one is counted, sifted, read by file or by what is said, and drawn piece by piece.
import { h, html, useMemo, useRef, useSignal } from "../../vendor/preact.js";
import { bringAfterLook } from "../actions/transfers.js";
import { navigate } from "../actions/travel.js";
import { copyText } from "../lib/clipboard.js";
import { FATES, besides, folded, grouped, kindsOf, sifted, tally } from "../lib/findings.js";
import { addEnglish, locale, t, wordFor } from "../lib/i18n.js";
import { number } from "../lib/measure.js";
import words from "../lib/strings/en-cards.js";
import findings from "../lib/strings/en-findings.js";
import { humanise, sentence } from "../lib/text.js";
import { openDialog, tell } from "../model/page.js";
import { incoming } from "../model/transfers.js";
import { Modal, icon } from "./parts.js";

/** @import { Folded, Group, Wanted } from "../lib/findings.js" */
/** @import { Arrived, Fate, Finding, Report as Told, ReportItem } from "../lib/wire.d.ts" */

addEnglish(words);
addEnglish(findings);

/** So many pieces are drawn at first, and more by as many. */
const PIECE = 100;
/** A report of so many items is read as it is. */
const SHORT = 5;

/** @param {{report: Told, characterId: string | null, n: number | null}} props */
export function Report({ report, characterId, n }) {
  const row = incoming.value.find((one) => one.n === n) ?? null;
  // A report does not change its tense when its row is put away.
  const isDry = useRef(row?.isDry === true).current;
  const wanted = useSignal(/** @type {Wanted} */ ({ fate: null, kind: "", text: "" }));
  const byFile = useSignal(true);
  const items = useMemo(() => sifted(report.items, wanted.value, wordsOf), [report, wanted.value]);
  const copy = async () => {
    const totals = row?.arrived ? [totalsOf(row.arrived, isDry)] : [];
    if (await copyText([...totals, ...report.items.map(asText)].join("\n"))) tell({ tone: "quiet", text: t("notice.copied") });
  };
  const isLong = report.items.length > SHORT;
  return h(Modal, { title: t(isDry ? "report.dryTitle" : "report.title"), class: isLong ? "report wide" : "report" }, html`
    ${row?.arrived && html`<p class="totals">${totalsOf(row.arrived, isDry)}</p>`}
    ${isLong && h(Sieve, { report, wanted: wanted.value, want: (next) => (wanted.value = { ...wanted.peek(), ...next }), byFile: byFile.value, read: (by) => (byFile.value = by) })}
    ${items.length === 0 ? html`<p class="aside">${t(report.items.length > 0 ? "report.none" : isDry ? "report.wouldCome" : "report.nothing")}</p>` : byFile.value ? h(Pieces, { key: JSON.stringify(wanted.value), all: items, piece: isDry ? DryItem : Item }) : h(Pieces, { key: `said ${JSON.stringify(wanted.value)}`, all: grouped(items), piece: isDry ? DrySaid : Said })}
    <div class="actions foot-actions"><button type="button" onClick=${copy}>${icon("copy")}<span>${t("report.copy")}</span></button>
      ${row?.look && isDry && html`<button type="button" class="primary" onClick=${() => bringAfterLook(row)}>${icon("upload")}<span>${t("bring.now")}</span></button>`}
      ${characterId && html`<button type="button" class="primary" onClick=${() => openDialog({ kind: "start", characterId })}>${icon("play")}<span>${t("notice.play")}</span></button>`}</div>`);
}

/** @param {{report: Told, wanted: Wanted, want: (next: Partial<Wanted>) => void, byFile: boolean, read: (byFile: boolean) => void}} props */
function Sieve({ report, wanted, want, byFile, read }) {
  const counts = useMemo(() => tally(report.items), [report]);
  const kinds = useMemo(() => kindsOf(report.items), [report]);
  const chip = (/** @type {Fate | null} */ fate, /** @type {string} */ label, /** @type {number} */ count) =>
    html`<button type="button" class=${wanted.fate === fate ? "chip on" : "chip"} aria-pressed=${wanted.fate === fate} onClick=${() => want({ fate })}>${label} <b>${number(count)}</b></button>`;
  return html`<search class="sieve"><div class="filters" role="group" aria-label=${t("report.fates")}>${chip(null, t("report.all"), report.items.length)}${FATES.map((fate) => counts[fate] > 0 && chip(fate, t(`report.${fate}`), counts[fate]))}</div>
    <div class="row"><input type="search" aria-label=${t("report.find")} placeholder=${t("report.find")} value=${wanted.text} onInput=${(/** @type {InputEvent} */ event) => want({ text: /** @type {HTMLInputElement} */ (event.target).value })} />
      ${kinds.length > 1 && html`<select aria-label=${t("report.kind")} onChange=${(/** @type {Event} */ event) => want({ kind: /** @type {HTMLSelectElement} */ (event.target).value })}><option value="">${t("report.allKinds")}</option>${kinds.map((kind) => html`<option key=${kind} value=${kind} selected=${kind === wanted.kind}>${kindName(kind)}</option>`)}</select>`}
      <select aria-label=${t("report.order")} onChange=${(/** @type {Event} */ event) => read(/** @type {HTMLSelectElement} */ (event.target).value === "file")}><option value="file" selected=${byFile}>${t("report.byFile")}</option><option value="said" selected=${!byFile}>${t("report.bySaid")}</option></select></div></search>`;
}

/** A list of any length, of which only a part is drawn. @param {{all: unknown[], piece: (props: {one: any}) => any}} props */
function Pieces({ all, piece }) {
  const drawn = useSignal(PIECE);
  const left = all.length - drawn.value;
  return html`${all.slice(0, drawn.value).map((one, n) => h(piece, { key: n, one }))}
    ${left > 0 && html`<button type="button" onClick=${() => (drawn.value += PIECE)}>${t("report.more", { n: Math.min(left, PIECE), left: number(left) })}</button>`}`;
}

/** After a look nothing is there that could be opened. @param {{one: ReportItem}} props */
const DryItem = ({ one }) => h(Item, { one: { ...one, id: null }, isDry: true });

/** @param {{one: Group}} props */
const DrySaid = ({ one }) => h(Said, { one: { ...one, at: one.at.map(({ item, finding }) => ({ item: { ...item, id: null }, finding })) } });

/** @param {{one: ReportItem, isDry?: boolean}} props */
function Item({ one: { kind, name, file, id, fate, findings }, isDry = false }) {
  return html`<section aria-label=${name}><h3>${name}${file && html` <small>${file}</small>`}${id && h(Way, { kind, id, name })}</h3>
    ${findings.length === 0 ? html`<p>${fate === "works" ? t(isDry ? "report.wouldCome" : "report.nothing") : t(`report.${fate}`)}</p>` : html`<ul>${folded(findings).map((finding, i) => html`<li key=${i}>${finding.code !== "would_send" && html`<span class=${`chip ${finding.fate}`}>${t(`report.${finding.fate}`)}</span>`} <span>${foldedWords(finding)}</span></li>`)}</ul>`}</section>`;
}

/** Leads to what has come. @param {{kind: string, id: string, name: string}} props */
function Way({ kind, id, name }) {
  const open = (/** @type {Event} */ event) => (event.preventDefault(), navigate(`/s/${id}`));
  if (kind === "session") return html` <a href=${`/s/${id}`} aria-label=${t("report.openNamed", { name })} onClick=${open}>${t("notice.open")}</a>`;
  if (kind === "character") return html` <button type="button" class="link" aria-label=${t("report.playNamed", { name })} onClick=${() => openDialog({ kind: "start", characterId: id })}>${t("notice.play")}</button>`;
  if (kind === "lorebook") return html` <button type="button" class="link" aria-label=${t("report.openNamed", { name })} onClick=${() => openDialog({ kind: "lore", bookId: id, uid: null })}>${t("notice.open")}</button>`;
  if (kind === "preset" || kind === "regex") return html` <button type="button" class="link" aria-label=${t("report.openNamed", { name })} onClick=${() => openDialog({ kind: "presets", presetId: id })}>${t("notice.open")}</button>`;
  return null;
}

/** @param {{one: Group}} props */
function Said({ one: { code, fate, count, at } }) {
  const first = at[0];
  if (!first) return null;
  const isSame = at.every(({ finding }) => finding.message === first.finding.message);
  // A number in a sentence is that of one file.
  const isOfAll = at.length === 1 || (isSame && !/\d/.test(first.finding.message));
  const said = isOfAll ? wordsOf({ ...first.finding, count, line: null }) : ofMany(code, count) || humanise(code);
  return html`<section aria-label=${said}><h3>${code !== "would_send" && html`<span class=${`chip ${fate}`}>${t(`report.${fate}`)}</span>`} ${said}</h3>
    <details><summary>${t("report.files", { n: at.length })}</summary>${h(Pieces, { all: at, piece: isSame ? Place : ToldPlace })}</details></section>`;
}

/** @param {{one: Group["at"][number]}} props */
const Place = ({ one: { item, finding } }) => html`<p class="aside">${item.name}${item.file && html` <small>${item.file}</small>`}${finding.line ? html` <small>${t("report.line", { line: finding.line })}</small>` : ""} ${item.id && h(Way, { kind: item.kind, id: item.id, name: item.name })}</p>`;

/** The same, where each is told in other words. @param {{one: Group["at"][number]}} props */
const ToldPlace = ({ one }) => html`${h(Place, { one })}<p class="told">${wordsOf({ ...one.finding, line: null })}</p>`;

/** @param {string} kind */
const kindName = (kind) => wordFor(`report.kind.${kind}`) || kind;

/** What was left out is counted as the report counts it. @param {Arrived} arrived @param {boolean} isDry */
const totalsOf = ({ totals, report }, isDry) => {
  const parts = Object.entries({ ...totals, skipped: tally(report.items).skipped }).map(([key, n]) => (n > 0 ? wordFor(`totals.${key}`, { n, count: number(n) }) : "")).filter(Boolean);
  return t(isDry ? "totals.would" : "totals.came", { what: parts.join(t("totals.and")) || t("totals.nothing") });
};

/** What the page says of so many. @param {string} code @param {number} n */
const ofMany = (code, n) => wordFor(`finding.${code}`, { n, count: number(n) });

/** The server's own sentence, which says more of one thing, for who reads its language; for others behind the page's words, where these leave something out. @param {Finding} finding */
function wordsOf(finding) {
  const { code, count, line, message, names = [] } = finding;
  const own = locale.value === "en" && message !== code ? "" : ofMany(code, count);
  const at = line ? `${t("report.line", { line })} ` : "";
  const named = own && names.length > 0 ? ` (${names.join(t("totals.and"))})` : "";
  const more = own && besides(finding);
  return `${at}${own || sentence(message)}${named}${more ? ` · ${sentence(more)}` : ""}`;
}

/** The same of what stands in several lines. @param {Folded} finding */
function foldedWords(finding) {
  const { lines, times } = finding;
  if (times === 1) return wordsOf(finding);
  const where = t(times > lines.length ? "report.linesMore" : "report.lines", { lines: lines.map(number).join(", "), n: times - lines.length, left: number(times - lines.length) });
  return `${where} ${wordsOf({ ...finding, line: null })}`;
}

/** @param {ReportItem} item */
const asText = (item) => [`${item.name} ${item.file ?? ""}`.trim(), ...folded(item.findings).map((finding) => `  ${t(`report.${finding.fate}`)}: ${foldedWords(finding)}`)].join("\n");

export { totalsOf };
