// Numbers for a chart of steps, and the turns that its table has. Pure.

/** null: there was none */
export interface Point {
  turn: number;
  value: number | null;
}

/**
 * From where to where a chart reaches: as far as the value may, and as far as it did.
 * @param bounds those that the value has
 */
export function reachOf(
  lines: Point[][],
  { minimum, maximum }: { minimum?: number | undefined; maximum?: number | undefined },
): [number, number] {
  const numbers = lines.flat().flatMap(({ value }) => (value === null ? [] : [value]));
  // Without the stack that a spread of many would take.
  const low = numbers.reduce((a, b) => Math.min(a, b), minimum ?? numbers[0] ?? 0);
  const high = numbers.reduce((a, b) => Math.max(a, b), maximum ?? numbers[0] ?? 1);
  return low === high ? [low - 1, high + 1] : [low, high];
}

/**
 * The turns of all lines in order, and for each line its value at each of them: undefined where it has no such turn.
 */
export function columnsOf(lines: Point[][]): [number[], ...(number | null | undefined)[][]] {
  const turns = [...new Set(lines.flatMap((points) => points.map(({ turn }) => turn)))].sort((a, b) => a - b);
  const place = new Map(turns.map((turn, i) => [turn, i]));
  const columns = lines.map((points) => {
    const column = Array(turns.length).fill(undefined) as (number | null | undefined)[];
    for (const { turn, value } of points) column[place.get(turn) ?? 0] = value;
    return column;
  });
  return [turns, ...columns];
}

/** The turns at which at least one line has another value than before, and the ends. */
export function turningPoints(lines: Point[][]) {
  const marks = new Set(
    lines.flatMap((points) =>
      points
        .filter(({ value }, i) => i === 0 || i === points.length - 1 || value !== points[i - 1]?.value)
        .map(({ turn }) => turn),
    ),
  );
  return [...marks].sort((a, b) => a - b);
}

/** The value of a line at a turn, if it was there then. */
export const valueOn = (points: Point[], turn: number) => points.find((point) => point.turn === turn)?.value ?? null;
