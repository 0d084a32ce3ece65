// Tests of the tree layout without a browser: against a slow reference implementation, and on very deep and wide trees.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cardAt, cardsOf, isFolded, layOut } from "../../static/src/tree/layout.ts";
import { FLAG, countsBelow, outlineOf, withStates, trunkTo } from "../../static/src/tree/outline.ts";

const LEGEND = {
  roles: ["system", "user", "assistant"],
  kinds: ["root", "message", "greeting", "change", "summary", "merge"],
  statuses: ["generating", "complete", "error"],
  flags: ["disabled", "muted", "keyframe", "unread"],
};

/**
 * Builds an outline as the server sends it.
 * @param {number[]} parents @param {Partial<Record<"kinds" | "flags" | "statuses", number[]>>} [more]
 */
function skeleton(parents, more = {}) {
  const all = (n) => parents.map((_, i) => (i === 0 ? 0 : n));
  return {
    activeLeafId: "",
    op: 1,
    ids: parents.map((_, i) => `n${i}`),
    parents,
    roles: parents.map((_, i) => 1 + (i % 2)),
    kinds: all(1),
    statuses: parents.map(() => 1),
    flags: parents.map(() => 0),
    previews: parents.map((_, i) => `text ${i}`),
    legend: LEGEND,
    ...more,
  };
}

