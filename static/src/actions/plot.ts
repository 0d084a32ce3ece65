// How values went along timelines.
import { openDialog } from "../model/page.ts";
import * as story from "../model/story.ts";
import { rows } from "../model/world.ts";
import * as api from "../net/arrange.ts";
import { isLinear } from "../tree/line.ts";
import { register } from "./commands.ts";
import { sid } from "./follow.ts";
import type { Id, Json } from "../lib/wire.d.ts";

/** the value after each turn, the oldest first */
type Series = { turn: number; value: Json }[];

/** The values that can be drawn. */
export const drawable = () => [...rows.value.values()].filter(({ kind }) => kind === "bar" || kind === "number");

/** So many pages of a line are read. */
const MOST = 20;

/** @returns one for each leaf */
export async function readSeries(path: string, leaves: Id[]): Promise<Series[]> {
  const found = leaves.map(() => [] as Series);
  let cursor: string | null = null;
  for (let page = 0; page < MOST && (page === 0 || cursor !== null); page += 1) {
    const { items, next } = await api.variables(sid(), [path], leaves, cursor ?? undefined);
    items.forEach(({ points }, i) => points.forEach((point) => add(found[i] ?? [], point)));
    cursor = next;
  }
  return found;
}

/** Of a turn, which may be several nodes, the end counts. */
function add(series: Series, { turn, value }: Series[number]) {
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
