// The positions of messages in the drawn tree. Each step is a row. Branches are columns like the tracks of a metro, and
// the trunk is one straight line. Pure, without recursion: stories are a hundred times as deep as they are wide.
import { countsBelow } from "./outline.ts";
import type { Outline } from "./outline.ts";

/** Minimum number of messages for a straight run that is drawn as one card. */
export const SHORTEST_RUN = 4;

/** The cards of a drawn tree. Each is a message or a straight run. Parents come before their children. */
export interface Cards {
  size: number;
  /** The message, or the first one of a run. */
  node: Int32Array;
  /** The number of messages: 1, or the length of a run. */
  count: Int32Array;
  /** The card above; -1 for the root. */
  parent: Int32Array;
  /** The number of folded messages below it. */
  hidden: Int32Array;
  /** Whether it has side branches that can be folded. */
  foldable: Uint8Array;
  trunk: Uint8Array;
  /** The card of each message; -1 if the message is folded. */
  cardOf: Int32Array;
}

interface Folding {
  /** Whether each message is on the trunk. */
  trunk: Uint8Array;
  /** Whether branches off the trunk are folded by default. */
  sides: boolean;
  /** Messages that are exceptions from this default. */
  flipped: Set<number>;
  /** Whether straight runs are drawn as one card. */
  runs: boolean;
  /** Messages whose run is drawn in full. */
  openRuns: Set<number>;
  /** Whether a message is never part of a run. */
  keeps?: (n: number) => boolean;
}

/** Whether the side branches of a message are folded. */
export const isFolded = ({ trunk, sides, flipped }: Folding, n: number) => (sides && trunk[n] === 1) !== flipped.has(n);

export function cardsOf(outline: Outline, folding: Folding): Cards {
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
  // A message of a straight run: nothing branches off around it.
  const isPlain = (n: number) =>
    n > 0 && children[n] === 1 && hidden[n] === 0 && children[parent[n] ?? 0] === 1 && folding.keeps?.(n) !== true;
  return collectCards(outline, folding, { seen, hidden, foldable }, runsIn(outline, folding, seen, isPlain));
}

