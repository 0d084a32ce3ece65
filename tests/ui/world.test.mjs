// Tests against the real server: a state of many values, and hidden values.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { SEARCH_FROM, findRows, valuesIn, queryWords } from "../../static/src/lib/find-rows.ts";
import { openPage, test } from "./support/browser.mjs";
import { codeEditorIn } from "./support/code-editor.mjs";
import { createPurseSession } from "./support/purse-plugin.mjs";
import {
  LOAD_ERROR,
  browser,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  createSession,
  lastMessage,
  model,
  extraServers,
  clickMessageButton,
  openSession,
  readSession,
  sendMessage,
  waitForReply,
} from "./support/setup.mjs";

const MANIFEST =
  'id = "town"\ntitle = { en = "Town", zh = "小镇" }\nversion = "1.0.0"\napi = "1"\n[state]\nschema = "state.schema.json"\n';

const PEOPLE = {
  "plugin.toml": MANIFEST,
  "main.rhai": `fn init(ctx) {
    for name in ["rin", "tamsin", "jory"] {
        ctx.set(\`people/\${name}\`, #{ affinity: 5, mood: "calm", met: false, place: "gate", pack: ["rope"] });
    }
    ctx.set("people/jory/mood", "angry");
    ctx.set("weather", "fog over the harbour");
}
`,
  "state.schema.json": JSON.stringify({
    type: "object",
    properties: {
      weather: { title: "Weather", type: "string", description: "what one sees of the sky" },
      people: {
        title: "People",
        type: "object",
        additionalProperties: {
          type: "object",
          properties: {
            affinity: { title: "Affinity", type: "integer", minimum: 0, maximum: 100 },
            mood: {
              title: "Mood",
              enum: ["calm", "angry"],
              "x-ui": { title: { zh: "心情" }, values: { zh: { calm: "平静", angry: "生气" } } },
            },
            met: { title: "Met", type: "boolean" },
            place: { title: "Place", type: "string" },
            pack: { title: "Pack", type: "array", items: { type: "string" } },
          },
        },
      },
    },
  }),
};

/**
 * Opens a session with such a plugin.
 * @param {Record<string, string>} files @param {Parameters<typeof openPage>[1]} [options] @param {string[]} [replies] @param {string} [keeper] the model that keeps the values
 */
async function openTownSession(files, options, replies = [], keeper = "") {
  const story = await createPurseSession(model, { replies, plugins: [{ id: "town" }], files, id: "town", keeper });
  extraServers.push(story.server);
  const opened = await openPage(browser, options);
  await opened.page.goto(story.server.base + story.path);
  await opened.page.locator(".message.last").waitFor();
  return { ...story, ...opened };
}

/** Returns the paths in the state panel. @param {import("playwright-core").Page} page */
const places = (page) =>
  page.locator(".world [data-path]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-path")));

