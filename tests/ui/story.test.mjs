// The page against the real server: what a reader does, in Chromium.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, afterEach, before, describe } from "node:test";
import { closePages, launch, limitRun, reader, test, until } from "./support/browser.mjs";
import { startClotho, startModel } from "./support/server.mjs";
import { ATTACKS, PROSE } from "./support/texts.mjs";

const REFUSED = /Failed to load resource/;
// A sanitiser has to parse what it refuses; the browser reports what it blocked meanwhile.
const POLICY = /Content Security Policy|content policy/;

let browser, clotho, model;

limitRun();

before(async () => {
  browser = await launch();
  model = await startModel();
  clotho = await startClotho(`
[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["m"]

[[providers]]
id = "down"
base_url = "http://127.0.0.1:9/v1"
models = ["m"]
`);
});

/** Servers that only one test needs. @type {import("./support/server.mjs").Clotho[]} */
const own = [];

afterEach(async () => {
  model.reset();
  await closePages(browser);
  await Promise.all(own.splice(0).map((server) => server.close()));
});

after(async () => {
  await Promise.allSettled([browser?.close(), clotho?.close(), model?.close()]);
});

// What a reader sees and does

const last = (page) => page.locator(".message.last");
const replyIsThere = (page) => page.locator(".message.last.assistant.complete").waitFor();
const texts = (page) => page.locator(".message .prose").allInnerTexts();
const composer = (page) => page.getByRole("textbox", { name: "Your message" });
const tool = (message, name) => message.getByRole("button", { name, exact: true });

/** Sends a message, and sees that it was taken: the field is empty. @param {import("playwright-core").Page} page */
async function say(page, text) {
  await composer(page).fill(text);
  await composer(page).press("Enter");
  await until(async () => (await composer(page).inputValue()) === "", "the message is taken");
}

/** Uses a tool of a message, which shows itself when the message is touched. */
async function use(message, name) {
  await message.locator("article").focus();
  await tool(message, name).click();
}

/** A story with the mock model, without the page's help. @returns {Promise<string>} its address */
async function newStory(settings = {}) {
  const character = await clotho.api("POST", "/api/characters", { name: "Rin", description: "A cartographer.", firstMessage: "The map is not finished." });
  const session = await clotho.api("POST", "/api/sessions", { characterIds: [character.id], model: "mock/m", plugins: [], ...settings });
  return `/s/${session.id}`;
}

const chat = (path) => path.replace("/s/", "/api/chat/");
const session = (path) => clotho.api("GET", path.replace("/s/", "/api/sessions/"));
const line = async (path) => (await clotho.api("GET", `${chat(path)}/projection`)).items;

/** The number a bar of the world panel shows. */
async function bar(page, path) {
  const meter = page.locator(`[data-path="${path}"] [role=meter]`);
  await meter.waitFor();
  return Number(await meter.getAttribute("aria-valuenow"));
}

const HP = "/keep/hp";

