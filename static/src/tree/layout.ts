// Where the messages of a tree stand when all of it is drawn: a row for each step, columns as tracks of a metro, the
// trunk one straight line. Pure, without recursion: stories are a hundred times as deep as they are wide.
import { countsBelow } from "./outline.ts";
import type { Outline } from "./outline.ts";

/** A straight run is worth one line when it has at least so many messages. */
export const SHORTEST_RUN = 4;

/** What is drawn of a tree: cards, each a message or a straight run of them; a parent comes before its children. */
export interface Cards {
  size: number;
  /** the message, or the first one of a run */
  node: Int32Array;
  /** 1, or how many messages a run has */
  count: Int32Array;
  /** the card above; -1 for the root */
  parent: Int32Array;
  /** how many messages are folded away below it */
  hidden: Int32Array;
  /** whether it has side branches to fold away */
  foldable: Uint8Array;
  trunk: Uint8Array;
  /** by message: its card; -1: it is folded away */
  cardOf: Int32Array;
}

interface Folding {
  /** by message */
  trunk: Uint8Array;
  /** whether what leaves the trunk is folded away, unless said otherwise */
  sides: boolean;
  /** the messages below which it is the other way round */
  flipped: Set<number>;
  /** whether straight runs are drawn as one card */
  runs: boolean;
  /** messages whose run is drawn whole */
  openRuns: Set<number>;
  /** whether a message is never part of a run */
  keeps?: (n: number) => boolean;
}

/** Whether the side branches of a message are folded away. */
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
  // One message after the other, with nothing that leaves the line between them.
  const isPlain = (n: number) =>
    n > 0 && children[n] === 1 && hidden[n] === 0 && children[parent[n] ?? 0] === 1 && folding.keeps?.(n) !== true;
  return gather(outline, folding, { seen, hidden, foldable }, runsIn(outline, folding, seen, isPlain));
}

/** The length of the run that begins at a message, 0 where none does, -1 within one. */
function runsIn({ size, parent }: Outline, folding: Folding, seen: Uint8Array, isPlain: (n: number) => boolean) {
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

function gather(
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
  /** steps from the root */
  row: Int32Array;
  column: Int32Array;
  /** the child that goes on in the same column; -1: none does */
  heir: Int32Array;
  /** the last column that a line goes to from here to a child */
  reach: Int32Array;
  rows: number;
  columns: number;
  /** where each row begins in `inRows`, and where the last one ends */
  rowStart: Int32Array;
  /** the cards row by row, from left to right */
  inRows: Int32Array;
}

export function layOut({ size, parent, trunk }: Pick<Cards, "size" | "parent" | "trunk">): Layout {
  const { row, heir, chain } = measured(size, parent, trunk);
  const { column, reach } = placed(size, parent, heir, chain, row);
  let [rows, columns] = [0, 0];
  for (let i = 0; i < size; i += 1) {
    rows = Math.max(rows, (row[i] ?? 0) + 1);
    columns = Math.max(columns, (column[i] ?? 0) + 1);
  }
  return { row, column, heir, reach, rows, columns, ...byRows(size, row, column, rows) };
}

/**
 * Rows; who goes on in the column of its parent (the trunk, else the child with most steps below it); how long each
 * column goes on.
 */
function measured(size: number, parent: Int32Array, trunk: Uint8Array) {
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
    const weight = (card: number) => (trunk[card] === 1 ? Infinity : (tall[card] ?? 0));
    // Of those as tall as each other the eldest, which comes last here.
    if (known < 0 || weight(i) >= weight(known)) heir[above] = i;
    tall[above] = Math.max(tall[above] ?? 0, (tall[i] ?? 0) + 1);
  }
  return { row, heir, chain };
}

/** The children that leave the column of their parent, as chains, the youngest first. */
function leaving(size: number, parent: Int32Array, heir: Int32Array) {
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
 * leaves further down goes first and stays nearer, and nothing goes on in a column across a line that leads further
 * right: so lines cross seldom, and never look as if they met.
 */
function placed(size: number, parent: Int32Array, heir: Int32Array, chain: Int32Array, row: Int32Array) {
  const column = new Int32Array(size);
  const reach = new Int32Array(size);
  const { first, next } = leaving(size, parent, heir);
  const tracks = [] as Track[];
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

/**
 * The rows of a column that are taken, as they begin and end, from above; and the rows below which a line passes over
 * it.
 */
interface Track {
  tops: number[];
  ends: number[];
  passed: number[];
}

function passOver(track: Track | undefined, row: number) {
  if (!track) return;
  const place = firstWhere(0, track.passed.length, (i) => (track.passed[i] ?? 0) >= row);
  if (track.passed[place] !== row) track.passed.splice(place, 0, row);
}

/** Takes the rows in the first column that has them free. */
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

/** The first place of which something holds that holds of all behind it as well. */
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

/** Where the first card of a row stands in `inRows` that is in this column or right of it. */
export const firstInRow = ({ rowStart, inRows, column }: Layout, row: number, from: number) =>
  firstWhere(rowStart[row] ?? 0, rowStart[row + 1] ?? 0, (place) => (column[inRows[place] ?? 0] ?? 0) >= from);

/** The card in a place; -1: none. */
export function cardAt(layout: Layout, row: number, column: number) {
  if (row < 0 || row >= layout.rows) return -1;
  const at = firstInRow(layout, row, column);
  const card = at < (layout.rowStart[row + 1] ?? 0) ? (layout.inRows[at] ?? -1) : -1;
  return card >= 0 && layout.column[card] === column ? card : -1;
}
