// Tests of the pure parts of the page, without a browser.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { columnsOf, reachOf } from "../../static/src/lib/chart.ts";
import { diffWords } from "../../static/src/lib/word-diff.ts";
import { nestChapters } from "../../static/src/lib/chapters.ts";
import { GIT_TERMS } from "../../static/src/lib/git-terms.ts";
import { keysIn, keywordsOf } from "../../static/src/lib/keywords.ts";
import { coalesce } from "../../static/src/lib/coalesce.ts";
import { rulesOf } from "../../static/src/lib/manifest.ts";
import { groupsOf, isConcealed } from "../../static/src/lib/schema.ts";
import { withoutInvisible, diffLines, titlesOf, showInvisible } from "../../static/src/lib/untrusted-text.ts";
import { isChanged, profileNamed } from "../../static/src/lib/connection-profiles.ts";
import { SYNONYMS, otherNames } from "../../static/src/lib/synonyms.ts";
import { visiblePart, quoteText } from "../../static/src/lib/hidden-tags.ts";
import { withoutMarkup } from "../../static/src/lib/text.ts";
import { modelFailureText } from "../../static/src/lib/model-failure.ts";

/** Waits longer than any promise that is already settled needs. */
const waitForPromises = () => steps(12);

async function steps(n) {
  for (let i = 0; i < n; i += 1) await null;
}

test("search hits are shown without Markdown marks and tags", () => {
  assert.equal(withoutMarkup('# The *red* `lamp` <font color="red">burns</font>,<br/> see'), "The red lamp burns, see");
  assert.equal(withoutMarkup("I <3 you: 2 < 3 > 1, <<so it is>>"), "I <3 you: 2 < 3 > 1, <<so it is>>");
});

describe("coalesced work", () => {
  /** Starts rounds that end when the test says so. Returns the functions that end them. */
  function held() {
    const begun = [];
    const rounds = coalesce(() => new Promise((end) => begun.push(end)));
    return { ...rounds, begun };
  }

  test("S0-51: each request gets a round that begins after it, at whichever step of another round it is made", async () => {
    for (let late = 0; late < 12; late += 1) {
      const { request, begun } = held();
      void request();
      await waitForPromises();
      begun[0]();
      await steps(late);
      let isServed = false;
      void request().then(() => (isServed = true));
      await waitForPromises();
      assert.equal(begun.length, 2, `asked ${late} steps after the end`);
      assert.equal(isServed, false);
      begun[1]();
      await waitForPromises();
      assert.ok(isServed);
    }
  });

  test("all requests before a round share it, and whoever waits for the end waits for that round", async () => {
    const { request, whenDone, begun } = held();
    void request();
    await waitForPromises();
    assert.equal(request(), request());
    let isOver = false;
    void whenDone().then(() => (isOver = true));
    begun[0]();
    await waitForPromises();
    assert.deepEqual([begun.length, isOver], [2, false]);
    begun[1]();
    await waitForPromises();
    assert.ok(isOver);
  });

  test("a round that fails does not keep the next one from beginning", async () => {
    let begun = 0;
    const { request } = coalesce(async () => {
      if (++begun === 1) throw new Error("the first");
    });
    await assert.rejects(request());
    await request();
    assert.equal(begun, 2);
  });
});

