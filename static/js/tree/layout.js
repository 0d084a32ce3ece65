// Where the messages of a tree stand when all of it is drawn: a row for each step, columns as tracks of a metro, the trunk
// one straight line. Pure, without recursion: stories are a hundred times as deep as they are wide.
import { countsBelow } from "./outline.js";

/** @import { Outline } from "./outline.js" */

/** A straight run is worth one line when it has at least so many messages. */
export const SHORTEST_RUN = 4;

/**
 * What is drawn of a tree: cards, each a message or a straight run of them; a parent comes before its children.
 * @typedef {object} Cards
 * @property {number} size
 * @property {Int32Array} node the message, or the first one of a run
 * @property {Int32Array} count 1, or how many messages a run has
 * @property {Int32Array} parent the card above; -1 for the root
 * @property {Int32Array} hidden how many messages are folded away below it
 * @property {Uint8Array} foldable whether it has side branches to fold away
 * @property {Uint8Array} trunk
 * @property {Int32Array} cardOf by message: its card; -1: it is folded away
 *
 * @typedef {object} Folding
 * @property {Uint8Array} trunk by message
 * @property {boolean} sides whether what leaves the trunk is folded away, unless said otherwise
 * @property {Set<number>} flipped the messages below which it is the other way round
 * @property {boolean} runs whether straight runs are drawn as one card
 * @property {Set<number>} openRuns messages whose run is drawn whole
 * @property {(n: number) => boolean} [keeps] whether a message is never part of a run
 */

/** Whether the side branches of a message are folded away. @param {Folding} folding @param {number} n */
export const isFolded = ({ trunk, sides, flipped }, n) => (sides && trunk[n] === 1) !== flipped.has(n);

/** @param {Outline} outline @param {Folding} folding @returns {Cards} */
export function cardsOf(outline, folding) {
  const { size, parent } = outline;
  const { trunk } = folding;
  const below = countsBelow(outline);
  const seen = new Uint8Array(size);
  const hidden = new Int32Array(size);
  const foldable = new Uint8Array(size);
  const children = new Int32Array(size);
  for (let n = 0; n < size; n += 1) {
    const above = parent[n] ?? -1;
    if (above < 0) seen[n] = 1;
    else if (seen[above] === 1) {
      if (trunk[n] !== 1) foldable[above] = 1;
      seen[n] = trunk[n] === 1 || !isFolded(folding, above) ? 1 : 0;
      if (seen[n] === 1) children[above] = (children[above] ?? 0) + 1;
      else hidden[above] = (hidden[above] ?? 0) + (below[n] ?? 0) + 1;
    }
  }
  // One message after the other, with nothing that leaves the line between them.
  const isPlain = (/** @type {number} */ n) => n > 0 && children[n] === 1 && hidden[n] === 0 && children[parent[n] ?? 0] === 1 && folding.keeps?.(n) !== true;
  return gather(outline, folding, { seen, hidden, foldable }, runsIn(outline, folding, seen, isPlain));
}

/**
 * The length of the run that begins at a message, 0 where none does, -1 within one.
 * @param {Outline} outline @param {Folding} folding @param {Uint8Array} seen @param {(n: number) => boolean} isPlain
 */
function runsIn({ size, parent }, folding, seen, isPlain) {
  const runs = new Int32Array(size);
  if (!folding.runs) return runs;
  for (let n = 1; n < size; n += 1) {
    if (seen[n] !== 1 || runs[n] !== 0 || !isPlain(n)) continue;
    let isOpen = folding.openRuns.has(n);
    let last = n;
    // An only child that is seen is the next one that is seen; what is folded away between them has no place in a run.
    while (last + 1 < size && seen[last + 1] === 1 && parent[last + 1] === last && isPlain(last + 1)) {
      last += 1;
      isOpen ||= folding.openRuns.has(last);
    }
    const length = last - n + 1;
    if (!isOpen && length >= SHORTEST_RUN) runs.fill(-1, n + 1, last + 1)[n] = length;
    n = last;
  }
  return runs;
}

