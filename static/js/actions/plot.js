// How values went along timelines.
import { openDialog } from "../model/page.js";
import * as story from "../model/story.js";
import { rows } from "../model/world.js";
import * as api from "../net/arrange.js";
import { isLinear } from "../tree/line.js";
import { register } from "./commands.js";
import { sid } from "./follow.js";

/** @import { Id, Json } from "../lib/wire.d.ts" */
/** @typedef {{turn: number, value: Json}[]} Series the value after each turn, the oldest first */

/** The values that can be drawn. */
export const drawable = () => [...rows.value.values()].filter(({ kind }) => kind === "bar" || kind === "number");

/** So many pages of a line are read. */
const MOST = 20;

/** @param {string} path @param {Id[]} leaves @returns {Promise<Series[]>} one for each leaf */
export async function readSeries(path, leaves) {
  const found = leaves.map(() => /** @type {Series} */ ([]));
  /** @type {string | null} */
  let cursor = null;
  for (let page = 0; page < MOST && (page === 0 || cursor !== null); page += 1) {
    const { items, next } = await api.variables(sid(), [path], leaves, cursor ?? undefined);
    items.forEach(({ points }, i) => points.forEach((point) => add(found[i] ?? [], point)));
    cursor = next;
  }
  return found;
}

/** Of a turn, which may be several nodes, the end counts. @param {Series} series @param {Series[number]} point */
function add(series, { turn, value }) {
  if (series.at(-1)?.turn === turn) series.pop();
  series.push({ turn, value });
}

register({
  id: "session.plot",
  label: "command.plot",
  icon: "chart",
  scope: "page",
  enabled: () => story.session.value !== null && story.head.value !== null && !isLinear.value && drawable().length > 0,
  run: () => openDialog({ kind: "plot" }),
});
