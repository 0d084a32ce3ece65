// Pure parts of the page, without a browser.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inRounds } from "../../static/js/lib/rounds.js";

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