/** Plays the adventure until the first deed has cost blood, rolling again where it did not. */
async function bleed(page) {
  await page.goto(clotho.base);
  await page.locator(".hero button, button.card").filter({ hasText: /Lantern Keep|Play the adventure/ }).first().click();
  await page.waitForURL(/\/s\//);
  await replyIsThere(page);
  assert.equal(await bar(page, HP), 20);
  await page.locator(".replies button").first().click();
  await page.locator(".message.user").waitFor();
  await replyIsThere(page);
  for (let rolls = 0; rolls < 30; rolls += 1) {
    await page.locator(".message.last .changes").waitFor();
    if ((await bar(page, HP)) < 20) return;
    const before = await page.locator(".message.last article").getAttribute("data-node");
    await use(last(page), "Roll again");
    await page.locator(`.message.last.complete article:not([data-node="${before}"])`).waitFor();
  }
  assert.fail("thirty rolls and not a scratch");
}

describe("the adventure", () => {
  test("S0-24 S1-19 S2-13 S0-50 S3-02: lose hit points, go back, they return; roll again, other dice; both timelines stay", async () => {
    const { page, close } = await reader(browser);
    await page.goto(clotho.base);
    await page.getByRole("heading", { name: "Every message is a save point." }).waitFor();
    await page.getByRole("button", { name: /New character/ }).waitFor();
    await page.getByRole("button", { name: /Connect a model/ }).waitFor();
    await bleed(page);
    const hurt = await bar(page, HP);
    await page.locator(".message.last .chip.down", { hasText: "Hit points" }).waitFor();
    await page.getByRole("note").filter({ hasText: "what this turn cost you" }).waitFor();

    await use(page.locator(".message").first(), "Go back here");
    await until(async () => (await bar(page, HP)) === 20, "the hit points are back");
    assert.equal(await page.locator(".message").count(), 1);

    await page.getByRole("button", { name: "Follow it again" }).click();
    await until(async () => (await bar(page, HP)) === hurt, "the wound is back with its timeline");
    const path = new URL(page.url()).pathname;
    assert.deepEqual((await line(path)).map((node) => node.id), await page.locator("[data-node]").evaluateAll((all) => all.map((e) => e.dataset.node)));

    const [node, old] = [await last(page).locator("article").getAttribute("data-node"), await last(page).locator(".prose").innerText()];
    const count = (await line(path)).at(-1).siblings.count;
    await use(last(page), "Roll again");
    await last(page).getByText(`${count + 1}/${count + 1}`).waitFor();
    await page.locator(`.message.last.complete article:not([data-node="${node}"])`).waitFor();
    const dice = async (id) => (await clotho.api("GET", `${chat(path)}/node/${id}/delta`)).rolls;
    const other = (await line(path)).at(-1).id;
    assert.ok((await dice(node)).length > 0 && (await dice(other)).length > 0, "both replies threw dice");
    assert.notDeepEqual(await dice(other), await dice(node));

    await last(page).getByRole("button", { name: "Previous version" }).click();
    await until(async () => (await last(page).locator("article").getAttribute("data-node")) !== other, "the other timeline is shown");
    await last(page).getByText(`${count}/${count + 1}`).waitFor();
    await until(async () => (await texts(page)).at(-1) === old, "the old text is one click away");
    await until(async () => (await bar(page, HP)) === hurt, "its wound too");
    await close();
  });

  test("a newcomer is shown the way at the moment of a loss: back with one press, another deed, and between both timelines", async () => {
    const { page, close } = await reader(browser);
    await bleed(page);
    const hint = page.getByRole("note");
    await hint.getByRole("button", { name: "Roll again" }).waitFor();
    await hint.getByRole("button", { name: "Go back" }).click();
    await until(async () => (await bar(page, HP)) === 20, "the hit points are back");
    await hint.filter({ hasText: "Everything is as it was." }).waitFor();
    await page.locator(".replies button").nth(1).click();
    await page.locator(".message.user").getByText("2/2").waitFor();
    await hint.filter({ hasText: "Both timelines stay" }).waitFor();
    await hint.getByRole("button", { name: "Close" }).click();
    await hint.waitFor({ state: "detached" });
    await close();
  });

  test("S4-31: why did it change: the rule, the operation, the dice", async () => {
    const { page, close } = await reader(browser);
    await bleed(page);
    await use(last(page), "Why?");
    const why = page.getByRole("dialog", { name: "Why?" });
    await why.getByText("add /keep/hp").waitFor();
    await why.getByText("narrate").first().waitFor();
    await page.keyboard.press("Escape");
    await why.waitFor({ state: "detached" });
    await close();
  });

  test("a value set by hand is a change like any other: it can be gone back from", async () => {
    const { page, close } = await reader(browser);
    await bleed(page);
    const hurt = await bar(page, HP);
    const row = page.locator(`[data-path="${HP}"]`);
    await row.hover();
    await page.getByRole("button", { name: "Change Hit points" }).click();
    await row.getByRole("spinbutton").fill("3");
    await row.getByRole("button", { name: "Set" }).click();
    await until(async () => (await bar(page, HP)) === 3, "the bar shows the new value");
    await use(last(page), "Go back here");
    await until(async () => (await bar(page, HP)) === hurt, "the old value is back");
    await close();
  });

  test("a slash shows what the rules of the story understand; Tab completes it", async () => {
    const { page, close } = await reader(browser);
    await page.goto(clotho.base);
    await page.locator(".hero button, button.card").filter({ hasText: /Lantern Keep|Play the adventure/ }).first().click();
    await replyIsThere(page);
    await composer(page).fill("/");
    const list = page.getByRole("list", { name: "Commands" });
    await list.getByRole("button", { name: /\/look.*Look around/ }).waitFor();
    await composer(page).fill("/inv");
    assert.equal(await list.getByRole("button").count(), 1);
    await composer(page).press("Tab");
    await until(async () => (await composer(page).inputValue()) === "/inventory ", "the command is completed");
    await list.waitFor({ state: "detached" });
    await composer(page).press("Enter");
    await page.locator(".message.last.assistant.complete").filter({ hasText: /bread/i }).waitFor();
    await close();
  });

  test("Chinese: from the browser's languages, the Chinese story with it; the switch is live", async () => {
    const { page, close } = await reader(browser, { locale: "zh-CN" });
    await page.goto(clotho.base);
    await page.locator("button.card, .hero button").filter({ hasText: /守灯堡|开始冒险/ }).first().click();
    await page.getByRole("heading", { name: "世界" }).waitFor();
    await page.locator(".variable", { hasText: "体力" }).waitFor();
    assert.match((await texts(page))[0], /[\u4e00-\u9fff]{5}/);
    assert.equal(await page.locator("html").getAttribute("lang"), "zh-CN");
    await page.getByRole("button", { name: "菜单" }).click();
    await page.getByRole("button", { name: "English" }).click();
    await page.getByRole("heading", { name: "World" }).waitFor();
    await page.locator(".variable", { hasText: "Hit points" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "World" }).waitFor();
    await close();
  });
});

describe("a story with a model", () => {
  test("S0-36 S1-12 S1-18: the reply grows on screen while the model still speaks; thoughts are folded; HEAD moves at the end", async () => {
    const { page, close } = await reader(browser);
    const path = await newStory();
    const held = model.hold([{ reasoning: "She asks about the coast." }, "The **coast** ", "is long."]);
    await page.goto(clotho.base + path);
    await say(page, "How long is the coast?");
    await page.locator(".message.last.generating").waitFor();
    held.next(2);
    await last(page).locator(".live strong", { hasText: "coast" }).waitFor();
    const user = (await line(path)).at(-1);
    assert.equal((await session(path)).activeLeafId, user.id);
    held.open();
    await replyIsThere(page);
    assert.equal((await texts(page)).at(-1), "The coast is long.");
    await last(page).getByText("Thoughts").click();
    await last(page).getByText("She asks about the coast.").waitFor();
    const reply = (await line(path)).at(-1);
    assert.equal((await session(path)).activeLeafId, reply.id);
    await page.locator("[aria-live=polite]", { hasText: "The coast is long." }).waitFor({ state: "attached" });
    await close();
  });

  test("what the rules only bent is told quietly, a rule that failed openly; the text stays", async () => {
    const { page, close } = await reader(browser);
    const path = await newStory();
    model.say(["You fall a long way."]);
    await page.route("**/projection*", async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      const reply = body.items.findLast((node) => node.role === "assistant" && node.kind === "message");
      const problem = (code, message) => ({ code, message, plugin: "combat" });
      if (reply) reply.problems = [problem("clamped", "hp: -3 is below 0, kept at 0"), problem("error", "line 4: no such function")];
      await route.fulfill({ response, json: body });
    });
    await page.goto(clotho.base + path);
    await say(page, "I jump.");
    const quiet = last(page).locator("details", { hasText: "A value was kept within its rules" });
    await quiet.waitFor();
    assert.equal(await quiet.getAttribute("open"), null);
    await quiet.locator("summary").click();
    await quiet.getByText("Hp: -3 is below 0, kept at 0.").waitFor();
    await last(page).getByText("A rule did not work here; the text stays").waitFor();
    await last(page).getByText("Line 4: no such function.").waitFor();
    assert.equal((await texts(page)).at(-1), "You fall a long way.");
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close();
  });

  test("S0-50: the second reply is asked for without the first", async () => {
    const { page, close } = await reader(browser);
    const path = await newStory();
    model.say(["First answer."]);
    await page.goto(clotho.base + path);
    await say(page, "Where are we?");
    await replyIsThere(page);
    model.say(["Second answer."]);
    await use(last(page), "Roll again");
    await last(page).getByText("2/2").waitFor();
    await until(async () => (await texts(page)).at(-1) === "Second answer.", "the second reply is shown");
    assert.doesNotMatch(JSON.stringify(model.requests.at(-1)), /First answer/);
    await close();
  });

  test("stop keeps the text; the draft survives a reload", async () => {
    const { page, close } = await reader(browser);
    const path = await newStory();
    const held = model.hold(["Kept words. ", "Never said."]);
    await page.goto(clotho.base + path);
    await say(page, "Tell me everything.");
    held.next();
    await last(page).locator(".live", { hasText: "Kept words." }).waitFor();
    await composer(page).fill("half a thought");
    await page.getByRole("button", { name: "Stop writing" }).click();
    await replyIsThere(page);
    await last(page).getByText("Stopped before its end.").waitFor();
    assert.equal((await texts(page)).at(-1), "Kept words.");
    await page.reload();
    await until(async () => (await composer(page).inputValue()) === "half a thought", "the draft is back");
    await close();
    held.open();
  });

  test("a reload in the middle of a reply: what was said is there, the rest follows", async () => {
    const { page, close } = await reader(browser);
    const path = await newStory();
    const held = model.hold(["One, ", "two, ", "three."]);
    await page.goto(clotho.base + path);
    await say(page, "Count.");
    held.next();
    await last(page).locator(".live", { hasText: "One," }).waitFor();
    await page.reload();
    await last(page).locator(".live", { hasText: "One," }).waitFor();
    held.open();
    await replyIsThere(page);
    assert.equal((await texts(page)).at(-1), "One, two, three.");
    await close();
  });

  test("S1-16: with the model down the message stays, the failure has words and a hint, and retry works", async () => {
    const { page, close } = await reader(browser);
    const path = await newStory({ model: "down/m" });
    await page.goto(clotho.base + path);
    await say(page, "Is anybody there?");
    const failure = page.locator(".failure");
    await failure.waitFor();
    assert.match(await failure.innerText(), /The model server cannot be reached\.\s+\S+/);
    await failure.locator(".hint", { hasText: "base_url" }).waitFor();
    assert.equal((await line(path)).at(-1).content, "Is anybody there?");
    await page.reload();
    await failure.waitFor();
    await failure.getByRole("button", { name: "Choose another model" }).click();
    await page.getByRole("combobox", { name: "Model" }).selectOption("mock/m");
    await page.getByRole("button", { name: "Save" }).click();
    await until(async () => (await session(path)).model === "mock/m", "the story has the other model");
    model.say(["I am."]);
    await failure.getByRole("button", { name: "Try again" }).click();
    await until(async () => (await texts(page)).at(-1) === "I am.", "the retry is answered");
    await close();
  });

  test("S0-55: kill -9 in mid-stream: the page says so, catches up, and shows what was said with a retry", async () => {
    const { page, close } = await reader(browser, { expected: /WebSocket|ERR_CONNECTION_REFUSED|Failed to load resource/ });
    const server = await startClotho(`[[providers]]\nid = "mock"\nbase_url = "${model.url}"\nmodels = ["m"]\n`);
    own.push(server);
    const character = await server.api("POST", "/api/characters", { name: "Rin", firstMessage: "Yes?" });
    const made = await server.api("POST", "/api/sessions", { characterIds: [character.id], model: "mock/m", plugins: [] });
    const held = model.hold(["Said before the crash. ", "Lost."]);
    await page.goto(`${server.base}/s/${made.id}`);
    await say(page, "Go on.");
    held.next();
    await last(page).locator(".live", { hasText: "Said before" }).waitFor();
    // What arrived is saved within a second: wait until it is on disk, not for a time.
    await until(() => server.hasOnDisk("Said before the crash."), "the text is on disk");
    await server.stop("SIGKILL");
    await page.getByText("Connection lost.").waitFor();
    held.open();
    await server.start();
    await page.getByText("Connection lost.").waitFor({ state: "detached" });
    await page.locator(".failure").waitFor();
    assert.equal((await texts(page)).at(-1), "Said before the crash.");
    model.say(["And on."]);
    await page.locator(".failure").getByRole("button", { name: "Try again" }).click();
    await until(async () => (await texts(page)).at(-1) === "And on.", "the retry is answered");
    await close();
  });

  test("hostile replies stay text: nothing runs, nothing is loaded, nothing unwanted survives", async () => {
    const { page, close } = await reader(browser, { expected: POLICY });
    const path = await newStory();
    await page.goto(clotho.base + path);
    await replyIsThere(page);
    for (const attack of ATTACKS) {
      model.say([attack]);
      const count = await page.locator(".message").count();
      await say(page, "Go on.");
      await until(async () => (await page.locator(".message").count()) === count + 2, "the message is there");
      await replyIsThere(page);
    }
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).hacked), undefined);
    const found = await page.locator(".prose *").evaluateAll((all) => all.flatMap((e) => [e.localName, ...e.getAttributeNames()]));
    const unwanted = new Set(found.filter((name) => /^(script|img|iframe|svg|math|style|form|input|base|meta|template|object|embed|link)$|^(on.*|style|id|class|src.*)$/.test(name)));
    assert.deepEqual([...unwanted], []);
    const links = await page.locator(".prose a").evaluateAll((all) => all.map((a) => a.getAttribute("href") ?? ""));
    assert.ok(links.length > 0 && links.every((href) => /^$|^https:\/\/example\.org/.test(href)), links.join());
    await close();
  });
});

