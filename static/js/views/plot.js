// How a value went along several timelines: a line each, told apart by colour, dashes and signs, and the same as a table.
// Loaded when first opened.
import { h, html, useLayoutEffect, useSignal } from "../../vendor/preact.js";
import { readBranches } from "../actions/branches.js";
import { attempt } from "../actions/failure.js";
import { drawable, readSeries } from "../actions/plot.js";
import { turningPoints, valueOn } from "../lib/chart.js";
import { t } from "../lib/i18n.js";
import { brief } from "../lib/text.js";
import { head, purges } from "../model/story.js";
import { namesOf } from "../tree/branches.js";
import { Chart, SHAPES } from "./chart.js";
import { Modal, Waiting } from "./parts.js";
import { useLatest } from "./reading.js";

/** @import { Point } from "../lib/chart.js" */
/** @import { Id } from "../lib/wire.d.ts" */
/** @typedef {{leafId: Id, name: string, n: number, points: Point[]}} Drawn `n`: counted from 1 */

/** So many characters of its newest words name a line. */
const BEGINNING = 60;
/** As many lines as there are signs to tell them apart. */
const MOST = 6;

export function Plot() {
  const values = drawable();
  const path = useSignal(values[0]?.path ?? "");
  const lines = useSignal(/** @type {Drawn[] | null} */ (null));
  const hidden = useSignal(/** @type {Id[]} */ ([]));
  useLayoutEffect(() => void (lines.value = null), [purges.value]);
  useLatest(() => attempt(() => readLines(path.value)), (found) => found && (lines.value = found), [path.value, purges.value]);
  const row = values.find((one) => one.path === path.value);
  const drawn = (lines.value ?? []).filter(({ leafId }) => !hidden.value.includes(leafId));
  const turn = (/** @type {Id} */ id) => (hidden.value = hidden.peek().includes(id) ? hidden.peek().filter((one) => one !== id) : [...hidden.peek(), id]);
  const choose = (/** @type {Event} */ event) => {
    lines.value = null;
    path.value = /** @type {HTMLSelectElement} */ (event.target).value;
  };
  return h(Modal, { title: t("command.plot"), class: "wide" }, html`<div class="plot"><label>${t("compare.value")}<select value=${path.value} onChange=${choose}>${values.map((one) => html`<option key=${one.path} value=${one.path}>${one.label}</option>`)}</select></label>
    ${lines.value === null || !row ? h(Waiting, { rows: 5 }) : html`${h(Chart, { lines: drawn, row })}
      <fieldset><legend>${t("plot.lines")}</legend><ul class="legend">${lines.value.map((line) => html`<li key=${line.leafId}><label class="check"><input type="checkbox" checked=${!hidden.value.includes(line.leafId)} onChange=${() => turn(line.leafId)} />
        ${h(Sample, { n: line.n })}<span>${line.n}. ${line.name}${line.leafId === head.value && html` <span class="chip">${t("branches.current")}</span>`}</span></label></li>`)}</ul></fieldset>
      ${h(Table, { lines: drawn })}`}</div>`);
}

/** The line that the story is on, and the newest others. @param {string} path @returns {Promise<Drawn[]>} */
async function readLines(path) {
  const here = head.peek() ?? "";
  const { items } = await readBranches();
  const others = items.filter(({ leafId, status }) => leafId !== here && status === "complete").slice(0, MOST - 1);
  const own = items.find(({ leafId }) => leafId === here);
  const names = namesOf(own ? [own, ...others] : others, BEGINNING);
  const named = [here, ...others.map(({ leafId }) => leafId)].map((leafId) => ({ leafId, name: names.get(leafId) ?? t("plot.here") }));
  const series = await readSeries(path, named.map(({ leafId }) => leafId));
  const number = (/** @type {unknown} */ value) => (typeof value === "number" ? value : null);
  return named.map((one, i) => ({ ...one, n: i + 1, points: (series[i] ?? []).map(({ turn, value }) => ({ turn, value: number(value) })) }));
}

/** How a line looks. @param {{n: number}} props */
const Sample = ({ n }) => html`<svg class="sample" viewBox="0 0 36 14" aria-hidden="true"><g class=${`series series-${n}`}><path d="M1 7H35" /><path class="sign" d=${SHAPES[n - 1]} transform="translate(18 7)" /></g></svg>`;

/** The same in words: the turns at which a value became another. @param {{lines: Drawn[]}} props */
function Table({ lines }) {
  const turns = turningPoints(lines.map(({ points }) => points));
  return html`<details><summary>${t("plot.table")}</summary><div class="table" tabindex="0"><table><thead><tr><th scope="col">${t("plot.turnHead")}</th>${lines.map(({ n, name }) => html`<th key=${n} scope="col">${n}. ${name}</th>`)}</tr></thead>
    <tbody>${turns.map((turn) => html`<tr key=${turn}><th scope="row">${turn}</th>${lines.map(({ n, points }) => html`<td key=${n}>${brief(valueOn(points, turn))}</td>`)}</tr>`)}</tbody></table></div></details>`;
}