describe("keywords of a passage", () => {
  const check = (/** @type {string} */ text, /** @type {string[]} */ names, /** @type {string[]} */ expected) =>
    test(`${text.slice(0, 60)}`, () => assert.deepEqual(keywordsOf(text, names), expected));

  check(
    "Rin: Wait. The Keeper of Saint Orme lights “the Grey Lamp”. Nobody saw the Grey Lamp.",
    ["Rin", "Ann"],
    ["Rin", "Grey Lamp", "Keeper of Saint Orme"],
  );
  check("Snow fell. He liked Snow. I’m cold, said Mara’s brother.", [], ["Snow", "Mara"]);
  check("“Wait for the tide,” she says. “What a night it is” is all. nothing else", [], []);
  check("林澈举起「灰灯」，说：“要么跳，要么走。”《潮汐录》里写过。", ["林澈", "我"], ["林澈", "灰灯", "潮汐录"]);
  check("Aa Bb. x Cc x Dd x Ee x Ff x Gg x Hh x Ii", [], ["Bb", "Cc", "Dd", "Ee", "Ff", "Gg"]);
  check("", ["Rin"], []);

  test("keys are separated by commas of any kind; a regular expression keeps its commas", () => {
    assert.deepEqual(keysIn("lamp, 灯，塔、sea\n the keep,"), ["lamp", "灯", "塔", "sea", "the keep"]);
    assert.deepEqual(keysIn(" /la{1,2}mp|灯/i "), ["/la{1,2}mp|灯/i"]);
    assert.deepEqual(keysIn(" , "), []);
  });
});

describe("summaries", () => {
  const of = (id, level, nodeIds, isStale = false) => ({
    id,
    level,
    nodeIds,
    isStale,
    content: id,
    firstId: nodeIds[0],
    lastId: nodeIds.at(-1),
    isEdited: false,
  });
  const shape = (chapters) =>
    chapters.map(({ summary, parts }) => (parts.length > 0 ? [summary.id, ...shape(parts)] : summary.id));

  test("S3-09: a chapter contains the summaries that it was made of, in order; a valid summary is in no stale chapter", () => {
    const pieces = [of("a", 1, ["1", "2"]), of("b", 1, ["3", "4"]), of("c", 1, ["5"]), of("d", 1, ["6"])];
    const all = [
      ...pieces.slice(0, 2),
      of("ab", 2, ["1", "2", "3", "4"]),
      pieces[2],
      of("abc", 3, ["1", "2", "3", "4", "5"]),
      pieces[3],
    ];
    assert.deepEqual(shape(nestChapters(all)), [["abc", ["ab", "a", "b"], "c"], "d"]);
    assert.deepEqual(shape(nestChapters([pieces[0], pieces[1], of("old", 2, ["1", "2", "3"], true)])), [
      "a",
      "b",
      "old",
    ]);
    assert.deepEqual(shape(nestChapters([of("a", 1, ["1"], true), of("old", 2, ["1", "2"], true)])), [["old", "a"]]);
    assert.deepEqual(shape(nestChapters([of("empty", 1, [])])), ["empty"]);
  });
});