describe("Markdown", () => {
  test("what was streamed piece by piece is what one rendering of the whole shows", async () => {
    const { page, close } = await reader(browser);
    await page.goto(clotho.base);
    const different = await page.evaluate(async (text) => {
      const main = /** @type {HTMLScriptElement} */ (document.querySelector("script[type=module]")).src;
      const { LiveProse, prose } = await import(new URL("lib/markdown.js", main).href);
      const [live, whole] = [document.createElement("div"), document.createElement("div")];
      for (const size of [1, 4, 37]) {
        live.replaceChildren();
        const writer = new LiveProse(live);
        for (let end = size; end < text.length + size; end += size) writer.show(text.slice(0, end));
        whole.replaceChildren(prose(text));
        if (live.innerHTML.replace(/\s+/g, " ") !== whole.innerHTML.replace(/\s+/g, " ")) return [size, live.innerHTML, whole.innerHTML];
      }
      return null;
    }, PROSE);
    assert.equal(different, null);
    await close();
  });
});

describe("the tree", () => {
  /** You -> reply -> You -> reply, by the server alone. */
  async function grown(end = "Masts in the dusk.") {
    const path = await newStory();
    let parentId = (await session(path)).activeLeafId;
    const ids = [];
    for (const [role, content] of [["user", "To the north."], ["assistant", "Snow."], ["user", "To the harbour."], ["assistant", end]]) {
      const { node } = await clotho.api("POST", `${chat(path)}/message`, { parentId, role, content });
      ids.push((parentId = node.id));
    }
    return { path, ids };
  }

  test("S1-15 S1-14: a deep link shows the line of its node and moves nothing", async () => {
    const { page, close } = await reader(browser);
    const { path, ids } = await grown();
    await clotho.api("PUT", `${chat(path)}/active_leaf`, { nodeId: ids[1], exact: true });
    await page.goto(`${clotho.base}${path}/${ids[2]}`);
    await page.getByText("You are looking at another timeline.").waitFor();
    assert.deepEqual((await texts(page)).slice(1), ["To the north.", "Snow.", "To the harbour."]);
    assert.equal((await session(path)).activeLeafId, ids[1]);
    await page.getByRole("button", { name: "Back to the story" }).click();
    await until(async () => (await texts(page)).at(-1) === "Snow.", "the story is shown");
    await page.goto(`${clotho.base}${path}/${ids[0]}`);
    await until(async () => (await page.evaluate(() => document.activeElement?.getAttribute("data-node"))) === ids[0], "the linked message has the focus");
    await page.goto(`${clotho.base}${path}/${ids[3]}`);
    await page.getByRole("button", { name: "Go on from here" }).click();
    await until(async () => (await session(path)).activeLeafId === ids[3], "HEAD has moved");
    await close();
  });

  test("S0-51 S1-30: a second tab follows HEAD, a new message and a reply by itself", async () => {
    const { page, close } = await reader(browser);
    const { path, ids } = await grown();
    const other = await page.context().newPage();
    other.setDefaultTimeout(20_000);
    await page.goto(clotho.base + path);
    await other.goto(clotho.base + path);
    await until(async () => (await texts(other)).length === 5, "both tabs show the story");
    await use(page.locator(".message").nth(2), "Go back here");
    await until(async () => (await texts(other)).at(-1) === "Snow.", "the second tab went back too");
    const held = model.hold(["Seen ", "by both."]);
    await say(page, "And then?");
    held.next();
    await last(other).locator(".live", { hasText: "Seen" }).waitFor();
    held.open();
    await replyIsThere(other);
    await replyIsThere(page);
    assert.deepEqual(await texts(other), await texts(page));
    await clotho.api("PUT", `${chat(path)}/active_leaf`, { nodeId: ids[3] });
    await until(async () => (await texts(other)).at(-1)?.startsWith("Masts") ?? false, "a move by the API is followed");
    await close();
  });

  test("S4-39 S4-40: search finds what was left behind, marks it, and opens its branch there", async () => {
    const { page, close } = await reader(browser);
    const { path, ids } = await grown("Masts, heliotrope in the dusk.");
    await clotho.api("PUT", `${chat(path)}/active_leaf`, { nodeId: ids[1], exact: true });
    await until(async () => (await clotho.api("GET", "/api/search?q=heliotrope")).items.some((hit) => hit.nodeId === ids[3]), "the index has it");
    await page.goto(clotho.base);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("heliotrope");
    const hit = page.getByRole("option").filter({ hasText: "another timeline" }).first();
    await hit.waitFor();
    assert.equal(await hit.locator("mark").first().innerText(), "heliotrope");
    await hit.click();
    await until(async () => (await page.evaluate(() => document.activeElement?.getAttribute("data-node"))) === (await session(path)).activeLeafId, "the found message has the focus");
    assert.equal((await texts(page)).at(-1), "Masts, heliotrope in the dusk.");
    await close();
  });

  test("S1-20 S2-10 S2-11: an edit further up is a sibling, HEAD goes there, the reply starts by itself", async () => {
    const { page, close } = await reader(browser);
    const { path, ids } = await grown();
    await page.goto(clotho.base + path);
    model.say(["Sand."]);
    await use(page.locator(".message").nth(1), "Edit");
    await page.getByRole("textbox", { name: "Edit" }).fill("To the south.");
    await page.getByRole("button", { name: "Save and get a reply" }).click();
    await until(async () => (await texts(page)).at(-1) === "Sand.", "the reply came");
    assert.deepEqual((await texts(page)).slice(1), ["To the south.", "Sand."]);
    await page.locator(".message").nth(1).getByText("2/2").waitFor();
    await page.locator(".message").nth(1).locator("article").focus();
    await page.keyboard.press("Alt+ArrowLeft");
    await until(async () => (await texts(page)).length === 5, "the old timeline is whole");
    assert.equal((await session(path)).activeLeafId, ids[3]);
    await close();
  });

  test("S2-10: an edit that keeps what follows moves it below the new text", async () => {
    const { page, close } = await reader(browser);
    const { path, ids } = await grown();
    await page.goto(clotho.base + path);
    await use(page.locator(".message").nth(2), "Edit");
    await page.getByRole("textbox", { name: "Edit" }).fill("Deep snow.");
    await page.getByRole("checkbox", { name: /Keep what follows/ }).check();
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await until(async () => (await texts(page))[2] === "Deep snow.", "the new text stands there");
    assert.equal((await texts(page)).length, 5);
    assert.equal((await session(path)).activeLeafId, ids[3]);
    await close();
  });

  test("S2-13: siblings by keys and by swipe", async () => {
    const { page, close } = await reader(browser, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    const { path } = await grown();
    const items = await line(path);
    await clotho.api("POST", `${chat(path)}/node/${items.at(-1).id}/edit`, { content: "No masts." });
    await page.goto(clotho.base + path);
    await last(page).getByText("2/2").waitFor();
    const swipe = (dx) =>
      last(page).locator("article").evaluate((article, by) => {
        const touch = (x) => new Touch({ identifier: 1, target: article, clientX: x, clientY: 300 });
        article.dispatchEvent(new TouchEvent("touchstart", { bubbles: true, changedTouches: [touch(200)] }));
        article.dispatchEvent(new TouchEvent("touchend", { bubbles: true, changedTouches: [touch(200 + by)] }));
      }, dx);
    await swipe(120);
    await last(page).getByText("1/2").waitFor();
    await swipe(-120);
    await last(page).getByText("2/2").waitFor();
    await last(page).locator("article").focus();
    await page.keyboard.press("Alt+ArrowLeft");
    await last(page).getByText("1/2").waitFor();
    await page.getByRole("navigation").getByRole("button", { name: "World" }).click();
    await page.getByRole("heading", { name: "World" }).waitFor();
    await composer(page).waitFor({ state: "hidden" });
    await close();
  });

  test("S2-19: a message that comes too late is not lost: the line is shown anew, the draft stays", async () => {
    const { page, close } = await reader(browser, { expected: REFUSED });
    const { path, ids } = await grown();
    await page.goto(clotho.base + path);
    await until(async () => (await texts(page)).length === 5, "the story is shown");
    // The page hears of the move only after its own request was refused.
    await page.routeWebSocket(/./, () => {});
    await page.reload();
    await until(async () => (await texts(page)).length === 5, "the story is shown");
    await clotho.api("PUT", `${chat(path)}/active_leaf`, { nodeId: ids[1], exact: true });
    await composer(page).fill("Too late?");
    await composer(page).press("Enter");
    await page.getByText("The story moved on somewhere else.").waitFor();
    assert.equal(await composer(page).inputValue(), "Too late?");
    await until(async () => (await texts(page)).at(-1) === "Snow.", "the line is the new one");
    await close();
  });

  test("S1-23: a long story stays light: a window of it is in the page, and its beginning can be reached", async () => {
    const { page, close } = await reader(browser);
    const path = await newStory();
    let parentId = (await session(path)).activeLeafId;
    for (let i = 0; i < 260; i += 1) {
      const role = i % 2 ? "assistant" : "user";
      parentId = (await clotho.api("POST", `${chat(path)}/message`, { parentId, role, content: `Line ${i}, and a little more.` })).node.id;
    }
    await page.goto(clotho.base + path);
    await page.getByText("Line 259,").waitFor();
    const scroller = page.locator(".scroller");
    await until(async () => {
      await scroller.evaluate((box) => (box.scrollTop = 0));
      assert.ok((await page.locator(".message").count()) <= 80);
      return page.getByText("The map is not finished.").isVisible();
    }, "the beginning is reached");
    await page.getByRole("button", { name: "To the newest message" }).click();
    await page.getByText("Line 259,").waitFor();
    assert.ok(await scroller.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 50));
    await close();
  });
});