describe("a state of many values", () => {
  test("a value is found by name, path, description or value, with its groups; Escape shows everything again", async () => {
    const { page, close } = await openTownSession(PEOPLE);
    const field = page.locator(".world").getByRole("searchbox", { name: "Find a variable" });
    await field.waitFor();
    const all = await places(page);
    assert.equal(all.length, 20);
    await field.focus();
    await page.keyboard.type("ANGRY");
    await page.locator(".world").getByText("1 of 16 variables").waitFor();
    assert.deepEqual(await places(page), ["/town/people", "/town/people/jory", "/town/people/jory/mood"]);
    await checkAccessibility(page, "the world, searched");
    await field.fill("tamsin rope");
    assert.deepEqual(await places(page), ["/town/people", "/town/people/tamsin", "/town/people/tamsin/pack"]);
    await field.fill("the sky");
    assert.deepEqual(await places(page), ["/town/weather"]);
    await field.fill("people/rin");
    await page.locator(".world").getByText("5 of 16 variables").waitFor();
    await field.fill("nobody knows");
    await page.locator(".world").getByText("0 of 16 variables").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await field.inputValue(), "");
    assert.deepEqual(await places(page), all);
    await close();
  });

  test("the search uses the user's language; a small state has no search field", async () => {
    const { page, close } = await openTownSession(PEOPLE, { locale: "zh-CN" });
    const field = page.getByRole("searchbox", { name: "查找变量" });
    await field.fill("生气");
    await page.locator(".world").getByText("16 个变量中的 1 个").waitFor();
    await close();
    const few = { ...PEOPLE, "main.rhai": 'fn init(ctx) { ctx.set("weather", "fog"); }\n' };
    const other = await openTownSession(few);
    await other.page.locator('[data-path="/town/weather"]').waitFor();
    assert.equal(await other.page.getByRole("searchbox", { name: "Find a variable" }).count(), 0);
    await other.close();
  });

  test("hidden parts of a value are not searched", () => {
    const row = /** @type {any} */ ({
      path: "/a/rin",
      label: "Rin",
      description: "",
      kind: "map",
      schema: {},
      value: { mood: "calm", secret: "spy" },
      visible: { mood: "calm" },
      rows: [],
    });
    const groups = [{ plugin: "a", title: "A", rows: [row] }];
    assert.equal(findRows(groups, queryWords("spy"), () => "").found, 0);
    assert.equal(findRows(groups, queryWords("ＣＡＬＭ"), () => "").found, 1);
    assert.ok(valuesIn(groups) < SEARCH_FROM);
  });
});

const CARD = {
  "plugin.toml": 'id = "town"\ntitle = "Town"\nversion = "1.0.0"\napi = "1"\n[state]\nroot = "stat_data"\n',
  "main.rhai": `fn init(ctx) {
    ctx.set("", #{
        "白霜": #{ "好感度": [12, "0-100"], "心情": ["平静", "她现在的心情"], "着装": "灰色长袍", "$隐藏": "nobody sees it" },
        "主角": #{ "金钱": 100, "背包": [], "物品": #{ "$meta": #{ extensible: true }, "铜钥匙": #{ "数量": 1 } } },
    });
}
fn on_reply(ctx) { ctx.add("白霜/好感度/0", 2, "kind words"); }
`,
};

describe("the values of a card without a schema", () => {
  test("values of a card have their own rows with descriptions, each changed at its own path, on a narrow screen too", async () => {
    const { page, close, server, sid } = await openTownSession(CARD, { locale: "zh-CN" }, ["She nods."]);
    await lastMessage(page).locator(".changes", { hasText: "白霜 · 好感度" }).waitFor();
    assert.match(await lastMessage(page).locator(".changes").innerText(), /^白霜 · 好感度\s*\+2/);
    await page.locator('[data-path="/stat_data/白霜/好感度"]').waitFor();
    assert.deepEqual(
      await places(page),
      [
        "主角",
        "主角/物品",
        "主角/物品/铜钥匙",
        "主角/物品/铜钥匙/数量",
        "主角/背包",
        "主角/金钱",
        "白霜",
        "白霜/好感度",
        "白霜/心情",
        "白霜/着装",
      ].map((path) => `/stat_data/${path}`),
    );
    const world = page.locator(".world");
    assert.doesNotMatch(await world.innerText(), /nobody sees it|extensible|stat/i);
    const love = page.locator('[data-path="/stat_data/白霜/好感度"]');
    assert.match(await love.innerText(), /好感度\s*\+2\s*14/);
    assert.equal(await love.locator(".label").getAttribute("title"), "0-100");
    await world.getByText("她现在的心情").waitFor();
    await checkAccessibility(page, "the values of a card");
    await love.getByRole("button", { name: "编辑好感度" }).click();
    await love.getByRole("button", { name: "增加好感度" }).click();
    await love.getByRole("button", { name: "减少好感度" }).click();
    await love.getByRole("button", { name: "增加好感度" }).click();
    assert.equal(await love.getByRole("spinbutton").inputValue(), "15");
    await love.locator("button.primary").click();
    await page.locator('[data-path="/stat_data/白霜/好感度"] .now', { hasText: "15" }).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("navigation").getByText("状态", { exact: true }).click();
    // A whole group is changed: one field, and one item more.
    const me = page.locator('[data-path="/stat_data/主角"]');
    await me.locator("> .variable-head").getByRole("button", { name: "编辑主角" }).click();
    const form = me.locator("> form");
    await form.getByRole("spinbutton", { name: "金钱的值" }).fill("80");
    for (const key of await form.locator("input.key").all())
      assert.ok((await key.boundingBox()).width > 60, "a name can be read");
    assert.ok(
      await page.evaluate(
        () =>
          document.documentElement.scrollWidth <= innerWidth &&
          [...document.querySelectorAll(".world form *")].every(
            (one) => one.getBoundingClientRect().right <= innerWidth,
          ),
      ),
      "nothing sticks out",
    );
    await form.locator("> .actions button.primary").click();
    await page.locator('[data-path="/stat_data/主角/金钱"] .now', { hasText: "80" }).waitFor();
    const { activeLeafId } = await server.api("GET", `/api/sessions/${sid}`);
    const { items } = await server.api("GET", `/api/chat/${sid}/deltas?leaf=${activeLeafId}&limit=20&all=true`);
    const hands = items.flatMap((one) => one.operations ?? []).filter(({ by }) => by === "user");
    assert.deepEqual(
      hands.map(({ op, path, value }) => [op, path, value]),
      [
        ["set", "/stat_data/白霜/好感度/0", 15],
        ["set", "/stat_data/主角/金钱", 80],
      ],
    );
    await close();
  });
});

