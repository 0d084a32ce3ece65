// The branches of a story, with their names; two of them side by side. Loaded when first opened.
import { h, html, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { compare, goTo, readBranches, readDiff, readPartings } from "../actions/branches.js";
import { attempt } from "../actions/failure.js";
import { askMerge } from "../actions/merge.js";
import { locale, t } from "../lib/i18n.js";
import { excerpt } from "../lib/excerpt.js";
import { quoted } from "../lib/tags.js";
import { brief, signed } from "../lib/text.js";
import { labelsOf } from "../model/arrangement.js";
import { mayRearrange } from "../model/page.js";
import { head, purges, session } from "../model/story.js";
import { nameOf as nameOfValue, isThere, placeName, rows, seenOf, seenOperation } from "../model/world.js";
import { ApiError } from "../net/api.js";
import { namesOf } from "../tree/branches.js";
import { markDiffering } from "./differing.js";
import { Labels } from "./label.js";
import { Ago, Parting, PartingAt } from "./parting.js";
import { Modal, Waiting, icon } from "./parts.js";
import { Failed, useReading } from "./reading.js";
import { reasonsOf } from "./reasons.js";
import { Text } from "./run.js";
import { Withheld, secretMark } from "./secret.js";

/** @import { Branch, ChatNode, Diff, DiffSide, Difference, Id, Json } from "../lib/wire.d.ts" */

export function Branches() {
  const list = useSignal(/** @type {Branch[] | null} */ (null));
  const next = useSignal(/** @type {string | null} */ (null));
  const chosen = useSignal(/** @type {Id[]} */ ([]));
  const partings = useSignal(/** @type {Map<Id, ChatNode>} */ (new Map()));
  const read = async () => {
    const page = await attempt(() => readBranches(next.peek() ?? undefined));
    if (!page) return;
    list.value = [...(list.peek() ?? []), ...page.items];
    next.value = page.next;
    const more = await readPartings(page.items.filter(({ leafId, partingId }) => leafId !== partingId).map(({ partingId }) => partingId));
    partings.value = new Map([...partings.peek(), ...more]);
  };
  useEffect(() => {
    list.value = next.value = null;
    chosen.value = [];
    partings.value = new Map();
    void read();
  }, [session.value?.id, purges.value]);
  const turn = (/** @type {Id} */ id) => {
    const others = chosen.peek().filter((one) => one !== id);
    chosen.value = others.length === chosen.peek().length ? [...others.slice(-1), id] : others;
  };
  const [one, two] = chosen.value;
  const others = chosen.value.filter((id) => id !== head.value);
  const names = namesOf(list.value ?? []);
  return h(Modal, { title: t("command.branches"), class: "wide" }, html`<div class="stash"><p class="aside">${t("branches.text")}</p>
    ${list.value === null ? h(Waiting, { rows: 3 }) : html`<ul>${list.value.map((branch) => h(Row, { key: branch.leafId, branch, name: names.get(branch.leafId) ?? "", parting: partings.value.get(branch.partingId) ?? null, isChosen: chosen.value.includes(branch.leafId), turn: () => turn(branch.leafId) }))}</ul>`}
    ${next.value && html`<button type="button" onClick=${read}>${t("stash.more")}</button>`}
    <div class="actions foot-actions"><span class="aside">${t(two ? "branches.ready" : "branches.choose")}</span>
      ${mayRearrange.value && html`<button type="button" disabled=${others.length !== 1 || !others[0]} onClick=${() => others[0] && askMerge(others[0])}>${icon("merge")}<span>${t("command.merge")}</span></button>`}
      <button type="button" class="primary" disabled=${!one || !two} onClick=${() => one && two && compare(one, two)}>${icon("compare")}<span>${t("command.compare")}</span></button></div></div>`);
}

/** @param {{branch: Branch, name: string, parting: ChatNode | null, isChosen: boolean, turn: () => void}} props */
function Row({ branch: { leafId, preview, turns, timestamp, isTrunk, status }, name, parting, isChosen, turn }) {
  const title = labelsOf(leafId).length > 0 ? excerpt(quoted(preview)) || t("stash.nameless") : name;
  return html`<li class="fragment branch"><article aria-label=${name}><label class="check"><input type="checkbox" checked=${isChosen} aria-label=${t("branches.pick", { name })} onChange=${turn} /></label>
    <div><h3>${title}</h3><p class="aside">${h(Labels, { nid: leafId })}${isTrunk && html`<span class="chip">${icon("here")}${t("branches.current")}</span> `}${status !== "complete" && html`<span class="chip">${icon(status === "error" ? "warning" : "edit")}${t(`branches.${status}`)}</span> `}<span>${t("library.turns", { n: turns })} · ${h(Ago, { timestamp })}</span>${h(Parting, { node: parting })}</p></div>
    ${!isTrunk && status === "complete" && html`<button type="button" onClick=${() => goTo(leafId)}>${icon("right")}<span>${t("branches.go")}</span></button>`}</article></li>`;
}

// Side by side

/** @param {{from: Id, to: Id}} props */
export const Compare = ({ from, to }) => h(Modal, { title: t("command.compare"), class: "widest" }, h(Comparison, { from, to }));

/** How two lines differ. @param {{from: Id, to: Id}} props */
export function Comparison({ from, to }) {
  const known = useReading(() => readDiff(from, to), `${from} ${to}`);
  return html`<div class="compare">${known === null ? h(Waiting, { rows: 4 }) : known instanceof ApiError ? h(Failed, { error: known }) : h(Sides, { diff: known })}</div>`;
}

/** @param {{diff: Diff}} props */
function Sides({ diff }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => markDiffering(box.current), [diff, locale.value]);
  return html`<p class="aside">${h(PartingAt, { nid: diff.ancestorId })}</p><div class="sides" ref=${box}>${h(Side, { side: diff.from, n: 1, isOther: diff.to.leafId === head.value })}${h(Side, { side: diff.to, n: 2, isOther: diff.from.leafId === head.value })}</div>
    <section><h3>${t("compare.world")}</h3>${diff.world.length === 0 ? html`<p class="aside">${t("compare.same")}</p>` : h(Worlds, { world: diff.world })}</section>`;
}

