// Numbers to places on a small chart of steps. Pure.

/** @typedef {{turn: number, value: number | null}} Point null: there was none */
/** @typedef {{left: number, top: number, right: number, bottom: number}} Frame in which the lines are drawn */
/** @typedef {{x: (turn: number) => number, y: (value: number) => number, turns: number[], values: number[]}} Scale `turns` and `values`: what is written at the axes */

/**
 * @param {Point[][]} lines
 * @param {{minimum?: number | undefined, maximum?: number | undefined}} bounds those that the value has
 * @param {Frame} frame
 * @returns {Scale}
 */
export function scaleOf(lines, { minimum, maximum }, { left, top, right, bottom }) {
  const points = lines.flat();
  const numbers = points.map(({ value }) => value).filter((value) => value !== null);
  const low = Math.min(minimum ?? Infinity, ...(numbers.length > 0 ? [reduce(numbers, Math.min)] : [0]));
  const high = Math.max(maximum ?? -Infinity, ...(numbers.length > 0 ? [reduce(numbers, Math.max)] : [1]));
  const turns = points.map(({ turn }) => turn);
  const [first, last] = turns.length > 0 ? [reduce(turns, Math.min), reduce(turns, Math.max)] : [0, 1];
  const place = (/** @type {number} */ from, /** @type {number} */ size, /** @type {number} */ at) => (size === 0 ? 0.5 : (at - from) / size);
  return {
    x: (turn) => left + (right - left) * place(first, last - first, turn),
    y: (value) => bottom - (bottom - top) * place(low, high - low, value),
    turns: [...new Set([first, Math.round((first + last) / 2), last])],
    values: [...new Set([low, Number(((low + high) / 2).toPrecision(3)), high])],
  };
}

/** Without the stack that a spread of many would take. @param {number[]} numbers @param {(a: number, b: number) => number} which */
const reduce = (numbers, which) => numbers.reduce((a, b) => which(a, b));

/** The path of a line whose values hold until the next one. @param {Point[]} points @param {Scale} scale */
export function stepsOf(points, { x, y }) {
  let isOpen = false;
  const parts = points.map(({ turn, value }) => {
    const wasOpen = isOpen;
    isOpen = value !== null;
    if (value === null) return "";
    const [px, py] = [x(turn).toFixed(1), y(value).toFixed(1)];
    return wasOpen ? `H${px}V${py}` : `M${px} ${py}`;
  });
  return parts.join("");
}

/** The turns at which at least one line has another value than before, and the ends. @param {Point[][]} lines */
export function turningPoints(lines) {
  const marks = new Set(lines.flatMap((points) => points.filter(({ value }, i) => i === 0 || i === points.length - 1 || value !== points[i - 1]?.value).map(({ turn }) => turn)));
  return [...marks].sort((a, b) => a - b);
}

/** The value of a line at a turn, if it was there then. @param {Point[]} points @param {number} turn */
export const valueOn = (points, turn) => points.find((point) => point.turn === turn)?.value ?? null;