/** Returns the length of the run that begins at each message; 0 if none begins there, -1 inside a run. */
function runsIn({ size, parent }: Outline, folding: Folding, seen: Uint8Array, isPlain: (n: number) => boolean) {
  const runs = new Int32Array(size);
  if (!folding.runs) return runs;
  for (let n = 1; n < size; n += 1) {
    if (seen[n] !== 1 || runs[n] !== 0 || !isPlain(n)) continue;
    let isOpen = folding.openRuns.has(n);
    let last = n;
    // The only visible child is the next visible number. Folded messages between two ends a run.
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

function collectCards(
  { size, parent }: Outline,
  { trunk }: Folding,
  found: { seen: Uint8Array; hidden: Int32Array; foldable: Uint8Array },
  runs: Int32Array,
): Cards {
  const cardOf = new Int32Array(size).fill(-1);
  const cards = {
    node: new Int32Array(size),
    count: new Int32Array(size),
    parent: new Int32Array(size),
    hidden: new Int32Array(size),
    foldable: new Uint8Array(size),
    trunk: new Uint8Array(size),
  };
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
  const cut = (column: Int32Array) => column.slice(0, at);
  return {
    size: at,
    cardOf,
    node: cut(cards.node),
    count: cut(cards.count),
    parent: cut(cards.parent),
    hidden: cut(cards.hidden),
    foldable: cards.foldable.slice(0, at),
    trunk: cards.trunk.slice(0, at),
  };
}

export interface Layout {
  /** Steps from the root. */
  row: Int32Array;
  column: Int32Array;
  /** The child in the same column; -1 if there is none. */
  heir: Int32Array;
  /** The rightmost column to which a line leads from this card to a child. */
  reach: Int32Array;
  rows: number;
  columns: number;
  /** The start of each row in `inRows`, and the end of the last one. */
  rowStart: Int32Array;
  /** The cards row by row, from left to right. */
  inRows: Int32Array;
}

export function layOut({ size, parent, trunk }: Pick<Cards, "size" | "parent" | "trunk">): Layout {
  const { row, heir, chain } = measureCards(size, parent, trunk);
  const { column, reach } = placeCards(size, parent, heir, chain, row);
  let [rows, columns] = [0, 0];
  for (let i = 0; i < size; i += 1) {
    rows = Math.max(rows, (row[i] ?? 0) + 1);
    columns = Math.max(columns, (column[i] ?? 0) + 1);
  }
  return { row, column, heir, reach, rows, columns, ...byRows(size, row, column, rows) };
}

/**
 * Returns for each card its row, the child that continues its column, and the length of its column from there. The
 * trunk continues a column, otherwise the child with most steps below it.
 */
function measureCards(size: number, parent: Int32Array, trunk: Uint8Array) {
  const row = new Int32Array(size);
  const tall = new Int32Array(size).fill(1);
  const heir = new Int32Array(size).fill(-1);
  const chain = new Int32Array(size).fill(1);
  for (let i = 1; i < size; i += 1) row[i] = (row[parent[i] ?? 0] ?? 0) + 1;
  for (let i = size - 1; i > 0; i -= 1) {
    // All cards below are done.
    const next = heir[i] ?? -1;
    if (next >= 0) chain[i] = (chain[next] ?? 0) + 1;
    const above = parent[i] ?? 0;
    const known = heir[above] ?? -1;
    const weight = (card: number) => (trunk[card] === 1 ? Infinity : (tall[card] ?? 0));
    // Among equally tall children the oldest wins. It comes last in this loop.
    if (known < 0 || weight(i) >= weight(known)) heir[above] = i;
    tall[above] = Math.max(tall[above] ?? 0, (tall[i] ?? 0) + 1);
  }
  return { row, heir, chain };
}

/** Returns the children that leave the column of their parent, as linked lists, the youngest first. */
function leavingChildren(size: number, parent: Int32Array, heir: Int32Array) {
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
 * Assigns columns. Each branch takes the first column right of its fork that is free for its whole length there.
 * Branches that leave further down go first and stay nearer. No column runs across a line that leads further right. So
 * lines rarely cross, and never look as if they met.
 */
function placeCards(size: number, parent: Int32Array, heir: Int32Array, chain: Int32Array, row: Int32Array) {
  const column = new Int32Array(size);
  const reach = new Int32Array(size);
  const { first, next } = leavingChildren(size, parent, heir);
  const tracks = [] as Track[];
  const open = size > 0 ? [0] : [];
  for (let start = open.pop(); start !== undefined; start = open.pop()) {
    const above = parent[start] ?? -1;
    const top = row[start] ?? 0;
    // Siblings keep their creation order.
    const from = above < 0 ? 0 : (reach[above] ?? 0) + 1;
    const at = freeTrack(tracks, from, top, top + (chain[start] ?? 1) - 1);
    for (let passed = from; passed < at; passed += 1) addCrossing(tracks[passed], top - 1);
    if (above >= 0) reach[above] = at;
    for (let card = start; card >= 0; card = heir[card] ?? -1) {
      column[card] = reach[card] = at;
      for (let branch = first[card] ?? -1; branch >= 0; branch = next[branch] ?? -1) open.push(branch);
    }
  }
  return { column, reach };
}

/** The occupied rows of a column as starts and ends from the top, and the rows below which a line passes over it. */
interface Track {
  tops: number[];
  ends: number[];
  passed: number[];
}

function addCrossing(track: Track | undefined, row: number) {
  if (!track) return;
  const place = firstWhere(0, track.passed.length, (i) => (track.passed[i] ?? 0) >= row);
  if (track.passed[place] !== row) track.passed.splice(place, 0, row);
}

/** Occupies the rows in the first column where they are free. */
function freeTrack(tracks: Track[], from: number, top: number, end: number): number {
  for (let at = from; ; at += 1) {
    while (tracks.length <= at) tracks.push({ tops: [], ends: [], passed: [] });
    const { tops, ends, passed } = tracks[at] as Track;
    const place = firstWhere(0, tops.length, (i) => (tops[i] ?? 0) >= top);
    if ((ends[place - 1] ?? -1) >= top || (tops[place] ?? Infinity) <= end) continue;
    const line = firstWhere(0, passed.length, (i) => (passed[i] ?? 0) >= top);
    if ((passed[line] ?? Infinity) < end) continue;
    tops.splice(place, 0, top);
    ends.splice(place, 0, end);
    return at;
  }
}

/** Returns the first position at which a monotonic condition holds. */
function firstWhere(from: number, to: number, holds: (place: number) => boolean): number {
  let [low, high] = [from, to] as [number, number];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function byRows(size: number, row: Int32Array, column: Int32Array, rows: number) {
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
  for (let r = 0; r < rows; r += 1)
    inRows.subarray(rowStart[r], rowStart[r + 1]).sort((a, b) => (column[a] ?? 0) - (column[b] ?? 0));
  return { rowStart, inRows };
}

/** Returns the position in `inRows` of the row's first card at or right of a column. */
export const firstInRow = ({ rowStart, inRows, column }: Layout, row: number, from: number) =>
  firstWhere(rowStart[row] ?? 0, rowStart[row + 1] ?? 0, (place) => (column[inRows[place] ?? 0] ?? 0) >= from);

/** Returns the card at a position; -1 if there is none. */
export function cardAt(layout: Layout, row: number, column: number) {
  if (row < 0 || row >= layout.rows) return -1;
  const at = firstInRow(layout, row, column);
  const card = at < (layout.rowStart[row + 1] ?? 0) ? (layout.inRows[at] ?? -1) : -1;
  return card >= 0 && layout.column[card] === column ? card : -1;
}
