// Tests of display scripts without a page: recorded cases, decisions about odd cases, and limits. Also tests of the
// supervisor that ends a slow worker.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ScriptSupervisor } from "../../static/src/lib/script-supervisor.ts";
import { Macros } from "../../static/src/lib/macros.ts";
import { displayedText, parseReplacement } from "../../static/src/lib/regex-scripts.ts";

const golden = join(resolve(dirname(fileURLToPath(import.meta.url)), "../fixtures/golden"), "regex");
const context = JSON.parse(readFileSync(join(golden, "context.json"), "utf8"));
const cases = readFileSync(join(golden, "regex.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));

/** Returns a script as the server sends it to the page; `null` if it does not. `crates/compat/src/prompt/scripts/read.rs` reads and tests the numbers. */
function serverScript(scope, raw) {
  const limit = (n, least) => (typeof n === "number" && n >= least ? n : null);
  if (raw.disabled || !Array.isArray(raw.placement)) return null;
  return {
    scope,
    characterId: scope === "card" ? "c" : null,
    name: raw.scriptName ?? "",
    find: raw.findRegex ?? "",
    replace: raw.replaceString ?? "",
    trim: raw.trimStrings ?? [],
    placements: raw.placement,
    isForDisplay: Boolean(raw.markdownOnly),
    isForPrompts: Boolean(raw.promptOnly),
    isOnEdit: Boolean(raw.runOnEdit),
    macros: { 1: "raw", 2: "escaped" }[Number(raw.substituteRegex)] ?? "plain",
    minDepth: limit(raw.minDepth, -1),
    maxDepth: limit(raw.maxDepth, 0),
  };
}

const VALUES = { user: context.user, char: context.char };
const setupOf = (items, local = context.local) => ({
  items: items.filter((one) => one?.find),
  casts: [{ characterId: "c", values: VALUES }],
  local,
  globals: {},
});
const REPLY = { placement: 2, origin: "written", depth: 0, character: "c", speaker: null };
const one = (raw) => setupOf([serverScript("global", { placement: [2], trimStrings: [], ...raw })]);
const shown = (raw, text, place = REPLY) => displayedText(one(raw), text, place).text;

/** Cases where another program stops or does something by accident, decided as in `crates/compat/src/prompt/scripts/tests.rs`. */
const DECIDED = { "regex-096": "a[]c", "regex-103": "[]" };

describe("results of scripts", () => {
  test("S4-52: the result equals that of the original program in every recorded case", () => {
    const wrong = [];
    let count = 0;
    for (const { id, text, placement, depth, name, scripts, expect } of cases) {
      if (!("display" in expect)) continue;
      const of = (scope) =>
        scripts[`${scope}_allowed`] === false ? [] : (scripts[scope] ?? []).map((raw) => serverScript(scope, raw));
      const setup = setupOf([...of("global"), ...of("preset"), ...of("card")]);
      const got = displayedText(setup, text, {
        placement,
        origin: "written",
        depth,
        character: "c",
        speaker: name,
      }).text;
      const expected = DECIDED[id] ?? expect.display;
      if (got !== expected) wrong.push(`${id}: ${JSON.stringify(got)}, not ${JSON.stringify(expected)}`);
      count += 1;
    }
    assert.deepEqual(wrong, []);
    assert.equal(count, 60);
  });

  test("scripts for arriving texts run once, and scripts for edits run only on edits", () => {
    const kept = { findRegex: "/a/", replaceString: "b" };
    const display = { findRegex: "/b/", replaceString: "c", markdownOnly: true };
    const setup = setupOf([
      serverScript("global", { placement: [2], ...kept }),
      serverScript("global", { placement: [2], ...display }),
    ]);
    const as = (origin) => displayedText(setup, "a", { ...REPLY, origin }).text;
    assert.deepEqual([as("written"), as("edited"), as("done")], ["c", "a", "a"]);
    assert.equal(shown({ ...kept, runOnEdit: true }, "a", { ...REPLY, origin: "edited" }), "b");
    assert.equal(shown({ ...kept, promptOnly: true }, "a"), "a");
    assert.equal(shown({ ...kept, promptOnly: true, markdownOnly: true }, "a"), "b");
  });

  test("scripts of a card run on messages of its character", () => {
    const setup = setupOf([serverScript("card", { placement: [2], findRegex: "a", replaceString: "b" })]);
    assert.equal(displayedText(setup, "a", REPLY).text, "b");
    assert.equal(displayedText(setup, "a", { ...REPLY, character: "other" }).text, "a");
  });

  test("dollar signs in replacements", () => {
    assert.deepEqual(parseReplacement("[$1]{{MATCH}}{{ match}}$& $$ $<名>$<>$<a"), [
      "[",
      { group: 1 },
      "]",
      { group: 0 },
      "{{ match}}$& $$ ",
      { name: "名" },
      "$<>$<a",
    ]);
    assert.equal(
      shown({ findRegex: "/(?<who>\\w+) says (\\w+)/", replaceString: "$2, $<who>$<x>$9$01" }, "Rin says hi"),
      "hi, RinRin",
    );
    assert.equal(shown({ findRegex: "/(a)(b)?/g", replaceString: "<$2$1>", trimStrings: ["a"] }, "aba"), "<b><>");
    assert.equal(shown({ findRegex: "/us/", replaceString: "{{$0er}}" }, "us"), "Wren");
    assert.equal(shown({ findRegex: "/{{nothing}}|a{{2}/", substituteRegex: 2, replaceString: "X" }, "a{{"), "X");
    assert.equal(shown({ findRegex: "/./gs", replaceString: "-" }, "🦦"), "--");
  });

  test("a text that grows without end stays unchanged, and the script is named", () => {
    const long = "a".repeat(100_000);
    for (const raw of [
      { findRegex: "/./g", replaceString: "x".repeat(1_000) },
      { findRegex: "/.*/", replaceString: "$0".repeat(1_000) },
    ]) {
      assert.deepEqual(displayedText(one(raw), long, REPLY), { text: long, left: [0] });
    }
  });
});

describe("macros in scripts", () => {
  const fill = (
    text,
    speaker = null,
    local = { hp: 3, text: "007", bag: '["rope"]', stat: { Rin: { mood: ["calm", "how"], $seen: 1 } }, "a b": 1 },
  ) =>
    new Macros({ values: { ...VALUES, description: "A cartographer." }, local, global: { gold: "7" } }, text).fill(
      text,
      speaker,
    );

  test("macros give the same values as on the server", () => {
    for (const [text, expected] of [
      ["{{user}} {{ CHAR }} <USER> <bot> {{description}}", "Wren Maren Voss Wren Maren Voss A cartographer."],
      ["{{nobody}} {{nobody::{{user}}}} {{user", "{{nobody}} {{nobody::Wren}} {{user"],
      ["\\{{user}\\} \\{\\{x\\}\\}", "{{user}} {{x}}"],
      ["{{{user}}}", "{Wren}"],
      ["{{getvar::hp}}{{.hp}}{{$gold}}{{getglobalvar::gold}}{{getvar::text}}", "33777"],
      ["{{setvar::x::1}}{{addvar::x::2}}{{getvar::x}} {{incvar::hp}} {{decvar::hp}} {{hasvar::none}}", "3 4 3 false"],
      ["{{addvar::bag::oil}}{{getvarkey::bag::1}} {{deletevar::hp}}{{varexists::hp}}", "oil false"],
      [
        "{{get_message_variable::stat.Rin.mood[0]}} {{get_message_variable::stat.Rin}} {{get_chat_variable::none.x}}",
        'calm {"mood":["calm","how"]} ',
      ],
      ["a\n\n{{trim}}\nb{{newline::2}}c{{space}}{{noop}}{{// words {{user}} }}{{reverse::abc}}", "ab\n\nc cba"],
      ["{{roll:1d1+4}} {{roll::nothing}} {{roll 1d1}} {{random::x}} {{pick:y,y}} {{random::x\\,y}}", "5  1 x y x,y"],
      ["{{constructor}} {{__proto__}} {{getvar::constructor}}", "{{constructor}} {{__proto__}} "],
    ])
      assert.equal(fill(text), expected, text);
    assert.equal(fill("{{char}}", "Odo"), "Odo");
    assert.match(fill("{{isodate}} {{isotime}} {{weekday}}"), /^\d{4}-\d\d-\d\d \d\d:\d\d [A-Z]\w+day$/);
  });

  test("macros end for any input, and the same text gives the same random values", () => {
    const deep = `${"{{reverse::".repeat(5_000)}x${"}}".repeat(5_000)}`;
    assert.ok(fill(deep).length < 3 * deep.length);
    assert.ok(
      fill(`{{setvar::x::xxxxxxxxxxxxxxxx}}${"{{setvar::x::{{getvar::x}}{{getvar::x}}}}".repeat(60)}`).length < 1e7,
    );
    assert.equal(fill("{{random::a::b::c::d}}{{roll::1d1000}}"), fill("{{random::a::b::c::d}}{{roll::1d1000}}"));
    assert.equal(fill("{{roll::999999d6}}{{space::99999999}}"), "{{roll::999999d6}}{{space::99999999}}");
  });
});

/** Workers controlled by a test. `slow`: the scripts that never end. */
function workers(slow) {
  const all = [];
  const start = () => {
    let setup = null;
    let isBusy = false;
    const worker = {
      isEnded: false,
      terminate: () => (worker.isEnded = true),
      postMessage(data) {
        if ("setup" in data) return void (setup = data.setup);
        queueMicrotask(() => {
          if (worker.isEnded || isBusy) return;
          const say = (more) => worker.onmessage({ data: { id: data.id, ...more } });
          say({ says: "begun" });
          let text = data.text;
          for (const step of setup.items.keys()) {
            if (data.without.includes(step)) continue;
            if (data.isWatched) say({ says: "step", step, text, at: performance.timeOrigin + performance.now() });
            if (slow(step, data)) return void (isBusy = true);
            text += step;
          }
          say({ says: "done", text, left: [] });
        });
      },
    };
    all.push(worker);
    return worker;
  };
  return { all, start };
}

describe("the script supervisor", () => {
  const place = REPLY;
  const setup = (n) => ({ items: Array.from({ length: n }, () => ({})), casts: [], globals: {}, local: {} });
  const asked = (apart, slot, text) => new Promise((tell) => apart.request(slot, text, place, tell));

  test("the supervisor ends an endless script, finds out which one it is, and does not run it again", async () => {
    const { all, start } = workers((step) => step === 1);
    const lost = [];
    const apart = new ScriptSupervisor({ start, limit: 5, onSlow: (step) => lost.push(step) });
    apart.setUp(setup(3), []);
    const [first, second] = await Promise.all([asked(apart, "a", "x"), asked(apart, "b", "y")]);
    assert.deepEqual(
      [first, second],
      [
        { text: "x02", slow: [1], large: [] },
        { text: "y02", slow: [], large: [] },
      ],
    );
    assert.deepEqual([lost, all.length, all.map(({ isEnded }) => isEnded)], [[1], 3, [true, true, false]]);
    for (let n = 0; n < 1_000; n += 1) await asked(apart, "c", `z${n}`);
    assert.equal(all.length, 3, "it costs nobody anything any more");
    apart.setUp(setup(3), [1]);
    assert.deepEqual(await asked(apart, "a", "x"), { text: "x02", slow: [], large: [] });
    apart.end();
    assert.ok(all.every(({ isEnded }) => isEnded));
  });

  test("a machine that is busy for a moment costs no script", async () => {
    let times = 0;
    const { all, start } = workers((step) => step === 1 && ++times === 1);
    const apart = new ScriptSupervisor({ start, limit: 5, onSlow: () => assert.fail("it did nothing") });
    apart.setUp(setup(2), []);
    assert.deepEqual(await asked(apart, "a", "x"), { text: "x01", slow: [], large: [] });
    assert.equal(all.length, 2);
  });

  test("if every script is endless, the text is shown as far as it came", async () => {
    const { all, start } = workers((step) => step > 0);
    const apart = new ScriptSupervisor({ start, limit: 2 });
    apart.setUp(setup(50), []);
    const { text, slow } = await asked(apart, "a", "x");
    assert.deepEqual([text, slow.length < 10, all.length < 12], ["x0", true, true]);
  });

  test("only the newest text of a slot is processed, setup drops waiting texts, and without a worker texts stay unchanged", async () => {
    const { start } = workers(() => false);
    const apart = new ScriptSupervisor({ start });
    apart.setUp(setup(1), []);
    const told = [];
    for (let n = 0; n < 20; n += 1) apart.request("a", `${n}`, place, ({ text }) => told.push(text));
    await asked(apart, "b", "end");
    assert.deepEqual(
      told,
      ["00", "10", "20", "30", "40", "50", "60", "70", "190"],
      "eight are in the worker, and then the newest",
    );
    apart.request("a", "old", place, () => assert.fail("that is of scripts that are none any more"));
    apart.setUp(setup(2), []);
    assert.equal((await asked(apart, "b", "new")).text, "new01");
    const broken = new ScriptSupervisor({
      start: () => {
        throw new TypeError("no worker");
      },
    });
    broken.setUp(setup(1), []);
    assert.deepEqual(await asked(broken, "a", "x"), { text: "x", slow: [], large: [] });
    assert.deepEqual(await asked(broken, "a", "y"), { text: "y", slow: [], large: [] });
  });
});
