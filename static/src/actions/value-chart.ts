// Values of the state along branches, for plots.
import { openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { rows } from "../model/world.ts";
import * as api from "../net/arrange.ts";
import { isLinear } from "../tree/shown-branch.ts";
import { register } from "./commands.ts";
import { sid } from "./session-sync.ts";
import type { Id, Json } from "../lib/wire.d.ts";

/** The value after each turn, oldest first. */
type Series = { turn: number; value: Json }[];

/** Returns the values that can be plotted. */
export const chartableRows = () => [...rows.value.values()].filter(({ kind }) => kind === "bar" || kind === "number");

/** Maximum number of pages to read. */
const MAX = 20;

/**
 * Reads the series of a value.
 * @returns one per leaf
 */
export async function readSeries(path: string, leaves: Id[]): Promise<Series[]> {
  const found = leaves.map(() => [] as Series);
  let cursor: string | null = null;
  for (let page = 0; page < MAX && (page === 0 || cursor !== null); page += 1) {
    const { items, next } = await api.variables(sid(), [path], leaves, cursor ?? undefined);
    items.forEach(({ points }, i) => points.forEach((point) => addPoint(found[i] ?? [], point)));
    cursor = next;
  }
  return found;
}

/** Adds a point. If a turn has several nodes, its last value counts. */
function addPoint(series: Series, { turn, value }: Series[number]) {
  if (series.at(-1)?.turn === turn) series.pop();
  series.push({ turn, value });
}

register({
  id: "session.plot",
  label: "command.plot",
  icon: "chart",
  scope: "page",
  enabled: () =>
    store.session.value !== null && store.head.value !== null && !isLinear.value && chartableRows().length > 0,
  run: () => openDialog({ kind: "valueChart" }),
});
