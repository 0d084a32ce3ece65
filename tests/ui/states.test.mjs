// Tests against the real server: the states of messages, shown in words and not by colour alone.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import {
  LOAD_ERROR,
  browser,
  chatPath,
  checkAccessibility,
  clotho,
  seedBranch,
  lastMessage,
  messageById,
  model,
  createSession,
  openSession,
  openSeededBranch,
  extraServers,
  waitForReply,
  sendMessage,
  readSession,
  messageTexts,
  clickMessageButton,
} from "./support/setup.mjs";

/** Returns whether a message has these words, with an icon if it has one. */
async function hasStateWords(message, words, { sign = "" } = {}) {
  const place = message.getByText(words).first();
  await place.waitFor();
  if (sign) await message.locator(`${sign} svg`).first().waitFor();
}

describe("the states of a reply", () => {
  test("S4-11: waiting, writing, stopped and failed replies", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    const article = lastMessage(page).locator("article");
    const held = model.queueHeldReply(["Far away ", "there is a light."]);
    await sendMessage(page, "What is there?");
    await hasStateWords(lastMessage(page), "Waiting for the model");
    assert.equal(await article.getAttribute("aria-busy"), "true");
    await checkAccessibility(page, "a reply that is waited for");
    held.next();
    await lastMessage(page).locator(".live", { hasText: "Far away" }).waitFor();
    assert.equal(await article.getAttribute("aria-busy"), "true");
    await page.getByRole("button", { name: "Stop generating" }).click();
    await hasStateWords(lastMessage(page), "Stopped before the end.");
    assert.equal(await article.getAttribute("aria-busy"), "false");
    await checkAccessibility(page, "a reply that was stopped");
    model.queueReply(["It goes ", null]);
    await sendMessage(page, "And then?");
    await hasStateWords(lastMessage(page), "The reply broke off.", { sign: ".failure" });
    await lastMessage(page).getByRole("group", { name: "The reply failed." }).waitFor();
    await lastMessage(page).getByText("It goes").waitFor();
    await checkAccessibility(page, "a reply that broke off");
    await close();
  });

  test("a reply that ended early says why", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    for (const [finish, words] of [
      ["content_filter", "The model server held back the rest."],
      ["aborted", "The model server stopped this reply before its end."],
      ["repetition", "gave as the reason: repetition."],
    ]) {
      model.queueReply(["Far away", { finish }]);
      await sendMessage(page, "What is there?");
      await hasStateWords(lastMessage(page), words);
    }
    model.refuse(402, "Top up.");
    await sendMessage(page, "And then?");
    await hasStateWords(lastMessage(page), "Your account at the model server has no credit left.", {
      sign: ".failure",
    });
    model.recover();
    await close();
  });

  test("S3-18: thoughts and commands in the text are not readable while they arrive", async () => {
    const { page, close } = await openSession(await createSession());
    const shown = async () => (await lastMessage(page).locator(".prose").innerText()).trim();
    const held = model.queueHeldReply([
      "<thi",
      "nk>A plan.",
      "</think>\n\nShe no",
      "ds. <Upd",
      "ateVariable>\n_.set('hp', 1, 2);",
      "\n</UpdateVariable>",
      " Done.",
    ]);
    await sendMessage(page, "And?");
    held.next(2);
    await hasStateWords(lastMessage(page), "Thinking");
    assert.equal(await shown(), "");
    held.next();
    await lastMessage(page).locator(".live", { hasText: "She no" }).waitFor();
    held.next();
    await lastMessage(page).locator(".live", { hasText: "She nods." }).waitFor();
    held.next();
    await page.reload();
    await lastMessage(page).locator(".live", { hasText: "She nods." }).waitFor();
    assert.equal(await shown(), "She nods.");
    held.open();
    await lastMessage(page).locator(".prose", { hasText: "Done." }).waitFor();
    await waitForReply(page);
    assert.equal((await shown()).replace(/\s+/g, " "), "She nods. Done.");
    await close();
  });

  test("S4-11: queued and interrupted replies", async () => {
    const server = await startClotho(`
[limits]
generations_per_user = 1

[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["m"]
`);
    extraServers.push(server);
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
    const { page, close } = await openPage(browser, { expected: /WebSocket|Failed to load resource/ });
    const other = await page.context().newPage();
    await page.goto(server.base + paths[0]);
    await other.goto(server.base + paths[1]);
    const held = model.queueHeldReply(["Far off, the first ", "of two."]);
    await sendMessage(page, "One?");
    held.next();
    await lastMessage(page).locator(".live", { hasText: "Far off, the first" }).waitFor();
    await sendMessage(other, "Two?");
    await hasStateWords(lastMessage(other), "In the queue, place 1");
    await waitUntil(() => server.hasOnDisk("Far off, the first "), "what has come is being written");
    // Writes are sequential: when this one is done, the other is on disk.
    await server.api("PATCH", `/api/characters/${character.id}`, { description: "A mapmaker." });
    await server.stop("SIGKILL");
    await page.getByText("Connection lost.").waitFor();
    await server.start();
    for (const tab of [page, other])
      await hasStateWords(lastMessage(tab), "Clotho was stopped during this reply.", { sign: ".failure" });
    await lastMessage(page).getByText("Far off, the first").waitFor();
    await close();
  });

  test("S4-11 domain 5.2: a reply finished on another branch", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    const held = model.queueHeldReply(["A ship."]);
    await sendMessage(page, "What comes?");
    await waitUntil(async () => model.requests.length > 0, "it is being written");
    await messageById(page, ids[3]).locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[3], "the reader has gone back");
    held.open();
    await page.locator(".unread").getByText("A reply was finished on another branch.").waitFor();
    await page.locator(".unread svg").first().waitFor();
    await close();
  });
});

