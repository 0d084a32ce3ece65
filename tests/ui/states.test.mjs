// The page against the real server: in which state a message is, told in words and by more than a colour.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { reader, test, until } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import {
  REFUSED,
  browser,
  chat,
  check,
  clotho,
  grown,
  last,
  messageOf,
  model,
  newStory,
  open,
  openGrown,
  own,
  replyIsThere,
  say,
  session,
  texts,
  use,
} from "./support/stage.mjs";

/** Whether a message has these words, beside a sign where there is one. */
async function isCalled(message, words, { sign = "" } = {}) {
  const place = message.getByText(words).first();
  await place.waitFor();
  if (sign) await message.locator(`${sign} svg`).first().waitFor();
}

describe("the states of a reply", () => {
  test("S4-11: waiting, writing, stopped, broken off", async () => {
    const path = await newStory();
    const { page, close } = await open(path);
    const article = last(page).locator("article");
    const held = model.hold(["Far away ", "there is a light."]);
    await say(page, "What is there?");
    await isCalled(last(page), "Waiting for the model");
    assert.equal(await article.getAttribute("aria-busy"), "true");
    await check(page, "a reply that is waited for");
    held.next();
    await last(page).locator(".live", { hasText: "Far away" }).waitFor();
    assert.equal(await article.getAttribute("aria-busy"), "true");
    await page.getByRole("button", { name: "Stop generating" }).click();
    await isCalled(last(page), "Stopped before the end.");
    assert.equal(await article.getAttribute("aria-busy"), "false");
    await check(page, "a reply that was stopped");
    model.say(["It goes ", null]);
    await say(page, "And then?");
    await isCalled(last(page), "The reply broke off.", { sign: ".failure" });
    await last(page).getByRole("group", { name: "The reply failed." }).waitFor();
    await last(page).getByText("It goes").waitFor();
    await check(page, "a reply that broke off");
    await close();
  });

  test("S3-18: thoughts and commands in the text are not to be read while they come", async () => {
    const { page, close } = await open(await newStory());
    const shown = async () => (await last(page).locator(".prose").innerText()).trim();
    const held = model.hold([
      "<thi",
      "nk>A plan.",
      "</think>\n\nShe no",
      "ds. <Upd",
      "ateVariable>\n_.set('hp', 1, 2);",
      "\n</UpdateVariable>",
      " Done.",
    ]);
    await say(page, "And?");
    held.next(2);
    await isCalled(last(page), "Thinking");
    assert.equal(await shown(), "");
    held.next();
    await last(page).locator(".live", { hasText: "She no" }).waitFor();
    held.next();
    await last(page).locator(".live", { hasText: "She nods." }).waitFor();
    held.next();
    await page.reload();
    await last(page).locator(".live", { hasText: "She nods." }).waitFor();
    assert.equal(await shown(), "She nods.");
    held.open();
    await last(page).locator(".prose", { hasText: "Done." }).waitFor();
    await replyIsThere(page);
    assert.equal((await shown()).replace(/\s+/g, " "), "She nods. Done.");
    await close();
  });

  test("S4-11: in the line, interrupted", async () => {
    const server = await startClotho(`
[limits]
generations_per_user = 1

[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["m"]
`);
    own.push(server);
    const character = await server.api("POST", "/api/characters", {
      name: "Rin",
      description: "A cartographer.",
      firstMessage: "The map is not finished.",
    });
    const paths = [];
    for (let i = 0; i < 2; i += 1) {
      const { id } = await server.api("POST", "/api/sessions", {
        characterIds: [character.id],
        model: "mock/m",
        plugins: [],
      });
      paths.push(`/s/${id}`);
    }
    const { page, close } = await reader(browser, { expected: /WebSocket|Failed to load resource/ });
    const other = await page.context().newPage();
    await page.goto(server.base + paths[0]);
    await other.goto(server.base + paths[1]);
    const held = model.hold(["Far off, the first ", "of two."]);
    await say(page, "One?");
    held.next();
    await last(page).locator(".live", { hasText: "Far off, the first" }).waitFor();
    await say(other, "Two?");
    await isCalled(last(other), "In the queue, place 1");
    await until(() => server.hasOnDisk("Far off, the first "), "what has come is being written");
    // Writes are made one after the other: when this one is done, that one is whole on disk.
    await server.api("PATCH", `/api/characters/${character.id}`, { description: "A mapmaker." });
    await server.stop("SIGKILL");
    await page.getByText("Connection lost.").waitFor();
    await server.start();
    for (const tab of [page, other])
      await isCalled(last(tab), "Clotho was stopped during this reply.", { sign: ".failure" });
    await last(page).getByText("Far off, the first").waitFor();
    await close();
  });

  test("S4-11 domain 5.2: finished where nobody looked", async () => {
    const { path, ids, page, close } = await openGrown();
    const held = model.hold(["A ship."]);
    await say(page, "What comes?");
    await until(async () => model.requests.length > 0, "it is being written");
    await messageOf(page, ids[3]).locator("article").focus();
    await page.keyboard.press("b");
    await until(async () => (await session(path)).activeLeafId === ids[3], "the reader has gone back");
    held.open();
    await page.locator(".unread").getByText("A reply was finished on another branch.").waitFor();
    await page.locator(".unread svg").first().waitFor();
    await close();
  });
});

