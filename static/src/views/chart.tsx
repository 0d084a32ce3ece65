// The chart of a plot. uPlot draws the lines, axes and cursor. The shapes and numbers that tell lines apart are drawn
// here. Users who cannot see the chart have the table, and one sentence per line.
import { Fragment, h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { UPlot } from "../../vendor/uplot.js";
import { columnsOf, reachOf, valueOn } from "../lib/chart.ts";
import { t } from "../lib/i18n.ts";
import { compactJson } from "../lib/text.ts";
import { icon } from "./common.tsx";
import type { Row } from "../lib/schema.ts";
import type { DrawnLine } from "./value-chart.tsx";
import type uPlot from "uplot";

const TALL = 240;
/** Space to the right of the lines for their numbers, in CSS pixels. */
const MARGIN = 26;
/** Maximum number of points of a line with a shape each. If there are more, only the last point has one. */
const SIGNS = 30;
/** The dash pattern of each line. They match `.series-1` and so on in plot.css. */
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 4]];
/** The shape of each line as an SVG path, centred on the point. */
export const SHAPES = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
  "M-4 -4h8v8h-8z",
  "M0 -5l5 9h-10z",
  "M0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
  "M0 5l5 -9h-10z",
  "M-1.5 -5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
];

export function Chart({ lines, row }: { lines: DrawnLine[]; row: Row }) {
  const box = useRef<HTMLDivElement | null>(null);
  const plot = useRef<uPlot | null>(null);
  const pointed = useSignal<number | null>(null);
  const isNear = useSignal(false);
  useLayoutEffect(() => {
    const place = box.current;
    if (!place) return;
    const [turns = [], ...columns] = columnsOf(lines.map(({ points }) => points));
    const hooks = {
      draw: [(made: uPlot) => drawSigns(made, lines, place)],
      setCursor: [({ cursor }: uPlot) => (pointed.value = cursor.idx == null ? null : (turns[cursor.idx] ?? null))],
      setScale: [
        ({ scales }: uPlot, key: string) =>
          key === "x" &&
          (isNear.value = (scales.x?.min ?? 0) > (turns[0] ?? 0) || (scales.x?.max ?? 0) < (turns.at(-1) ?? 0)),
      ],
    };
    const made = new UPlot({ ...optionsOf(lines, row, place), hooks }, [turns, ...columns] as uPlot.AlignedData, place);
    plot.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: TALL }));
    sizes.observe(place);
    const night = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => made.redraw(false);
    night.addEventListener("change", redraw);
    return () => (sizes.disconnect(), night.removeEventListener("change", redraw), made.destroy());
  }, [lines, row]);
  const whole = () => plot.current?.setData(plot.current.data);
  const about = [
    row.label,
    ...lines.map(({ n, points }) =>
      t("plot.about", { n, from: compactJson(points[0]?.value), to: compactJson(points.at(-1)?.value) }),
    ),
  ].join(". ");
  return (
    <>
      <div class="chart" ref={box} role="img" aria-label={about}>
        {lines.map(({ n }) => (
          <i key={n} class={`tone series-${n}`} data-n={n} hidden />
        ))}
      </div>
      <p class="aside chart-line">
        {pointed.value === null ? <span>{t("plot.hint")}</span> : <At turn={pointed.value} lines={lines} />}
        {isNear.value && (
          <button type="button" onClick={whole}>
            {icon("fit")}
            <span>{t("plot.whole")}</span>
          </button>
        )}
      </p>
    </>
  );
}

/** The values of the lines at the turn under the pointer. */
const At = ({ turn, lines }: { turn: number; lines: DrawnLine[] }) => (
  <>
    <strong>{t("plot.turn", { n: turn })}</strong>
    {lines.map(({ n, points }) => (
      <span key={n}>
        {n}. {compactJson(valueOn(points, turn))}
      </span>
    ))}
  </>
);

function optionsOf(lines: DrawnLine[], row: Row, place: HTMLElement): uPlot.Options {
  const { color, borderTopColor, font } = getComputedStyle(place);
  const axis = { stroke: color, font, grid: { stroke: borderTopColor, width: 1 }, ticks: { show: false } };
  const stepped = UPlot.paths.stepped?.({ align: 1 });
  const reach = reachOf(
    lines.map(({ points }) => points),
    row.schema,
  );
  return {
    width: place.clientWidth,
    height: TALL,
    padding: [14, MARGIN, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { range: () => reach } },
    axes: [
      { ...axis, size: 28, space: 60, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000] },
      { ...axis, size: 46 },
    ],
    series: [
      {},
      ...lines.map(({ n }) => ({
        stroke: () => toneOf(place, n),
        width: 2,
        dash: DASHES[n - 1] ?? [],
        ...(stepped && { paths: stepped }),
        points: { show: false },
      })),
    ],
  };
}

function toneOf(place: HTMLElement, n: number) {
  const tone = place.querySelector(`[data-n="${n}"]`);
  return tone ? getComputedStyle(tone).color : "";
}

function drawSigns(plot: uPlot, lines: DrawnLine[], place: HTMLElement) {
  const { ctx, scales } = plot;
  const [first, last] = [scales.x?.min ?? 0, scales.x?.max ?? 0];
  const style = getComputedStyle(place);
  /** The last point of each line. Lines that end at the same point share an entry. */
  const ends: Map<string, { x: number; y: number; numbers: string }> = new Map();
  ctx.save();
  ctx.setLineDash([]);
  for (const { n, points } of lines.toReversed()) {
    const there = points.flatMap(({ turn, value }) =>
      value !== null && turn >= first && turn <= last
        ? [{ x: plot.valToPos(turn, "x", true), y: plot.valToPos(value, "y", true) }]
        : [],
    );
    const shape = new Path2D(SHAPES[n - 1]);
    ctx.strokeStyle = toneOf(place, n);
    ctx.fillStyle = style.backgroundColor;
    for (const { x, y } of there.length <= SIGNS ? there : there.slice(-1)) {
      ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, x, y);
      ctx.lineWidth = 1.75;
      ctx.fill(shape);
      ctx.stroke(shape);
    }
    const end = there.at(-1);
    if (end)
      ends.set(`${end.x} ${end.y}`, { ...end, numbers: `${n} ${ends.get(`${end.x} ${end.y}`)?.numbers ?? ""}`.trim() });
  }
  ctx.fillStyle = style.color;
  ctx.font = `700 ${style.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const { x, y, numbers } of ends.values()) {
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, x, y);
    ctx.fillText(numbers, 9, 0);
  }
  ctx.restore();
}
