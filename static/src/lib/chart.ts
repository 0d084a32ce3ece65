// Numbers for a step chart, and the turns of its table. Pure.

/** The value at a turn; `null` = there was none. */
export interface Point {
  turn: number;
  value: number | null;
}

/**
 * Returns the range of a chart. It includes the bounds and all values.
 * @param bounds the schema's bounds of the value
 */
export function reachOf(
  lines: Point[][],
  { minimum, maximum }: { minimum?: number | undefined; maximum?: number | undefined },
): [number, number] {
  const numbers = lines.flat().flatMap(({ value }) => (value === null ? [] : [value]));
  // `Math.min(...numbers)` could overflow the stack.
  const low = numbers.reduce((a, b) => Math.min(a, b), minimum ?? numbers[0] ?? 0);
  const high = numbers.reduce((a, b) => Math.max(a, b), maximum ?? numbers[0] ?? 1);
  return low === high ? [low - 1, high + 1] : [low, high];
}

/**
 * Returns all turns in order, and for each line its value at each turn. It is `undefined` where the line has no such
 * turn.
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

/** Returns the first and the last turn of each line, and the turns at which its value changes. */
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

/** Returns the value of a line at a turn, or `null`. */
export const valueOn = (points: Point[], turn: number) => points.find((point) => point.turn === turn)?.value ?? null;