const SECRETS = {
  "plugin.toml": `${MANIFEST}[permissions]\nrequest = ["tools", "notes", "prompt.inject:status"]\n[[tool]]\nname = "look"\ndescription = "Looks at her."\n[tool.parameters]\ntype = "object"\n`,
  "main.rhai": `fn init(ctx) {
    ctx.set("trust", 5);
    ctx.set("rin", #{ mood: "calm", errand: "spies for the harbour" });
    ctx.set("debt", 71);
}
fn tool_look(ctx, args) { ctx.add("debt", 1, "she was seen"); #{ mood: "calm", debt: ctx.get("debt"), said: "She spies for the harbour." } }
fn plan(ctx) { ctx.inject("status", \`debt: \${ctx.get("debt")}\`); }
fn on_reply(ctx) {
    ctx.add("trust", 1, "kind words");
    ctx.add("debt", 20, "owes for the map");
    ctx.add("debt", -5000, "pays");
    ctx.set("rin", #{ mood: "angry", errand: "burns the ledger" }, "she has read it");
    ctx.warn(\`debt is \${ctx.get("debt")}\`);
}
`,
  "state.schema.json": JSON.stringify({
    type: "object",
    properties: {
      trust: { title: "Trust", type: "integer", minimum: 0, maximum: 100 },
      debt: { title: "Debt", type: "integer", minimum: 0, "x-visible": "trust >= 90" },
      rin: {
        title: "Rin",
        type: "object",
        "x-ui": "list",
        properties: {
          mood: { title: "Mood", type: "string" },
          errand: { title: "Errand", type: "string", "x-visible": false },
        },
      },
    },
  }),
};

/** Every text that reveals a hidden value. */
const TOLD = /debt|owes for the map|pays|she was seen|errand|spies|burns the ledger/i;

/** Opens a session in which hidden values changed. @param {Parameters<typeof openPage>[1]} [options] */
async function openSecretSession(options) {
  const opened = await openTownSession(SECRETS, options);
  model.queueReply([{ call: { name: "look", arguments: {} } }]);
  model.queueReply(["A smile."]);
  const { page } = opened;
  await page.locator("main textarea").first().fill("Hello.");
  await page.keyboard.press("Enter");
  await page.locator(".message.last.complete").getByText("A smile.").waitFor();
  await page.locator(".message.last .changes").waitFor();
  return opened;
}