describe("the states of a message", () => {
  const state = (path, id, change) => clotho.api("PUT", `${chatPath(path)}/node/${id}/state`, change);

  test("S4-11 S4-48: disabled, muted, edited, rated messages and versions are marked with words and an icon, in both languages", async () => {
    const { path, ids } = await seedBranch();
    const { node: edited } = await clotho.api("POST", `${chatPath(path)}/node/${ids[3]}/edit`, {
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
      const { page, close } = await openSession(path, { locale });
      const message = (id) => messageById(page, id);
      await hasStateWords(message(ids[0]), leftOut, { sign: ".left-out" });
      await hasStateWords(message(ids[1]), muted, { sign: ".left-out" });
      await hasStateWords(message(edited.id), anew, { sign: ".edited" });
      assert.match(await message(edited.id).getByRole("img").first().getAttribute("aria-label"), new RegExp(stars));
      assert.match(await message(edited.id).locator(".siblings").getAttribute("aria-label"), new RegExp(version));
      await checkAccessibility(page, `marked messages in ${locale}`);
      await close();
    }
  });
});

describe("typography", () => {
  test("on the Chinese page, apostrophes are narrow in English texts and wide in Chinese ones", async () => {
    const { ids, page, close } = await openSeededBranch({ locale: "zh-CN" }, "It’s the captain’s.");
    const width = (id) =>
      messageById(page, id)
        .locator(".prose")
        .evaluate((prose) => getComputedStyle(prose).fontVariantEastAsian);
    assert.equal(await width(ids[3]), "proportional-width");
    model.queueReply(["他说：‘等潮水。’"]);
    await page.getByRole("textbox").last().fill("等多久？");
    await page.keyboard.press("Enter");
    await waitUntil(async () => (await messageTexts(page)).at(-1)?.startsWith("他说") ?? false, "the reply came");
    // A growing text is rendered again when it is complete.
    await waitForReply(page);
    const chinese = await lastMessage(page).locator("article").getAttribute("data-node");
    assert.equal(await width(chinese), "normal");
    await close();
  });
});
