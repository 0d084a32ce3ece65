// Tests against the real server: the state panel renders every hint of a schema.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { createPurseSession } from "./support/purse-plugin.mjs";
import { browser, checkAccessibility, model, extraServers } from "./support/setup.mjs";

const bar = (/** @type {string} */ title, /** @type {object} */ hint) => ({
  title,
  type: "integer",
  minimum: 0,
  maximum: 10,
  "x-ui": hint,
});
const SCHEMA = {
  title: "Signs",
  type: "object",
  properties: {
    plain: { title: "Plain", type: "integer", minimum: 0, maximum: 10 },
    low: bar("Low", { as: "bar", danger: 3 }),
    counted: { title: "Counted", type: "integer" },
    coins: bar("Coins", "chip"),
    mood: { title: "Mood", type: "string", "x-ui": "chip" },
    place: {
      title: "Place",
      description: "Where you are",
      type: "string",
      enum: ["gate", "hall"],
      "x-ui": { as: "chip", title: { zh: "所在" }, description: { zh: "你在哪里" }, values: { zh: { gate: "城门" } } },
    },
    open: { title: "Open", type: "boolean" },
    pack: { title: "Pack", type: "object", additionalProperties: { type: "integer" }, "x-ui": "list" },
    seen: { title: "Seen", type: "array", items: { type: "string" } },
    year: { title: "Year", type: "integer", minimum: 0, maximum: 2000, "x-ui": "text" },
    gone: { title: "Gone", type: "string", "x-ui": "hidden" },
    never: { title: "Never", type: "string", "x-visible": false },
    later: { title: "Later", type: "string", "x-visible": "plain >= 5" },
    fixed: { title: "Fixed", type: "string", readOnly: true },
    twice: { title: "Twice", type: "integer", "x-computed": "plain * 2" },
    people: {
      title: "People",
      type: "object",
      additionalProperties: {
        title: "A person",
        type: "object",
        properties: {
          love: { title: "Love", type: "integer", minimum: 0, maximum: 10, default: 2 },
          plan: { title: "Plan", type: "string", "x-visible": false },
        },
      },
      "x-prototype": true,
    },
  },
};
const FILES = {
  "plugin.toml": 'id = "signs"\ntitle = "Signs"\nversion = "1.0.0"\napi = "1"\n[state]\nschema = "state.schema.json"\n',
  "main.rhai": `fn init(ctx) {
    for pair in [["plain", 4], ["low", 3], ["counted", 7], ["coins", 6], ["mood", "calm"], ["place", "gate"], ["open", true], ["year", 1203], ["gone", "unseen a"], ["never", "unseen b"], ["later", "unseen c"], ["fixed", "stone"]] { ctx.set(pair[0], pair[1]); }
    ctx.set("pack", #{ rope: 2, lamp: 1 });
    ctx.set("seen", ["The gate", "The hall"]);
    ctx.set("people/rin", #{ love: 3, plan: "unseen d" });
}
fn on_reply(ctx) { if ctx.text.contains("grow") { ctx.add("plain", 1, "it grows"); ctx.add("people/tomas/love", 1, "he waves"); ctx.set("people/tomas/plan", "unseen e"); } }
`,
  "state.schema.json": JSON.stringify(SCHEMA),
};

/** Opens a session with a value for each hint. @param {Parameters<typeof openPage>[1]} [options] @param {string[]} [replies] */
async function openHintSession(options, replies = ["Hm."]) {
  const story = await createPurseSession(model, { replies, plugins: [{ id: "signs" }], files: FILES, id: "signs" });
  extraServers.push(story.server);
  const opened = await openPage(browser, options);
  await opened.page.goto(story.server.base + story.path);
  await opened.page.locator(".message.last.complete").waitFor();
  const row = (/** @type {string} */ name) => opened.page.locator(`.world [data-path="/signs/${name}"]`);
  await row("plain").waitFor({ state: "attached" });
  return { ...story, ...opened, row };
}

/** Returns the visible part of the state panel. @param {import("playwright-core").Page} page */
const statePanel = (page) => page.locator(".world").innerText();