/** Returns all text of a dialog or a panel, with everything in it opened. @param {import("playwright-core").Locator} box */
const allTextOf = (box) =>
  box.evaluate((one) =>
    [one.textContent, ...[...one.querySelectorAll("[title]")].map((part) => part.getAttribute("title"))].join(" "),
  );

describe("hidden values", () => {
  test("rank 13: players never see hidden values: not in the state, under messages, in the trace, in histories, comparisons or trials", async () => {
    const { page, close, server, sid } = await openSecretSession();
    const dialog = page.getByRole("dialog");
    const seesNone = async (/** @type {import("playwright-core").Locator} */ box, /** @type {string} */ where) =>
      assert.doesNotMatch(await allTextOf(box), TOLD, where);
    await page.locator('.world [data-path="/town/rin"]').getByText("angry").waitFor();
    await seesNone(page.locator(".world"), "the world");
    await seesNone(page.locator(".message.last"), "the message");
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    await dialog.getByText("kind words").first().waitFor();
    await dialog.getByText("the model called its tool “look”").waitFor();
    await seesNone(dialog, "Prompt inspector");
    await dialog.getByText("Some values are hidden here.").first().waitFor();
    await checkAccessibility(page, "why, for players");
    await page.keyboard.press("Escape");
    await page.locator('[data-path="/town/rin"] .now').click();
    await dialog.locator(".events li").first().waitFor();
    await seesNone(dialog, "the history");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    // Another branch to compare with.
    const { activeLeafId } = await server.api("GET", `/api/sessions/${sid}`);
    await server.api("POST", `/api/chat/${sid}/node/${activeLeafId}/world`, {
      operations: [
        { op: "set", path: "/town/debt", value: 4 },
        { op: "set", path: "/town/trust", value: 8 },
      ],
    });
    await page.locator('.world [data-path="/town/trust"]').getByText("8").waitFor();
    await seesNone(page.locator(".message.last"), "what was changed by hand");
    await chooseFromPageMenu(page, "Plugin editor");
    await dialog.getByRole("tab", { name: "Try" }).click();
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    const came = dialog.locator(".tried");
    await came.waitFor();
    await came.getByText("kind words").waitFor();
    await seesNone(came, "a try");
    const code = codeEditorIn(dialog);
    await code.waitFor();
    await code.fill(
      (await code.inputValue()).replace('"trust", 1,', '"trust", 2,').replace('"debt", 20,', '"debt", 30,'),
    );
    await dialog.getByRole("tab", { name: "Replay" }).click();
    await dialog.getByRole("button", { name: "Run replay" }).click();
    const table = dialog.getByRole("table", { name: "Replay" });
    await table.getByText("add /town/trust 2").waitFor();
    await seesNone(table, "a replay");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    const { items } = await server.api("GET", `/api/chat/${sid}/projection`);
    await server.api("POST", `/api/chat/${sid}/message`, { parentId: items[0].id, content: "The other way." });
    await chooseFromPageMenu(page, "Branches");
    await dialog.getByRole("checkbox", { name: "Compare “The other way.”" }).check();
    await dialog.getByRole("checkbox", { name: "Compare “A smile.”" }).check();
    await dialog.getByRole("button", { name: "Compare", exact: true }).click();
    await dialog.getByRole("columnheader", { name: "Variable" }).waitFor();
    await dialog.getByRole("rowheader", { name: "Trust" }).waitFor();
    await seesNone(dialog, "a comparison");
    await close();
  });

  test("rank 13: authors can show hidden values, which are marked, also on the next visit", async () => {
    const { page, close } = await openSecretSession();
    const dialog = page.getByRole("dialog");
    assert.deepEqual(await places(page), ["/town/trust", "/town/rin"]);
    await chooseFromPageMenu(page, "Show hidden state");
    const debt = page.locator('.world [data-path="/town/debt"]');
    await debt.getByText("Hidden from players").waitFor({ state: "attached" });
    await page.locator('.world [data-path="/town/rin"]').getByText("burns the ledger").waitFor();
    await page.locator(".message.last .changes").getByText("Debt").waitFor();
    await checkAccessibility(page, "what a world hides");
    await page.reload();
    await debt.waitFor();
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    for (const words of ["owes for the map", "add /town/debt", "burns the ledger"])
      await dialog.getByText(words).first().waitFor();
    await dialog.locator("code").filter({ hasText: "spies for the harbour" }).first().waitFor();
    assert.equal(await dialog.getByText("Some values are hidden here.").count(), 0);
    await dialog.locator(".secret").first().waitFor({ state: "attached" });
    await checkAccessibility(page, "why, for who makes worlds");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await debt.locator(".now").click();
    await dialog.getByText("owes for the map").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await chooseFromPageMenu(page, "Show hidden state");
    await debt.waitFor({ state: "detached" });
    await close();
  });
});