/** @param {Outline} outline @param {Folding} folding @param {{seen: Uint8Array, hidden: Int32Array, foldable: Uint8Array}} found @param {Int32Array} runs @returns {Cards} */
function gather({ size, parent }, { trunk }, found, runs) {
  const cardOf = new Int32Array(size).fill(-1);
  const cards = { node: new Int32Array(size), count: new Int32Array(size), parent: new Int32Array(size), hidden: new Int32Array(size), foldable: new Uint8Array(size), trunk: new Uint8Array(size) };
  let at = 0;
  for (let n = 0; n < size; n += 1) {
    if (found.seen[n] !== 1) continue;
    if (runs[n] === -1) {
      cardOf[n] = at - 1;
      continue;
    }
    cardOf[n] = at;
    cards.node[at] = n;
    cards.count[at] = Math.max(1, runs[n] ?? 1);
    cards.parent[at] = cardOf[parent[n] ?? -1] ?? -1;
    cards.hidden[at] = found.hidden[n] ?? 0;
    cards.foldable[at] = found.foldable[n] ?? 0;
    cards.trunk[at] = trunk[n] ?? 0;
    at += 1;
  }
  const cut = (/** @type {Int32Array} */ column) => column.slice(0, at);
  return { size: at, cardOf, node: cut(cards.node), count: cut(cards.count), parent: cut(cards.parent), hidden: cut(cards.hidden), foldable: cards.foldable.slice(0, at), trunk: cards.trunk.slice(0, at) };
}

/**
 * @typedef {object} Layout
 * @property {Int32Array} row steps from the root
 * @property {Int32Array} column
 * @property {Int32Array} heir the child that goes on in the same column; -1: none does
 * @property {Int32Array} reach the last column that a line goes to from here to a child
 * @property {number} rows
 * @property {number} columns
 * @property {Int32Array} rowStart where each row begins in `inRows`, and where the last one ends
 * @property {Int32Array} inRows the cards row by row, from left to right
 */

/** @param {Pick<Cards, "size" | "parent" | "trunk">} cards @returns {Layout} */
export function layOut({ size, parent, trunk }) {
  const { row, heir, chain } = measured(size, parent, trunk);
  const { column, reach } = placed(size, parent, heir, chain, row);
  let [rows, columns] = [0, 0];
  for (let i = 0; i < size; i += 1) {
    rows = Math.max(rows, (row[i] ?? 0) + 1);
    columns = Math.max(columns, (column[i] ?? 0) + 1);
  }
  return { row, column, heir, reach, rows, columns, ...byRows(size, row, column, rows) };
}

/** Rows; who goes on in the column of its parent (the trunk, else the child with most steps below it); how long each column goes on. @param {number} size @param {Int32Array} parent @param {Uint8Array} trunk */
function measured(size, parent, trunk) {
  const row = new Int32Array(size);
  const tall = new Int32Array(size).fill(1);
  const heir = new Int32Array(size).fill(-1);
  const chain = new Int32Array(size).fill(1);
  for (let i = 1; i < size; i += 1) row[i] = (row[parent[i] ?? 0] ?? 0) + 1;
  for (let i = size - 1; i > 0; i -= 1) {
    // All below it are known by now.
    const next = heir[i] ?? -1;
    if (next >= 0) chain[i] = (chain[next] ?? 0) + 1;
    const above = parent[i] ?? 0;
    const known = heir[above] ?? -1;
    const weight = (/** @type {number} */ card) => (trunk[card] === 1 ? Infinity : (tall[card] ?? 0));
    // Of those as tall as each other the eldest, which comes last here.
    if (known < 0 || weight(i) >= weight(known)) heir[above] = i;
    tall[above] = Math.max(tall[above] ?? 0, (tall[i] ?? 0) + 1);
  }
  return { row, heir, chain };
}

/** The children that leave the column of their parent, as chains, the youngest first. @param {number} size @param {Int32Array} parent @param {Int32Array} heir */
function leaving(size, parent, heir) {
  const first = new Int32Array(size).fill(-1);
  const next = new Int32Array(size).fill(-1);
  for (let i = 1; i < size; i += 1) {
    const above = parent[i] ?? 0;
    if (heir[above] === i) continue;
    next[i] = first[above] ?? -1;
    first[above] = i;
  }
  return { first, next };
}

/**
 * Columns: each branch takes the first one right of where it leaves that is free for as long as it goes on in it. What
 * leaves further down goes first and stays nearer, and nothing goes on in a column across a line that leads further right:
 * so lines cross seldom, and never look as if they met.
 * @param {number} size @param {Int32Array} parent @param {Int32Array} heir @param {Int32Array} chain @param {Int32Array} row
 */