describe("hints of a schema", () => {
  test("S3-19: a bar, a bar in danger, a number, chips, a switch, lists and a text are each rendered as such", async () => {
    const { page, close, row } = await openHintSession();
    assert.equal(
      await row("plain").getByRole("meter").getAttribute("aria-valuenow"),
      "4",
      "a range is a bar by itself",
    );
    assert.ok(!(await row("plain").locator(".danger").count()), "a low bar is only low");
    assert.equal(await row("low").locator(".danger").count(), 1);
    assert.deepEqual(
      [
        await row("counted").getByRole("meter").count(),
        await row("counted").locator(".chip").count(),
        await row("counted").locator(".value").innerText(),
      ],
      [0, 0, "7"],
    );
    for (const [name, value] of [
      ["coins", "6"],
      ["mood", "Calm"],
      ["place", "Gate"],
      ["open", "yes"],
    ])
      assert.equal(await row(name).locator(".value.chip").innerText(), value);
    assert.equal(await row("coins").getByRole("meter").count(), 0);
    assert.deepEqual(await row("pack").locator(".items li").allInnerTexts(), ["Lamp", "Rope × 2"]);
    assert.deepEqual(await row("seen").locator(".items li").allInnerTexts(), ["The gate", "The hall"]);
    assert.deepEqual(
      [await row("year").getByRole("meter").count(), await row("year").locator(".value").innerText()],
      [0, "1203"],
    );
    assert.equal(await row("twice").locator(".value").innerText(), "8");
    for (const name of ["fixed", "twice"])
      assert.equal(await row(name).getByRole("button", { name: /^Edit/ }).count(), 0, `${name} is not changed by hand`);
    assert.equal(await row("place").locator(".label").getAttribute("title"), "Where you are");
    await checkAccessibility(page, "every hint");
    // A number that is shown as text is still edited as a number.
    await row("year").hover();
    await row("year").getByRole("button", { name: "Edit Year" }).click();
    await row("year").getByRole("spinbutton").fill("1204");
    await row("year").getByRole("button", { name: "Set", exact: true }).click();
    await row("year").getByText("1204").waitFor();
    await close();
  });

  test("S3-19: a map of objects is rendered object by object; hidden values are neither there nor under a message", async () => {
    const { page, close, row } = await openHintSession({}, ["They grow."]);
    assert.equal(await row("people/rin").getByRole("meter", { name: "Love" }).getAttribute("aria-valuenow"), "3");
    assert.equal(await row("people/tomas").getByRole("meter", { name: "Love" }).getAttribute("aria-valuenow"), "3");
    await row("people/tomas").getByText("he waves").waitFor();
    const headings = await page.locator(".world .group h3").allInnerTexts();
    assert.deepEqual(headings, ["People", "Rin", "Tomas"]);
    await row("later").getByText("unseen c").waitFor();
    const seen = await statePanel(page);
    for (const words of ["unseen a", "unseen b", "unseen d", "unseen e"]) assert.ok(!seen.includes(words), words);
    const chips = await page.locator(".message.last .changes").innerText();
    assert.ok(chips.includes("Plain") && !chips.includes("unseen"), chips);
    await row("plain").locator(".now").click();
    await page.getByRole("dialog").getByText("it grows").waitFor();
    assert.ok(!(await page.getByRole("dialog").innerText()).includes("unseen"));
    await close();
  });

  test("S3-19: a value hidden until a condition holds appears with it, and disappears after going back", async () => {
    const { page, close, row } = await openHintSession();
    assert.ok(!(await statePanel(page)).includes("Later"));
    model.queueReply(["They grow."]);
    await page.locator("main textarea").first().fill("Wait.");
    await page.keyboard.press("Enter");
    await row("later").getByText("unseen c").waitFor();
    await page.getByRole("button", { name: "Undo", exact: true }).first().click();
    await waitUntil(async () => (await row("later").count()) === 0, "it is hidden again");
    await close();
  });

  test("S3-19: titles, descriptions and names of values are in the user's language, on a narrow screen too", async () => {
    const { page, close, row } = await openHintSession({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      locale: "zh-CN",
      colorScheme: "dark",
    });
    await page.getByRole("navigation").getByRole("button", { name: "状态" }).click();
    await row("place").getByText("所在").waitFor();
    assert.equal(await row("place").locator(".value.chip").innerText(), "城门");
    assert.equal(await row("place").locator(".label").getAttribute("title"), "你在哪里");
    assert.equal(await page.locator(".world").evaluate((box) => box.scrollWidth - box.clientWidth), 0);
    await close();
  });
});