describe("hidden values on several branches", () => {
  /** Creates two branches that change the same two values, one of them hidden; HEAD is on the second. */
  async function partedInTown() {
    const opened = await openTownSession(SECRETS, { expected: LOAD_ERROR });
    const { server, sid } = opened;
    const { items } = await server.api("GET", `/api/chat/${sid}/projection`);
    const write = async (/** @type {string} */ content, /** @type {number} */ trust, /** @type {number} */ debt) => {
      const { node } = await server.api("POST", `/api/chat/${sid}/message`, { parentId: items[0].id, content });
      const set = (/** @type {string} */ path, /** @type {number} */ value) => ({
        op: "set",
        path: `/town/${path}`,
        value,
        why: path === "debt" ? "owes for the map" : "kind words",
      });
      return (
        await server.api("POST", `/api/chat/${sid}/node/${node.id}/world`, {
          operations: [set("trust", trust), set("debt", debt)],
        })
      ).node.id;
    };
    // Values that no clock shows, because a dialog may show times.
    const theirs = await write("To the harbour.", 9, 940);
    const ours = await write("To the hills.", 7, 712);
    return { ...opened, theirs, ours };
  }

  test("rank 13: a merge asks about a hidden value without showing it, and with its values for authors", async () => {
    const { page, close, server, sid, theirs } = await partedInTown();
    const dialog = page.getByRole("dialog", { name: "Merge" });
    const ask = async () => {
      await page.goto(`${server.base}/s/${sid}/${theirs}`);
      await page.locator(".peek").getByRole("button", { name: "Merge" }).click();
      await dialog.getByRole("radio", { name: /State changes only/ }).check();
      await dialog.locator("form").getByRole("button", { name: "Merge" }).click();
      await dialog.getByRole("group", { name: "Trust" }).getByText("Other branch: 9").waitFor();
    };
    await ask();
    const hidden = dialog.getByRole("group", { name: "A hidden value" });
    await hidden.waitFor();
    assert.doesNotMatch(await allTextOf(dialog), TOLD);
    assert.doesNotMatch(await allTextOf(dialog), /940|712/);
    await checkAccessibility(page, "a merge, for players");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await chooseFromPageMenu(page, "Show hidden state");
    await ask();
    const debt = dialog.getByRole("group", { name: "Debt" });
    await debt.getByText("Other branch: 940").waitFor();
    await debt.getByText("This branch: 712").waitFor();
    await debt.getByRole("radio", { name: /Other branch/ }).check();
    await dialog.locator("form").getByRole("button", { name: "Merge" }).click();
    await page.getByText("The branch is merged.").waitFor();
    const { activeLeafId } = await server.api("GET", `/api/sessions/${sid}`);
    const { vars } = (await server.api("GET", `/api/chat/${sid}/node/${activeLeafId}/world`)).world;
    assert.deepEqual([vars.town.trust, vars.town.debt], [7, 940]);
    await close();
  });

  test("a chart shows the value selected last, however late the one before arrives", async () => {
    const { page, close } = await partedInTown();
    const dialog = page.getByRole("dialog", { name: "Variable chart" });
    await chooseFromPageMenu(page, "Show hidden state");
    await page.locator('.world [data-path="/town/debt"]').waitFor();
    /** The first read, held until another one is made. @type {() => Promise<void>} */
    let release = async () => {};
    await page.route(
      "**/variables**",
      (route) => {
        release = () => route.continue();
      },
      { times: 1 },
    );
    await page.getByRole("complementary").getByRole("button", { name: "Variable chart" }).click();
    await page.waitForRequest(/variables/);
    await dialog.getByRole("combobox", { name: "Variable" }).selectOption({ label: "Debt" });
    await dialog.getByRole("img", { name: /^Debt.*to 712.*to 940/ }).waitFor();
    const late = page.waitForResponse(/variables/);
    await release();
    await (await late).finished();
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    await dialog.getByRole("img", { name: /^Debt.*to 712.*to 940/ }).waitFor({ timeout: 1000 });
    await close();
  });

  test("rank 13: a hidden value is plotted along branches for authors only", async () => {
    const { page, close } = await partedInTown();
    const dialog = page.getByRole("dialog", { name: "Variable chart" });
    const values = dialog.getByRole("combobox", { name: "Variable" }).locator("option");
    await page.getByRole("complementary").getByRole("button", { name: "Variable chart" }).click();
    await dialog.getByRole("img", { name: /^Trust/ }).waitFor();
    assert.deepEqual(await values.allInnerTexts(), ["Trust"]);
    assert.doesNotMatch(await allTextOf(dialog), TOLD);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await chooseFromPageMenu(page, "Show hidden state");
    await page.locator('.world [data-path="/town/debt"]').waitFor();
    await page.getByRole("complementary").getByRole("button", { name: "Variable chart" }).click();
    await dialog.getByRole("combobox", { name: "Variable" }).selectOption({ label: "Debt" });
    await dialog.getByRole("img", { name: /^Debt.*to 712.*to 940/ }).waitFor();
    await checkAccessibility(page, "a hidden value along timelines");
    await close();
  });
});