describe("the library", () => {
  test("a character is made, its story begun with a model, renamed and deleted", async () => {
    const { page, close } = await reader(browser);
    await page.goto(clotho.base);
    await page.getByRole("button", { name: /New character/ }).click();
    await page.getByLabel("Name").fill("Old Tam");
    await page.getByLabel("Their first message").fill("The pass is closed.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("combobox", { name: "Model" }).selectOption("mock/m");
    await page.getByRole("button", { name: "Begin" }).click();
    await page.getByText("The pass is closed.").waitFor();
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("button", { name: "Rename this story" }).click();
    await page.getByLabel("Title").fill("Over the pass");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Over the pass" }).waitFor();
    await page.getByRole("link", { name: "Stories" }).click();
    await page.getByRole("button", { name: "Manage “Over the pass”" }).click();
    await page.getByRole("button", { name: "Delete this story" }).last().click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete this story" }).click();
    await page.getByRole("link", { name: /Over the pass/ }).waitFor({ state: "detached" });
    await close();
  });

  test("a story that is not there says so", async () => {
    const { page, close } = await reader(browser, { expected: REFUSED });
    await page.goto(`${clotho.base}/s/00000000-0000-4000-8000-000000000000`);
    await page.getByText("There is no such story here.").waitFor();
    await page.locator(".blank").getByRole("button", { name: "Stories" }).click();
    await page.getByRole("heading", { name: /Begin something new|Or begin with a character/ }).waitFor();
    await close();
  });
});

describe("for everybody", () => {
  const axe = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

  /** @param {import("playwright-core").Page} page */
  async function check(page, where) {
    await page.evaluate(await axe);
    const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run());
    assert.deepEqual(violations.map((v) => `${where}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`), []);
  }

  for (const colorScheme of ["light", "dark"]) {
    test(`axe finds nothing, ${colorScheme}`, async () => {
      const { page, close } = await reader(browser, { colorScheme });
      await page.goto(clotho.base);
      await page.getByRole("button", { name: /New character/ }).waitFor();
      await check(page, "library");
      await bleed(page);
      await check(page, "story");
      await use(last(page), "Why?");
      await page.locator(".why-view table").first().waitFor();
      await check(page, "why");
      await page.keyboard.press("Escape");
      await use(last(page), "Edit");
      await check(page, "edit");
      await page.keyboard.press("Escape");
      await page.locator(".edit").waitFor({ state: "detached" });
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("lamp");
      await page.getByRole("dialog").getByRole("status").waitFor();
      await check(page, "search");
      await page.getByRole("combobox").fill(">");
      await page.getByRole("option").first().waitFor();
      await check(page, "commands");
      await close();
    });
  }
});