describe("the rows of a state", () => {
  const properties = {
    love: { type: "integer" },
    secret: { type: "string", "x-visible": "love >= 20" },
    place: { properties: { room: {}, trap: { "x-visible": "love >= 5" } } },
  };
  const rowsOf = (hidden) => {
    const vars = { mine: { love: 9, secret: "a spy", place: { room: "hall", trap: true } } };
    const [group] = groupsOf(
      { world: { vars }, schemas: [{ plugin: "mine", root: "/mine", schema: { properties }, hidden }] },
      "en",
    );
    return group.rows.flatMap(({ path, rows }) => [path, ...rows.map((row) => row.path)]);
  };

  test("hidden values have no rows", () => {
    const all = ["/mine/love", "/mine/secret", "/mine/place", "/mine/place/room", "/mine/place/trap"];
    assert.deepEqual(rowsOf([]), all);
    assert.deepEqual(rowsOf(undefined), all);
    assert.deepEqual(rowsOf(["/mine/secret", "/mine/place/trap"]), ["/mine/love", "/mine/place", "/mine/place/room"]);
  });

  test("hidden parts of objects in maps and lists are not in rows, texts or names", () => {
    const person = {
      title: "A person",
      properties: {
        love: { type: "integer", minimum: 0, maximum: 9 },
        plan: { type: "string", "x-visible": false },
        diary: { type: "string" },
      },
    };
    const properties = {
      people: { type: "object", additionalProperties: { $ref: "#/$defs/person" } },
      listed: { type: "object", "x-ui": "list", additionalProperties: person },
      met: { type: "array", items: person },
    };
    const one = { love: 3, plan: "poison", diary: "dear" };
    const at = {
      world: { vars: { mine: { people: { rin: one }, listed: { rin: one }, met: [one] } } },
      schemas: [
        {
          plugin: "mine",
          root: "/mine",
          schema: { properties, $defs: { person } },
          hidden: ["/mine/people/rin/diary", "/mine/listed/rin/diary"],
        },
      ],
    };
    const [group] = groupsOf(at, "en");
    const [people, listed, met] = group.rows;
    assert.deepEqual(
      [people.kind, people.rows.map(({ label, kind, rows }) => [label, kind, rows.map((row) => [row.path, row.kind])])],
      ["group", [["Rin", "group", [["/mine/people/rin/love", "bar"]]]]],
    );
    assert.deepEqual(
      [listed.kind, listed.visible, met.kind, met.visible],
      ["map", { rin: { love: 3 } }, "list", [{ love: 3, diary: "dear" }]],
    );
    for (const path of [
      "/mine/people/rin/plan",
      "/mine/people/tomas/plan",
      "/mine/people/rin/diary",
      "/mine/met/0/plan",
    ])
      assert.ok(isConcealed(at, path), path);
    for (const path of ["/mine/people/rin/love", "/mine/people/tomas", "/mine/met/0/diary", "/other/plan"])
      assert.ok(!isConcealed(at, path), path);
  });
});

describe("hidden tags", () => {
  const whole =
    'Snow <b>falls</b>, 3 < 4.\n\n<initvar>a secret</INITVAR>\n\nShe nods. <initvars>\n<updatevariable a=1>\n_.set("hp", 1);\n</UpdateVariable>\n<StatusPlaceHolderImpl/>\nThe end';

  test("S3-18: no part of a hidden tag is shown while a text grows, and what is shown stays", () => {
    let before = "";
    for (let n = 0; n <= whole.length; n += 1) {
      const now = visiblePart(whole.slice(0, n));
      assert.ok(now.startsWith(before), `${JSON.stringify(before)} went away at ${JSON.stringify(now)}`);
      assert.ok(!/<i?n?i?t?v?a?r?$|<initvar[> ]|secret|update|_\.set|hp|status/i.test(now.replace("</b>", "")), now);
      before = now;
    }
    assert.equal(before, "Snow <b>falls</b>, 3 < 4.\n\n\n\nShe nods. <initvars>\n\n\nThe end");
    for (const [text, shown] of [
      ["<initvar>hm", ""],
      ["<initvar>hm</initvar>\n\nHello", "Hello"],
      ["She writes <think> on the wall.", "She writes <think> on the wall."],
      ["Hello <initvar>\nnever closed", "Hello "],
      ["a < b", "a < b"],
      ["天<initvar>x</INITVAR>地", "天地"],
      ["  plain", "  plain"],
    ])
      assert.equal(visiblePart(text), shown);
  });

  test("a quotation has no part of a hidden tag, even if it was cut inside one", () => {
    assert.equal(quoteText("**Hello**\n\n<StatusPlaceHol"), "Hello");
    assert.equal(quoteText("Hi.\n<UpdateVariable>\n_.se"), "Hi.");
  });
});