/** A state that only another model changes. */
const KEPT = {
  ...SECRETS,
  "plugin.toml": MANIFEST,
  "main.rhai": `${/** @type {string} */ (SECRETS["main.rhai"].match(/^fn init[\s\S]*?^}\n/m)?.[0])}`,
};

/** Opens a session whose values another model keeps. @param {string} kept what it said @param {Parameters<typeof openPage>[1]} [options] */
async function openKeeperSession(kept, options) {
  const opened = await openTownSession(KEPT, options, [], "mock/k");
  model.queueReply(["A smile."]);
  model.queueReply([kept]);
  const { page } = opened;
  await page.locator("main textarea").first().fill("Hello.");
  await page.keyboard.press("Enter");
  await page.locator(".message.last.complete").getByText("A smile.").waitFor();
  return {
    ...opened,
    dialog: page.getByRole("dialog"),
    section: page
      .getByRole("dialog")
      .locator("section", { has: page.getByRole("heading", { name: "State update by another model" }) }),
  };
}

describe("values kept by another model", () => {
  test("the trace names the values model, with its commands and its prompt", async () => {
    const { page, close, dialog, section } = await openKeeperSession("_.add('town.trust', 2);//kind words");
    await page.locator('.world [data-path="/town/trust"]').getByText("7").waitFor();
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    await section.getByText("mock/k").waitFor();
    await section.locator("pre").getByText("_.add('town.trust', 2);//kind words").waitFor();
    await dialog.getByRole("row", { name: /add \/town\/trust.*kind words/ }).waitFor();
    await section.getByText(/^The \d+ messages as sent$/).click();
    await section.locator("pre").filter({ hasText: "town/trust: 5" }).first().waitFor();
    await checkAccessibility(page, "values that another model kept");
    await close();
  });

  test("rank 13: operations of the values model on hidden values are visible for authors only", async () => {
    const { page, close, section } = await openKeeperSession(
      "She spies for the harbour.\n_.add('town.trust', 2);//kind words",
    );
    await page.locator('.world [data-path="/town/trust"]').getByText("7").waitFor();
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    await section.getByText("Some values are hidden here.").first().waitFor();
    assert.doesNotMatch(await allTextOf(section), TOLD);
    await section.getByRole("button", { name: "Show hidden state" }).first().click();
    await section.locator("pre").getByText("She spies for the harbour.").first().waitFor();
    await close();
  });

  test("if the values model fails, the text stays, and the message and its trace say so, in the user's language too", async () => {
    const { page, close, dialog } = await openKeeperSession("I cannot help with that.", { locale: "zh-CN" });
    const told = lastMessage(page).locator(".problems.broken");
    await told.getByText("状态没有更新").waitFor();
    await lastMessage(page).locator("article").focus();
    await lastMessage(page).locator('[data-command="message.why"]').click();
    await dialog.getByRole("heading", { name: "由另一个模型更新状态" }).waitFor();
    await dialog.locator("section p.bad").waitFor();
    await close();
  });
});