describe("the states of a message", () => {
  const state = (path, id, change) => clotho.api("PUT", `${chat(path)}/node/${id}/state`, change);

  test("S4-11 S4-48: left out, not counted, edited, with stars, one of several: in words, with a sign, in both languages", async () => {
    const { path, ids } = await grown();
    const { node: edited } = await clotho.api("POST", `${chat(path)}/node/${ids[3]}/edit`, {
      content: "Masts at dawn.",
      carry: true,
    });
    await state(path, ids[0], { isEnabled: false });
    await state(path, ids[1], { effects: "muted" });
    await state(path, edited.id, { rating: 4 });
    const looks = {
      "en-GB": [
        "Excluded from the prompt.",
        "Its state changes are ignored.",
        "Edited",
        "4 of 5 stars",
        "Swipe 2 of 2",
      ],
      "zh-CN": ["已从提示词中排除。", "它的状态变化已忽略。", "已编辑", "4 颗星", "备选回复 2"],
    };
    for (const [locale, [leftOut, muted, anew, stars, version]] of Object.entries(looks)) {
      const { page, close } = await open(path, { locale });
      const message = (id) => messageOf(page, id);
      await isCalled(message(ids[0]), leftOut, { sign: ".left-out" });
      await isCalled(message(ids[1]), muted, { sign: ".left-out" });
      await isCalled(message(edited.id), anew, { sign: ".edited" });
      assert.match(await message(edited.id).getByRole("img").first().getAttribute("aria-label"), new RegExp(stars));
      assert.match(await message(edited.id).locator(".siblings").getAttribute("aria-label"), new RegExp(version));
      await check(page, `marked messages in ${locale}`);
      await close();
    }
  });
});

describe("letters", () => {
  test("Chinese and English everywhere: on the Chinese page the apostrophes of an English text are narrow, and those of a Chinese one are wide", async () => {
    const { ids, page, close } = await openGrown({ locale: "zh-CN" }, "It’s the captain’s.");
    const width = (id) =>
      messageOf(page, id)
        .locator(".prose")
        .evaluate((prose) => getComputedStyle(prose).fontVariantEastAsian);
    assert.equal(await width(ids[3]), "proportional-width");
    model.say(["他说：‘等潮水。’"]);
    await page.getByRole("textbox").last().fill("等多久？");
    await page.keyboard.press("Enter");
    await until(async () => (await texts(page)).at(-1)?.startsWith("他说") ?? false, "the reply came");
    // What is still being written is drawn anew when it is complete.
    await replyIsThere(page);
    const chinese = await last(page).locator("article").getAttribute("data-node");
    assert.equal(await width(chinese), "normal");
    await close();
  });
});