describe("untrusted text", () => {
  test("invisible characters are removed from titles and shown in code", () => {
    assert.equal(withoutInvisible("Tide\u202e\u0007 gnp\u200b.exe"), "Tide gnp.exe");
    assert.equal(showInvisible("a\u202eb\tc\r\n\u200b"), "a⟨U+202E⟩b\tc\n⟨U+200B⟩");
    assert.equal(showInvisible("人物 👩\u200d🚀"), "人物 👩\u200d🚀");
    assert.deepEqual(
      [
        ...titlesOf([
          { id: "a", title: "Tide" },
          { id: "b", title: "Ti\u202ede" },
          { id: "c", title: "Sun" },
          { id: "d" },
        ]).values(),
      ],
      ["Tide (a)", "Tide (b)", "Sun", "d"],
    );
  });

  test("two texts are compared line by line", () => {
    const told = (before, after) =>
      diffLines(before, after)
        .map(({ sign, text }) => `${sign}${text}`)
        .join("|");
    assert.equal(told("a\nb\nc\nd", "a\nx\nc\ny\nd"), "a|-b|+x|c|+y|d");
    assert.equal(told("a", "a"), "a");
    assert.equal(told("a\nb", "b"), "-a|b");
    assert.equal(told("a\na", "a\na\na"), "a|a|+a");
    const long = (sign) => Array.from({ length: 3000 }, (_, i) => `${sign}${i}`).join("\n");
    assert.equal(diffLines(long("a"), long("b")).length, 6000);
  });
});

describe("manifest rules", () => {
  test("the rules of a manifest are listed with their conditions", () => {
    const text =
      'id = "a"\n[[rule]]\nname = "friends" # unique\nwhen = "affinity >= 20" # once\nonce = true\ndo = [\n  { op = "set", path = "met", value = true },\n]\n[[rule]]\nname = \'wages\'\nevery = 10\n[permissions]\nwhen = "no"\n';
    assert.deepEqual(rulesOf(text), [
      { name: "friends", when: "when affinity >= 20, once true" },
      { name: "wages", when: "every 10" },
    ]);
    assert.deepEqual(rulesOf(""), []);
  });
});

describe("word differences of two versions", () => {
  const told = (one, two) =>
    diffWords(one, two)?.map((parts, i) => parts.map(({ start, end }) => [one, two][i].slice(start, end)).join("|"));

  test("differing words are found in Western and East Asian scripts, in as few ranges as possible", () => {
    assert.deepEqual(told("The old gate stands open tonight.", "The new gate stands wide open."), [
      "old|open tonight",
      "new|wide open",
    ]);
    assert.deepEqual(
      told("He waits here.", "He waits."),
      [" here", ""].map((part) => part.trim()),
    );
    assert.deepEqual(
      told("七盏灯，第八盏刚刚熄灭。", "六盏灯，第七盏刚刚熄灭。").map((parts) => parts.length > 0),
      [true, true],
    );
    assert.deepEqual(told("同样的话。", "同样的话。"), ["", ""]);
  });

  test("unrelated or very long texts are not compared", () => {
    assert.equal(told("Snow.", "A path through thorns."), undefined);
    const long = (sign) => Array.from({ length: 4_000 }, (_, i) => `${sign}${i}`).join(" ");
    assert.equal(told(long("a"), long("b")), undefined);
  });
});

describe("the data of a chart", () => {
  test("the range includes the bounds and all values, and is never empty", () => {
    assert.deepEqual(
      reachOf(
        [
          [
            { turn: 0, value: 5 },
            { turn: 1, value: null },
          ],
        ],
        { minimum: 0, maximum: 20 },
      ),
      [0, 20],
    );
    assert.deepEqual(
      reachOf([[{ turn: 0, value: 25 }], [{ turn: 0, value: -3 }]], { minimum: 0, maximum: 20 }),
      [-3, 25],
    );
    assert.deepEqual(reachOf([[{ turn: 0, value: 4 }]], {}), [3, 5]);
    assert.deepEqual(reachOf([], {}), [0, 1]);
  });

  test("lines share their turns; a missing turn has no value, a turn without the value is a gap", () => {
    const lines = [
      [
        { turn: 0, value: 1 },
        { turn: 2, value: null },
      ],
      [
        { turn: 1, value: 7 },
        { turn: 2, value: 8 },
      ],
    ];
    assert.deepEqual(columnsOf(lines), [
      [0, 1, 2],
      [1, undefined, null],
      [undefined, 7, 8],
    ]);
    assert.deepEqual(columnsOf([]), [[]]);
  });
});