/** A state with each kind of value, and rules that violate all their constraints. */
const STUBBORN = {
  "plugin.toml": MANIFEST,
  "main.rhai": `fn init(ctx) {
    ctx.set("hp", 10);
    ctx.set("mood", "calm");
    ctx.set("pack", ["rope"]);
}
fn on_reply(ctx) {
    ctx.add("hp", -30);
    ctx.set("hp", 2.5);
    ctx.add("hp", 200);
    ctx.set("mood", "odd");
    ctx.set("mood", 5);
    ctx.set("met", "yes");
    ctx.add("pack", 1);
    ctx.take("pack", "lamp");
    ctx.append("pack", "rope");
    ctx.remove("rope");
}
`,
  "state.schema.json": JSON.stringify({
    type: "object",
    properties: {
      hp: { type: "integer", minimum: 0, maximum: 100 },
      mood: { type: "string", enum: ["calm", "angry"] },
      met: { type: "boolean" },
      rope: { type: "integer" },
      pack: { type: "array", items: { type: "string" }, uniqueItems: true },
    },
  }),
};

describe("refused operations", () => {
  test("every kind of refused operation is reported under the reply in the user's language", async () => {
    const { page, close } = await openTownSession(STUBBORN, { locale: "zh-CN" }, ["Hm."]);
    await lastMessage(page).getByText("hp：-20 低于下限，按 0 算。").waitFor();
    await lastMessage(page).getByText("hp：2.5 不是整数，取整为").waitFor();
    await lastMessage(page).getByText("高于上限，按 100 算。").waitFor();
    const problems = lastMessage(page).locator(".problem-line");
    const told = (await problems.evaluateAll((lines) => lines.map((line) => line.textContent ?? ""))).join("\n");
    for (const words of [
      'Mood："odd" 不在 "calm"、"angry" 之中。',
      "Mood：应当是文字，不是 5。",
      'Met：应当是“是”或“否”，不是 "yes"。',
      "Pack：它是列表，加不进去。",
      "Pack：里面没有这一项。",
      "Pack：里面已经有这一项了。",
      "Rope：没有可删去的。",
    ]) {
      assert.ok(told.includes(words), `${words}\n${told}`);
    }
    await close();
  });
});

describe("events of the story", () => {
  test("S0-12: what a plugin records stands in the panel, and only on its branch", async () => {
    const path = await createSession({ plugins: [{ id: "quest-log" }] });
    const { page, close } = await openSession(path);
    await sendMessage(page, "/quest The lost ring | ask the smith");
    await waitForReply(page);
    const before = await readSession(path);
    await sendMessage(page, "/drop ring");
    const events = page.getByRole("complementary").getByRole("list").filter({ hasText: "Quest failed: The lost ring" });
    await events.waitFor();
    await page.getByRole("heading", { name: "Events" }).waitFor();
    await checkAccessibility(page, "events in the panel");
    // Another branch does not have it.
    const chat = path.replace("/s/", "/api/chat/");
    await clotho.api("PUT", `${chat}/active_leaf`, { nodeId: before.activeLeafId, exact: true });
    await events.waitFor({ state: "detached" });
    await close();
  });
});
