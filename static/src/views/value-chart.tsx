// The course of a value along several branches: one line each, distinguished by colour, dashes and signs. The same data
// is shown as a table. Loaded when first opened.
import { Fragment, h, useLayoutEffect, useSignal } from "../../vendor/preact.js";
import { readBranches } from "../actions/branches.ts";
import { attempt } from "../actions/error-text.ts";
import { chartableRows, readSeries } from "../actions/value-chart.ts";
import { turningPoints, valueOn } from "../lib/chart.ts";
import { t } from "../lib/i18n.ts";
import { compactJson } from "../lib/text.ts";
import { head, purgeCount } from "../model/session-store.ts";
import { namesOf } from "../tree/branches.ts";
import { Chart, SHAPES } from "./chart.tsx";
import { Modal, LoadingRows } from "./common.tsx";
import { useLatestResult } from "./use-query.tsx";
import type { Point } from "../lib/chart.ts";
import type { Id } from "../lib/wire.d.ts";

/** A drawn branch; `n` counts from 1. */
export interface DrawnLine {
  leafId: Id;
  name: string;
  n: number;
  points: Point[];
}

/** Maximum length of a branch's name in characters, taken from its newest text. */
const MAX_NAME = 60;
/** Maximum number of branches: one for each sign that tells them apart. */
const MAX_BRANCHES = 6;

export function ValueChart() {
  const values = chartableRows();
  const path = useSignal(values[0]?.path ?? "");
  const lines = useSignal<DrawnLine[] | null>(null);
  const hidden = useSignal<Id[]>([]);
  useLayoutEffect(() => void (lines.value = null), [purgeCount.value]);
  useLatestResult(
    () => attempt(() => readLines(path.value)),
    (found) => found && (lines.value = found),
    [path.value, purgeCount.value],
  );
  const row = values.find((one) => one.path === path.value);
  const drawn = (lines.value ?? []).filter(({ leafId }) => !hidden.value.includes(leafId));
  const turn = (id: Id) =>
    (hidden.value = hidden.peek().includes(id) ? hidden.peek().filter((one) => one !== id) : [...hidden.peek(), id]);
  const choose = (event: Event) => {
    lines.value = null;
    path.value = (event.target as HTMLSelectElement).value;
  };
  return (
    <Modal title={t("command.plot")} class="wide">
      <div class="plot">
        <label>
          {t("compare.value")}
          <select value={path.value} onChange={choose}>
            {values.map((one) => (
              <option key={one.path} value={one.path}>
                {one.label}
              </option>
            ))}
          </select>
        </label>
        {lines.value === null || !row ? (
          <LoadingRows rows={5} />
        ) : (
          <>
            <Chart lines={drawn} row={row} />
            <fieldset>
              <legend>{t("plot.lines")}</legend>
              <ul class="legend">
                {lines.value.map((line) => (
                  <li key={line.leafId}>
                    <label class="check">
                      <input
                        type="checkbox"
                        checked={!hidden.value.includes(line.leafId)}
                        onChange={() => turn(line.leafId)}
                      />
                      <Sample n={line.n} />
                      <span>
                        {line.n}. {line.name}
                        {line.leafId === head.value && (
                          <>
                            {" "}
                            <span class="chip">{t("branches.current")}</span>
                          </>
                        )}
                      </span>
                    </label>
                  </li>
                ))}
              </ul>
            </fieldset>
            <Table lines={drawn} />
          </>
        )}
      </div>
    </Modal>
  );
}

/** Reads the values of the current branch and of the newest others. */
async function readLines(path: string): Promise<DrawnLine[]> {
  const here = head.peek() ?? "";
  const { items } = await readBranches();
  const others = items
    .filter(({ leafId, status }) => leafId !== here && status === "complete")
    .slice(0, MAX_BRANCHES - 1);
  const own = items.find(({ leafId }) => leafId === here);
  const names = namesOf(own ? [own, ...others] : others, MAX_NAME);
  const named = [here, ...others.map(({ leafId }) => leafId)].map((leafId) => ({
    leafId,
    name: names.get(leafId) ?? t("plot.here"),
  }));
  const series = await readSeries(
    path,
    named.map(({ leafId }) => leafId),
  );
  const number = (value: unknown) => (typeof value === "number" ? value : null);
  return named.map((one, i) => ({
    ...one,
    n: i + 1,
    points: (series[i] ?? []).map(({ turn, value }) => ({ turn, value: number(value) })),
  }));
}

/** Shows the line style of a branch. */
const Sample = ({ n }: { n: number }) => (
  <svg class="sample" viewBox="0 0 36 14" aria-hidden="true">
    <g class={`series series-${n}`}>
      <path d="M1 7H35" />
      <path class="sign" d={SHAPES[n - 1]} transform="translate(18 7)" />
    </g>
  </svg>
);

/** Shows the data as a table of the turns at which a value changed. */
function Table({ lines }: { lines: DrawnLine[] }) {
  const turns = turningPoints(lines.map(({ points }) => points));
  return (
    <details>
      <summary>{t("plot.table")}</summary>
      <div class="table" tabindex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t("plot.turnHead")}</th>
              {lines.map(({ n, name }) => (
                <th key={n} scope="col">
                  {n}. {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {turns.map((turn) => (
              <tr key={turn}>
                <th scope="row">{turn}</th>
                {lines.map(({ n, points }) => (
                  <td key={n}>{compactJson(valueOn(points, turn))}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