function placed(size, parent, heir, chain, row) {
  const column = new Int32Array(size);
  const reach = new Int32Array(size);
  const { first, next } = leaving(size, parent, heir);
  const tracks = /** @type {Track[]} */ ([]);
  const open = size > 0 ? [0] : [];
  for (let start = open.pop(); start !== undefined; start = open.pop()) {
    const above = parent[start] ?? -1;
    const top = row[start] ?? 0;
    // Siblings stand in the order in which they came.
    const from = above < 0 ? 0 : (reach[above] ?? 0) + 1;
    const at = freeTrack(tracks, from, top, top + (chain[start] ?? 1) - 1);
    for (let passed = from; passed < at; passed += 1) passOver(tracks[passed], top - 1);
    if (above >= 0) reach[above] = at;
    for (let card = start; card >= 0; card = heir[card] ?? -1) {
      column[card] = reach[card] = at;
      for (let branch = first[card] ?? -1; branch >= 0; branch = next[branch] ?? -1) open.push(branch);
    }
  }
  return { column, reach };
}

/** The rows of a column that are taken, as they begin and end, from above; and the rows below which a line passes over it. @typedef {{tops: number[], ends: number[], passed: number[]}} Track */

/** @param {Track | undefined} track @param {number} row */
function passOver(track, row) {
  if (!track) return;
  const place = firstWhere(0, track.passed.length, (i) => (track.passed[i] ?? 0) >= row);
  if (track.passed[place] !== row) track.passed.splice(place, 0, row);
}

/** Takes the rows in the first column that has them free. @param {Track[]} tracks @param {number} from @param {number} top @param {number} end @returns {number} */
function freeTrack(tracks, from, top, end) {
  for (let at = from; ; at += 1) {
    while (tracks.length <= at) tracks.push({ tops: [], ends: [], passed: [] });
    const { tops, ends, passed } = /** @type {Track} */ (tracks[at]);
    const place = firstWhere(0, tops.length, (i) => (tops[i] ?? 0) >= top);
    if ((ends[place - 1] ?? -1) >= top || (tops[place] ?? Infinity) <= end) continue;
    const line = firstWhere(0, passed.length, (i) => (passed[i] ?? 0) >= top);
    if ((passed[line] ?? Infinity) < end) continue;
    tops.splice(place, 0, top);
    ends.splice(place, 0, end);
    return at;
  }
}

/** The first place of which something holds that holds of all behind it as well. @param {number} from @param {number} to @param {(place: number) => boolean} holds @returns {number} */
function firstWhere(from, to, holds) {
  let [low, high] = /** @type {[number, number]} */ ([from, to]);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** @param {number} size @param {Int32Array} row @param {Int32Array} column @param {number} rows */
function byRows(size, row, column, rows) {
  const rowStart = new Int32Array(rows + 1);
  for (let i = 0; i < size; i += 1) rowStart[(row[i] ?? 0) + 1] = (rowStart[(row[i] ?? 0) + 1] ?? 0) + 1;
  for (let r = 0; r < rows; r += 1) rowStart[r + 1] = (rowStart[r + 1] ?? 0) + (rowStart[r] ?? 0);
  const inRows = new Int32Array(size);
  const filled = rowStart.slice();
  for (let i = 0; i < size; i += 1) {
    const at = filled[row[i] ?? 0] ?? 0;
    inRows[at] = i;
    filled[row[i] ?? 0] = at + 1;
  }
  for (let r = 0; r < rows; r += 1) inRows.subarray(rowStart[r], rowStart[r + 1]).sort((a, b) => (column[a] ?? 0) - (column[b] ?? 0));
  return { rowStart, inRows };
}

/** Where the first card of a row stands in `inRows` that is in this column or right of it. @param {Layout} layout @param {number} row @param {number} from */
export const firstInRow = ({ rowStart, inRows, column }, row, from) =>
  firstWhere(rowStart[row] ?? 0, rowStart[row + 1] ?? 0, (place) => (column[inRows[place] ?? 0] ?? 0) >= from);

/** The card in a place; -1: none. @param {Layout} layout @param {number} row @param {number} column */
export function cardAt(layout, row, column) {
  if (row < 0 || row >= layout.rows) return -1;
  const at = firstInRow(layout, row, column);
  const card = at < (layout.rowStart[row + 1] ?? 0) ? (layout.inRows[at] ?? -1) : -1;
  return card >= 0 && layout.column[card] === column ? card : -1;
}