/** @param {{side: DiffSide, n: number, isOther: boolean}} props `isOther`: it is compared with the line that the story is on */
function Side({ side: { leafId, count, items }, n, isOther }) {
  const shown = items.filter(({ kind }) => kind !== "change");
  return html`<section aria-label=${t("compare.line", { n })}><h3>${t("compare.line", { n })} ${leafId === head.value && html`<span class="chip">${icon("here")}${t("branches.current")}</span>`}${h(Labels, { nid: leafId })}</h3>
    ${shown.length > 0 && html`<p class="aside">${t("stash.count", { n: shown.length })} · ${h(Ago, { timestamp: shown.at(-1)?.timestamp ?? "" })}</p>`}
    ${count > items.length && html`<p class="aside">${t("compare.older", { n: count - items.length })}</p>`}
    ${shown.length === 0 ? html`<p class="aside">${t("compare.nothing")}</p>` : html`<ol class="contents">${shown.map((node) => h(Text, { key: node.id, node }))}</ol>`}
    ${leafId !== head.value && html`<div class="actions"><button type="button" onClick=${() => goTo(leafId)}>${icon("right")}<span>${t("branches.go")}</span></button>
      ${isOther && count > 0 && mayRearrange.value && html`<button type="button" onClick=${() => askMerge(leafId)}>${icon("merge")}<span>${t("command.merge")}</span></button>`}</div>`}</section>`;
}

/** What became of a value from the first line to the second. @param {Difference} row */
const kindOf = ({ from, to }) => (from === undefined ? "added" : to === undefined ? "removed" : "changed");

const SIDES = /** @type {const} */ (["from", "to"]);

/** What of a difference is to be seen. @param {Difference} row @returns {Difference | null} */
function seenDifference({ path, from, to, operations }) {
  const seen = seenOf({ path, ...(from !== undefined && { before: from }), ...(to !== undefined && { after: to }) });
  const done = (/** @type {Difference["operations"]["from"]} */ list) => list.map(seenOperation).filter(isThere);
  return seen && { path, ...(seen.before !== undefined && { from: seen.before }), ...(seen.after !== undefined && { to: seen.after }), operations: { ...operations, from: done(operations.from), to: done(operations.to) } };
}

/** @param {{world: Difference[]}} props */
function Worlds({ world: all }) {
  const world = all.map(seenDifference).filter(isThere);
  const value = (/** @type {string} */ path, /** @type {Json | undefined} */ it) => {
    if (it === undefined) return html`<span class="aside">${t("compare.notThere")}</span>`;
    if (typeof it === "boolean") return t(it ? "yes" : "no");
    return rows.value.has(path) ? nameOfValue(rows.value.get(path), it) : brief(it);
  };
  const why = (/** @type {Difference} */ { path, operations }) =>
    SIDES.map((side, i) => ({ n: i + 1, reasons: reasonsOf(operations[side], path) })).map(({ n, reasons }) => reasons && html`<p key=${n}><b>${t("compare.line", { n })}:</b> ${reasons}</p>`);
  if (world.length === 0) return h(Withheld, {});
  return html`${world.length < all.length && h(Withheld, {})}<div class="table" tabindex="0"><table><thead><tr><th>${t("compare.value")}</th><th>${t("compare.line", { n: 1 })}</th><th>${t("compare.line", { n: 2 })}</th><th>${t("compare.direction")}</th><th>${t("why.reason")}</th></tr></thead>
    <tbody>${world.map((row) => html`<tr key=${row.path}><th title=${row.path}>${placeName(row.path)}${secretMark(row.path)}</th><td>${value(row.path, row.from)}</td><td>${value(row.path, row.to)}</td><td>${t(`compare.${kindOf(row)}`)}${typeof row.from === "number" && typeof row.to === "number" && html` <b>${signed(row.to - row.from)}</b>`}</td><td>${why(row)}</td></tr>`)}</tbody></table></div>`;
}
