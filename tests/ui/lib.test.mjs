// Pure parts of the page, without a browser.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nested } from "../../static/js/lib/chapters.js";
import { keysIn, keywordsOf } from "../../static/js/lib/keywords.js";
import { inRounds } from "../../static/js/lib/rounds.js";
import { groupsOf } from "../../static/js/lib/schema.js";

/** More than enough for whatever follows from what has happened. */
const settled = () => steps(12);

async function steps(n) {
  for (let i = 0; i < n; i += 1) await null;
}

describe("work in rounds", () => {
  /** Rounds that end when the test says so: the functions that end those that have begun. */
  function held() {
    const begun = [];
    const rounds = inRounds(() => new Promise((end) => begun.push(end)));
    return { ...rounds, begun };
  }

  test("S0-51: whoever asks is served by a round that begins after they asked, at whichever step of another one's end they do", async () => {
    for (let late = 0; late < 12; late += 1) {
      const { ask, begun } = held();
      void ask();
      await settled();
      begun[0]();
      await steps(late);
      let isServed = false;
      void ask().then(() => (isServed = true));
      await settled();
      assert.equal(begun.length, 2, `asked ${late} steps after the end`);
      assert.equal(isServed, false);
      begun[1]();
      await settled();
      assert.ok(isServed);
    }
  });

  test("all who ask before a round begins share it, and whoever waits for the end waits for that one", async () => {
    const { ask, ends, begun } = held();
    void ask();
    await settled();
    assert.equal(ask(), ask());
    let isOver = false;
    void ends().then(() => (isOver = true));
    begun[0]();
    await settled();
    assert.deepEqual([begun.length, isOver], [2, false]);
    begun[1]();
    await settled();
    assert.ok(isOver);
  });

  test("a round that fails does not keep the next one from beginning", async () => {
    let begun = 0;
    const { ask } = inRounds(async () => {
      if (++begun === 1) throw new Error("the first");
    });
    await assert.rejects(ask());
    await ask();
    assert.equal(begun, 2);
  });
});

describe("words that a passage could be looked up by", () => {
  const check = (/** @type {string} */ text, /** @type {string[]} */ names, /** @type {string[]} */ expected) => test(`S4-61: ${text.slice(0, 60)}`, () => assert.deepEqual(keywordsOf(text, names), expected));

  check("Rin: Wait. The Keeper of Saint Orme lights “the Grey Lamp”. Nobody saw the Grey Lamp.", ["Rin", "Ann"], ["Rin", "Grey Lamp", "Keeper of Saint Orme"]);
  check("Snow fell. He liked Snow. I’m cold, said Mara’s brother.", [], ["Snow", "Mara"]);
  check("“Wait for the tide,” she says. “What a night it is” is all. nothing else", [], []);
  check("林澈举起「灰灯」，说：“要么跳，要么走。”《潮汐录》里写过。", ["林澈", "我"], ["林澈", "灰灯", "潮汐录"]);
  check("Aa Bb. x Cc x Dd x Ee x Ff x Gg x Hh x Ii", [], ["Bb", "Cc", "Dd", "Ee", "Ff", "Gg"]);
  check("", ["Rin"], []);

  test("S4-61: keys stand between commas of any kind; a pattern keeps its own", () => {
    assert.deepEqual(keysIn("lamp, 灯，塔、sea\n the keep,"), ["lamp", "灯", "塔", "sea", "the keep"]);
    assert.deepEqual(keysIn(" /la{1,2}mp|灯/i "), ["/la{1,2}mp|灯/i"]);
    assert.deepEqual(keysIn(" , "), []);
  });
});

describe("summaries", () => {
  const of = (id, level, nodeIds, isStale = false) => ({ id, level, nodeIds, isStale, content: id, firstId: nodeIds[0], lastId: nodeIds.at(-1), isEdited: false });
  const shape = (chapters) => chapters.map(({ one, parts }) => (parts.length > 0 ? [one.id, ...shape(parts)] : one.id));

  test("S3-09: a chapter is around what it was made of, the nearest one first, and what holds is in none that does not", () => {
    const pieces = [of("a", 1, ["1", "2"]), of("b", 1, ["3", "4"]), of("c", 1, ["5"]), of("d", 1, ["6"])];
    const all = [...pieces.slice(0, 2), of("ab", 2, ["1", "2", "3", "4"]), pieces[2], of("abc", 3, ["1", "2", "3", "4", "5"]), pieces[3]];
    assert.deepEqual(shape(nested(all)), [["abc", ["ab", "a", "b"], "c"], "d"]);
    assert.deepEqual(shape(nested([pieces[0], pieces[1], of("old", 2, ["1", "2", "3"], true)])), ["a", "b", "old"]);
    assert.deepEqual(shape(nested([of("a", 1, ["1"], true), of("old", 2, ["1", "2"], true)])), [["old", "a"]]);
    assert.deepEqual(shape(nested([of("empty", 1, [])])), ["empty"]);
  });
});

describe("the rows of a world", () => {
  const properties = { love: { type: "integer" }, secret: { type: "string", "x-visible": "love >= 20" }, place: { properties: { room: {}, trap: { "x-visible": "love >= 5" } } } };
  const rowsOf = (hidden) => {
    const vars = { mine: { love: 9, secret: "a spy", place: { room: "hall", trap: true } } };
    const [group] = groupsOf({ world: { vars }, schemas: [{ plugin: "mine", root: "/mine", schema: { properties }, hidden }] }, "en");
    return group.rows.flatMap(({ path, rows }) => [path, ...rows.map((row) => row.path)]);
  };

  test("what is not to be seen yet is not there", () => {
    const all = ["/mine/love", "/mine/secret", "/mine/place", "/mine/place/room", "/mine/place/trap"];
    assert.deepEqual(rowsOf([]), all);
    assert.deepEqual(rowsOf(undefined), all);
    assert.deepEqual(rowsOf(["/mine/secret", "/mine/place/trap"]), ["/mine/love", "/mine/place", "/mine/place/room"]);
  });
});