/** Returns pseudo-random numbers that are the same each time. @param {number} seed */
function randomNumbers(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** Builds a tree like that of a session: mostly appended, sometimes another version, or a branch from anywhere. */
function randomTree(size, seed) {
  const roll = randomNumbers(seed);
  const parents = [-1];
  for (let i = 1; i < size; i += 1)
    parents.push(i === 1 || roll(100) < 55 ? i - 1 : roll(3) > 0 ? Math.max(parents[i - 1], 0) : roll(i));
  return parents;
}

const open = (outline, end, more = {}) => ({
  trunk: trunkTo(outline, end),
  sides: false,
  flipped: new Set(),
  runs: false,
  openRuns: new Set(),
  ...more,
});

/** The reference implementation: recursion, and sets of all cells that are occupied or crossed by a line. */
function referenceLayout({ size, parent, trunk }) {
  const below = Array.from({ length: size }, () => []);
  for (let i = 1; i < size; i += 1) below[parent[i]].push(i);
  const tall = (i) => 1 + Math.max(0, ...below[i].map(tall));
  const heirOf = (i) =>
    below[i].find((child) => trunk[child] === 1) ?? below[i].toSorted((a, b) => tall(b) - tall(a) || a - b)[0];
  const taken = new Set();
  const passed = new Set();
  const column = [];
  const place = (start, from, top) => {
    const chain = [];
    for (let i = start; i !== undefined; i = heirOf(i)) chain.push(i);
    let at = from;
    const isBlocked = (_, step) =>
      taken.has(`${at}/${top + step}`) || (step > 0 && passed.has(`${at}/${top + step - 1}`));
    while (chain.some(isBlocked)) at += 1;
    for (let over = from; over < at; over += 1) passed.add(`${over}/${top - 1}`);
    chain.forEach((i, step) => (taken.add(`${at}/${top + step}`), (column[i] = at)));
    for (const [step, i] of [...chain.entries()].reverse()) {
      let last = at;
      for (const child of below[i]) if (child !== heirOf(i)) last = place(child, last + 1, top + step + 1);
    }
    return at;
  };
  if (size > 0) place(0, 0, 0);
  return column;
}

/** Checks what is true for every layout. */
function checkLayout(cards, layout) {
  const places = new Set();
  for (let i = 0; i < cards.size; i += 1) {
    places.add(`${layout.row[i]}/${layout.column[i]}`);
    if (i > 0) {
      assert.equal(layout.row[i], layout.row[cards.parent[i]] + 1, "a child stands right below its parent");
      assert.ok(layout.column[i] >= layout.column[cards.parent[i]], "and never left of it");
      assert.ok(layout.reach[cards.parent[i]] >= layout.column[i], "its line reaches it");
    }
    if (cards.trunk[i] === 1) assert.equal(layout.column[i], 0, "the trunk is straight");
    assert.equal(cardAt(layout, layout.row[i], layout.column[i]), i, "it is found where it stands");
  }
  assert.equal(places.size, cards.size, "no two in one place");
  assert.equal(layout.rowStart[layout.rows], cards.size);
}

describe("the outline of a tree", () => {
  test("change nodes are no messages: their children belong to the message before them", () => {
    const outline = outlineOf(skeleton([-1, 0, 1, 2, 2, 1], { kinds: [0, 1, 3, 1, 3, 3] }));
    assert.deepEqual([outline.size, outline.ids, [...outline.parent]], [3, ["n0", "n1", "n3"], [-1, 0, 1]]);
    assert.deepEqual(
      ["n2", "n4", "n5"].map((id) => outline.at.get(id)),
      [1, 1, 1],
    );
    assert.equal(outline.ends.size, 0, "a message follows");
    const end = outlineOf(skeleton([-1, 0, 1, 2], { kinds: [0, 1, 3, 3] }));
    assert.deepEqual([...end.ends], [[1, "n3"]]);
  });

  test("parents come before children, the first child directly after its parent, with all data of each", () => {
    const outline = outlineOf(
      skeleton([-1, 0, 0, 1, 2, 1], {
        flags: [0, 1, 2, 8, 4, 0],
        statuses: [1, 1, 1, 0, 2, 1],
        kinds: [0, 1, 4, 1, 5, 1],
      }),
    );
    assert.deepEqual(outline.ids, ["n0", "n1", "n3", "n5", "n2", "n4"]);
    assert.deepEqual([...outline.parent], [-1, 0, 1, 1, 0, 4]);
    const has = (id) => outline.flags[outline.at.get(id)] & ~FLAG.mine;
    assert.deepEqual(["n1", "n2", "n3", "n4", "n5"].map(has), [
      FLAG.disabled,
      FLAG.muted | FLAG.summary,
      FLAG.unread | FLAG.writing,
      FLAG.failed | FLAG.merge,
      0,
    ]);
    assert.deepEqual([...countsBelow(outline)], [5, 2, 0, 0, 1, 0]);
    assert.deepEqual([...trunkTo(outline, 3)], [1, 1, 0, 1, 0, 0]);
  });

  test("new states of messages are applied without reading the outline again, unless a message is unknown", () => {
    const outline = outlineOf(skeleton([-1, 0, 1, 2], { kinds: [0, 1, 1, 3], flags: [0, 1, 8, 0] }));
    const next = withStates(outline, [
      { id: "n1", isEnabled: true, effects: "muted" },
      { id: "n2", isEnabled: false, isUnread: false },
    ]);
    assert.deepEqual(
      ["n1", "n2"].map((id) => next.flags[next.at.get(id)] & ~FLAG.mine),
      [FLAG.muted, FLAG.disabled],
    );
    assert.deepEqual(
      ["n1", "n2"].map((id) => outline.flags[outline.at.get(id)] & ~FLAG.mine),
      [FLAG.disabled, FLAG.unread],
      "what was drawn stays as it was",
    );
    assert.deepEqual(
      [...withStates(outline, [{ id: "n3", isEnabled: false }]).flags],
      [...outline.flags],
      "a change by hand is not its message",
    );
    assert.equal(
      withStates(outline, [
        { id: "n1", isEnabled: true },
        { id: "elsewhere", isEnabled: true },
      ]),
      null,
    );
  });

  test("an empty outline is no tree", () => {
    const outline = outlineOf(skeleton([]));
    assert.equal(outline.size, 0);
    assert.equal(layOut(cardsOf(outline, open(outline, -1))).rows, 0);
  });
});

describe("a layout", () => {
  test("the layout equals the reference on trees of all shapes, and no two cards share a cell", () => {
    for (let seed = 1; seed <= 150; seed += 1) {
      const roll = randomNumbers(seed * 7919);
      const outline = outlineOf(skeleton(randomTree(1 + roll(60), seed)));
      const cards = cardsOf(
        outline,
        open(outline, roll(outline.size), { sides: seed % 3 === 0, flipped: new Set([roll(outline.size)]) }),
      );
      const layout = layOut(cards);
      checkLayout(cards, layout);
      assert.deepEqual([...layout.column], referenceLayout(cards), `seed ${seed}`);
    }
  });

  test("versions are side by side in creation order", () => {
    const outline = outlineOf(skeleton([-1, 0, 1, 1, 1, 1]));
    const cards = cardsOf(outline, open(outline, outline.at.get("n3")));
    const { column } = layOut(cards);
    assert.deepEqual(
      ["n2", "n3", "n4", "n5"].map((id) => column[outline.at.get(id)]),
      [1, 0, 2, 3],
    );
  });

  test("the layout is valid for ten thousand messages, folded or not", () => {
    const outline = outlineOf(skeleton(randomTree(10_000, 42)));
    const end = outline.size - 1;
    for (const more of [{}, { sides: true }, { runs: true }, { sides: true, runs: true }]) {
      const cards = cardsOf(outline, open(outline, end, more));
      checkLayout(cards, layOut(cards));
      let counted = 0;
      for (let i = 0; i < cards.size; i += 1) counted += cards.count[i] + cards.hidden[i];
      assert.equal(counted, 10_000, "every message is on a card or counted as folded away");
    }
  });

  test("a branch of fifty thousand messages and as many versions of one message are laid out", () => {
    const deep = outlineOf(skeleton(Array.from({ length: 50_000 }, (_, i) => i - 1)));
    const line = layOut(cardsOf(deep, open(deep, 20_000)));
    assert.deepEqual([line.rows, line.columns], [50_000, 1]);
    const wide = outlineOf(skeleton(Array.from({ length: 50_000 }, (_, i) => (i === 0 ? -1 : 0))));
    const row = layOut(cardsOf(wide, open(wide, 9)));
    assert.deepEqual([row.rows, row.columns], [2, 49_999]);
  });
});

describe("folding", () => {
  // 0 - 1 - 2 - 3 - 4 - 5 - 6 - 7 - 8 is the trunk. 9 and 10 leave it at 1, 11 is below 10, 12 leaves it at 6.
  const outline = outlineOf(skeleton([-1, 0, 1, 2, 3, 4, 5, 6, 7, 1, 1, 10, 6]));
  const at = (id) => outline.at.get(`n${id}`);

  test("side branches are folded, and the card at their fork shows their number of messages", () => {
    const folding = open(outline, at(8), { sides: true });
    const cards = cardsOf(outline, folding);
    assert.equal(cards.size, 9);
    assert.deepEqual(
      [1, 6, 2].map((id) => cards.hidden[cards.cardOf[at(id)]]),
      [3, 1, 0],
    );
    assert.deepEqual(
      [1, 6, 2].map((id) => cards.foldable[cards.cardOf[at(id)]]),
      [1, 1, 0],
    );
    assert.equal(cards.cardOf[at(11)], -1);
    const one = cardsOf(outline, { ...folding, flipped: new Set([at(1)]) });
    assert.deepEqual([one.size, one.hidden[one.cardOf[at(1)]], one.foldable[one.cardOf[at(1)]]], [12, 0, 1]);
    assert.ok(!isFolded({ ...folding, flipped: new Set([at(1)]) }, at(1)));
  });

  test("messages below a message beside the trunk can be folded too", () => {
    const cards = cardsOf(outline, open(outline, at(8), { flipped: new Set([at(10)]) }));
    assert.deepEqual([cards.size, cards.hidden[cards.cardOf[at(10)]]], [12, 1]);
  });

  test("a straight run is one card, unless it is short, opened, or contains a kept message", () => {
    const folding = open(outline, at(8), { sides: true, runs: true });
    const cards = cardsOf(outline, folding);
    const run = cards.cardOf[at(2)];
    assert.deepEqual([cards.count[run], cards.node[run], cards.cardOf[at(5)]], [4, at(2), run]);
    assert.equal(cards.count[cards.cardOf[at(7)]], 1, "too short");
    assert.equal(cards.parent[cards.cardOf[at(6)]], run, "what follows hangs below it");
    assert.equal(cardsOf(outline, { ...folding, openRuns: new Set([at(4)]) }).size, 9);
    assert.equal(cardsOf(outline, { ...folding, keeps: (n) => n === at(3) }).size, 9);
  });
});
