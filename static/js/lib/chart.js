// Numbers for a chart of steps, and the turns that its table has. Pure.

/** @typedef {{turn: number, value: number | null}} Point null: there was none */

/**
 * From where to where a chart reaches: as far as the value may, and as far as it did.
 * @param {Point[][]} lines
 * @param {{minimum?: number | undefined, maximum?: number | undefined}} bounds those that the value has
 * @returns {[number, number]}
 */
export function reachOf(lines, { minimum, maximum }) {
  const numbers = lines.flat().flatMap(({ value }) => (value === null ? [] : [value]));
  // Without the stack that a spread of many would take.
  const low = numbers.reduce((a, b) => Math.min(a, b), minimum ?? numbers[0] ?? 0);
  const high = numbers.reduce((a, b) => Math.max(a, b), maximum ?? numbers[0] ?? 1);
  return low === high ? [low - 1, high + 1] : [low, high];
}

/** The turns of all lines in order, and for each line its value at each of them: undefined where it has no such turn. @param {Point[][]} lines @returns {[number[], ...(number | null | undefined)[][]]} */
export function columnsOf(lines) {
  const turns = [...new Set(lines.flatMap((points) => points.map(({ turn }) => turn)))].sort((a, b) => a - b);
  const place = new Map(turns.map((turn, i) => [turn, i]));
  const columns = lines.map((points) => {
    const column = /** @type {(number | null | undefined)[]} */ (Array(turns.length).fill(undefined));
    for (const { turn, value } of points) column[place.get(turn) ?? 0] = value;
    return column;
  });
  return [turns, ...columns];
}

/** The turns at which at least one line has another value than before, and the ends. @param {Point[][]} lines */
export function turningPoints(lines) {
  const marks = new Set(lines.flatMap((points) => points.filter(({ value }, i) => i === 0 || i === points.length - 1 || value !== points[i - 1]?.value).map(({ turn }) => turn)));
  return [...marks].sort((a, b) => a - b);
}

/** The value of a line at a turn, if it was there then. @param {Point[]} points @param {number} turn */
export const valueOn = (points, turn) => points.find((point) => point.turn === turn)?.value ?? null;