describe("other names of commands", () => {
  const finds = (word) => Object.keys(SYNONYMS).filter((id) => otherNames(id, word).length > 0);

  test("each Git term finds the command that does the same, and the page that explains it", () => {
    for (const { git, commands } of GIT_TERMS) {
      for (const word of git.split(", ")) {
        const found = finds(word.split(" ")[0]);
        for (const id of [...commands, "page.git"]) assert.ok(found.includes(id), `${word} finds ${id}`);
      }
    }
  });

  test("words match at their beginnings, together or apart, with any case and quotes", () => {
    assert.deepEqual(otherNames("session.note", "Author’s NOTE"), ["author's note"]);
    assert.deepEqual(otherNames("page.world", "bar"), ["status bar"]);
    assert.deepEqual(otherNames("page.presets", "jailbreak regex"), ["jailbreak", "regex", "regex scripts"]);
    assert.deepEqual(otherNames("message.reroll", "roll"), ["roll again", "重roll"]);
    assert.ok(finds("log").includes("page.tree") && !finds("log").includes("page.speech"), "“dialogue” is no log");
    assert.deepEqual(otherNames("message.goOn", "续"), ["继续", "续写"]);
    assert.deepEqual(otherNames("message.why", "itemized prompts"), ["itemized prompt"], "a plural finds the singular");
    for (const [word, id] of [
      ["swipes", "message.reroll"],
      ["create checkpoint", "message.label"],
      ["quick replies", "session.rules"],
      ["alternate greetings", "page.library"],
      ["scan depth", "page.lore"],
      ["代入", "turn.draft"],
      ["聊天补全预设", "page.presets"],
      ["开场白", "page.library"],
    ])
      assert.ok(finds(word).includes(id), `${word} finds ${id}`);
  });

  test("words without a command have no match", () => {
    for (const word of ["group", "image", "voice", "background", "tts", "群聊", "图片", "语音", "背景", "qwertz"])
      assert.deepEqual(finds(word), [], word);
  });
});

describe("connection profiles", () => {
  const settings = { model: "a/b", params: { top_p: 1, stop: ["x"] }, presetId: null, valuesModel: null };
  const story = { ...settings, summaries: { enabled: true, every: null, model: null } };
  const profile = (more) => ({ id: "1", name: "Calm", ...settings, summariesModel: null, ...more });

  test("a story differs from a profile by its settings, whatever the order of parameters", () => {
    assert.equal(isChanged(story, profile({ params: { stop: ["x"], top_p: 1 } })), false);
    for (const more of [
      { model: null },
      { params: {} },
      { presetId: "p" },
      { summariesModel: "m" },
      { valuesModel: "m" },
    ])
      assert.equal(isChanged(story, profile(more)), true, JSON.stringify(more));
  });

  test("a typed name means the profile of exactly this name, else of this name in another case", () => {
    const all = [profile({ id: "1", name: "calm" }), profile({ id: "2", name: "Calm" })];
    assert.equal(profileNamed(all, " Calm ")?.id, "2");
    assert.equal(profileNamed(all, "CALM")?.id, "1");
    assert.equal(profileNamed(all, "cal"), null);
  });
});

test("a provider that cannot be used says why, in the words of the page", () => {
  const text = (args) => modelFailureText({ code: "provider_misconfigured", args, message: "as the server says it" });
  const key = { reason: "no_key_variable", variable: "MY_KEY", words: "in English" };
  assert.match(text(key), /^The settings of this model are wrong: The environment variable “MY_KEY” is missing/);
  for (const reason of ["of a newer server", undefined]) {
    assert.equal(text({ reason, words: "in English" }), "The settings of this model are wrong: in English.");
  }
});
