// Tests in Chromium against the real server: branches in the chat, and the library.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  browser,
  chatPath,
  checkAccessibility,
  clotho,
  composer,
  focusedMessageId,
  seedBranch,
  lastMessage,
  messageButton,
  messageById,
  readBranch,
  model,
  createSession,
  extraServers,
  waitForReply,
  sendMessage,
  readSession,
  messageTexts,
  clickMessageButton,
} from "./support/setup.mjs";
import { startClotho } from "./support/server.mjs";

describe("the tree", () => {
  /** Opens two tabs of one user that show the same session. @param {string} path */
  async function twoTabs(path) {
    const { page, close } = await openPage(browser);
    const other = await page.context().newPage();
    other.setDefaultTimeout(20_000);
    for (const tab of [page, other]) await tab.goto(clotho.base + path);
    for (const tab of [page, other])
      await waitUntil(async () => (await messageTexts(tab)).length === 5, "both tabs show the story");
    return { page, other, close };
  }

  test("S1-15 S1-14: a deep link shows the branch of its node and does not move HEAD", async () => {
    const { page, close } = await openPage(browser);
    const { path, ids } = await seedBranch();
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: ids[1], exact: true });
    await page.goto(`${clotho.base}${path}/${ids[2]}`);
    await page.getByText("You are viewing another branch.").waitFor();
    assert.deepEqual((await messageTexts(page)).slice(1), ["To the north.", "Snow.", "To the harbour."]);
    assert.equal((await readSession(path)).activeLeafId, ids[1]);
    await page.getByRole("button", { name: "Back to the story" }).click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "the story is shown");
    await page.goto(`${clotho.base}${path}/${ids[0]}`);
    await waitUntil(async () => (await focusedMessageId(page)) === ids[0], "the linked message has the focus");
    await page.goto(`${clotho.base}${path}/${ids[3]}`);
    await page.getByRole("button", { name: "Switch to this branch" }).click();
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[3], "HEAD has moved");
    await close();
  });

  test("S1-02: versions that nothing follows are dimmed beside the one that was continued", async () => {
    const { page, close } = await openPage(browser);
    const { path, ids } = await seedBranch();
    const tried = await clotho.api("POST", `${chatPath(path)}/node/${ids[1]}/edit`, { content: "Ice." });
    await page.goto(clotho.base + path);
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Ice.", "HEAD stands on the new version");
    const dots = lastMessage(page).locator(".versions i");
    await waitUntil(async () => (await dots.count()) === 2, "a dot for each version");
    const looks = async () => (await dots.evaluateAll((all) => all.map((dot) => dot.className.trim()))).join(", ");
    await waitUntil(
      async () => (await looks()) === "confirmed, candidate here",
      "one is confirmed, the other a candidate",
    );
    const shade = (n) => dots.nth(n).evaluate((dot) => getComputedStyle(dot).backgroundColor);
    assert.notEqual(await shade(0), await shade(1));
    await lastMessage(page).getByRole("group", { name: "Swipe 2 of 2, nothing after it" }).waitFor();
    model.queueReply(["It cracks."]);
    await sendMessage(page, "I walk on it.");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "It cracks.", "the story went on");
    const here = page.locator(`.message:has([data-node="${tried.node.id}"]) .versions i`);
    await waitUntil(
      async () => (await here.last().getAttribute("class"))?.trim() === "confirmed here",
      "now it is confirmed as well",
    );
    await close();
  });

  test("S4-48 S4-21: a message disabled in one tab is dimmed in the other, with words and an icon, and no model reads it", async () => {
    const { path, ids } = await seedBranch();
    const { page, other, close } = await twoTabs(path);
    const snow = (tab) => tab.locator(`.message:has([data-node="${ids[1]}"])`);
    const colour = () =>
      snow(other)
        .locator(".prose")
        .evaluate((prose) => getComputedStyle(prose).color);
    const before = await colour();
    await clickMessageButton(snow(page), "Exclude from prompt");
    await other.locator(`.message.disabled:has([data-node="${ids[1]}"])`).waitFor();
    assert.notEqual(await colour(), before);
    await snow(other).getByText("Excluded from the prompt.").waitFor();
    await snow(other).locator(".left-out svg").waitFor();
    model.queueReply(["Far."]);
    await sendMessage(other, "How far?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Far.", "the reply came");
    assert.doesNotMatch(JSON.stringify(model.requests.at(-1).messages), /Snow\./);
    assert.match(JSON.stringify(model.requests.at(-1).messages), /To the north\./);
    await clickMessageButton(snow(other), "Include in prompt");
    for (const tab of [page, other])
      await tab.locator(`.message:not(.disabled):has([data-node="${ids[1]}"])`).waitFor();
    assert.equal(await colour(), before);
    await close();
  });

  test("S0-51 S1-30: a second tab follows HEAD, a new message and a reply", async () => {
    const { path, ids } = await seedBranch();
    const { page, other, close } = await twoTabs(path);
    await clickMessageButton(page.locator(".message").nth(2), "Rewind to here");
    await waitUntil(async () => (await messageTexts(other)).at(-1) === "Snow.", "the second tab went back too");
    const held = model.queueHeldReply(["Seen ", "by both."]);
    await sendMessage(page, "And then?");
    held.next();
    await lastMessage(other).locator(".live", { hasText: "Seen" }).waitFor();
    held.open();
    await waitForReply(other);
    await waitForReply(page);
    assert.deepEqual(await messageTexts(other), await messageTexts(page));
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: ids[3] });
    await waitUntil(
      async () => (await messageTexts(other)).at(-1)?.startsWith("Masts") ?? false,
      "a move by the API is followed",
    );
    await close();
  });

  test("search finds a message on another branch, marks it, opens its branch there, and continues from it or returns", async () => {
    const { page, close } = await openPage(browser);
    const { path, ids } = await seedBranch("Masts, heliotrope in the dusk.");
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: ids[1], exact: true });
    await waitUntil(
      async () => (await clotho.api("GET", "/api/search?q=heliotrope")).items.some((hit) => hit.nodeId === ids[3]),
      "the index has it",
    );
    const found = async () => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search all stories" }).fill("heliotrope");
      const hit = page.getByRole("option").filter({ hasText: "another branch" }).first();
      await hit.waitFor();
      assert.equal(await hit.locator("mark").first().innerText(), "heliotrope");
      await hit.click();
      await waitUntil(async () => (await focusedMessageId(page)) === ids[3], "the found message has the focus");
      assert.equal((await messageTexts(page)).at(-1), "Masts, heliotrope in the dusk.");
      assert.equal((await readSession(path)).activeLeafId, ids[1], "the story itself has not moved");
    };
    await page.goto(clotho.base);
    await found();
    await page.getByRole("button", { name: "Back to the story" }).click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "the story is shown");
    await found();
    await page.getByRole("button", { name: "Switch to this branch" }).click();
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[3], "the story stands there now");
    model.queueReply(["A lamp."]);
    await sendMessage(page, "What else?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "A lamp.", "and goes on");
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: ids[1], exact: true });
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "the story is elsewhere");
    await found();
    await page.getByRole("button", { name: "Switch to this branch" }).click();
    await page.getByRole("button", { name: "Back to the old branch" }).click();
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[1], "one press leads back");
    await close();
  });

  test("a hit on the current branch is only scrolled into view", async () => {
    const { page, close } = await openPage(browser);
    const { path, ids } = await seedBranch("Masts, jacaranda in the dusk.");
    await waitUntil(
      async () => (await clotho.api("GET", "/api/search?q=jacaranda")).items.some((hit) => hit.nodeId === ids[3]),
      "the index has it",
    );
    await page.goto(clotho.base + path);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("jacaranda");
    await page.getByRole("option").first().click();
    await waitUntil(async () => (await focusedMessageId(page)) === ids[3], "the found message has the focus");
    assert.equal(await page.getByText("You are viewing another branch.").count(), 0);
    await composer(page).waitFor();
    await close();
  });

  test("S1-20 S2-10 S2-11: an edit further up is a sibling; HEAD moves there, and the reply starts", async () => {
    const { page, close } = await openPage(browser);
    const { path, ids } = await seedBranch();
    await page.goto(clotho.base + path);
    model.queueReply(["Sand."]);
    await clickMessageButton(page.locator(".message").nth(1), "Edit");
    await page.getByRole("textbox", { name: "Edit" }).fill("To the south.");
    await page.getByRole("button", { name: "Save and generate a reply" }).click();
    await lastMessage(page).getByText("Sand.", { exact: true }).waitFor();
    await waitForReply(page);
    assert.deepEqual((await messageTexts(page)).slice(1), ["To the south.", "Sand."]);
    await page.locator(".message").nth(1).getByText("2/2").waitFor();
    await page.locator(".message").nth(1).locator("article").focus();
    await page.keyboard.press("Alt+ArrowLeft");
    await waitUntil(async () => (await messageTexts(page)).length === 5, "the old timeline is whole");
    assert.equal((await readSession(path)).activeLeafId, ids[3]);
    await close();
  });

  test("S2-10: an edit that keeps what follows moves it below the new text", async () => {
    const { page, close } = await openPage(browser);
    const { path, ids } = await seedBranch();
    await page.goto(clotho.base + path);
    await clickMessageButton(page.locator(".message").nth(2), "Edit");
    await page.getByRole("textbox", { name: "Edit" }).fill("Deep snow.");
    await page.getByRole("checkbox", { name: /Keep what follows/ }).check();
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await waitUntil(async () => (await messageTexts(page))[2] === "Deep snow.", "the new text stands there");
    assert.equal((await messageTexts(page)).length, 5);
    assert.equal((await readSession(path)).activeLeafId, ids[3]);
    await close();
  });

  test("S2-13: keys and swipes go to siblings", async () => {
    const { page, close } = await openPage(browser, {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    const { path } = await seedBranch();
    const items = await readBranch(path);
    await clotho.api("POST", `${chatPath(path)}/node/${items.at(-1).id}/edit`, { content: "No masts." });
    await page.goto(clotho.base + path);
    await lastMessage(page).getByText("2/2").waitFor();
    const swipe = (dx) =>
      lastMessage(page)
        .locator("article")
        .evaluate((article, by) => {
          const touch = (x) => new Touch({ identifier: 1, target: article, clientX: x, clientY: 300 });
          article.dispatchEvent(new TouchEvent("touchstart", { bubbles: true, changedTouches: [touch(200)] }));
          article.dispatchEvent(new TouchEvent("touchend", { bubbles: true, changedTouches: [touch(200 + by)] }));
        }, dx);
    await swipe(120);
    await lastMessage(page).getByText("1/2").waitFor();
    await swipe(-120);
    await lastMessage(page).getByText("2/2").waitFor();
    await lastMessage(page).locator("article").focus();
    await page.keyboard.press("Alt+ArrowLeft");
    await lastMessage(page).getByText("1/2").waitFor();
    await page.getByRole("navigation").getByRole("button", { name: "State" }).click();
    await page.getByRole("heading", { name: "State" }).waitFor();
    await composer(page).waitFor({ state: "hidden" });
    await close();
  });

  test("after the last swipe of the last reply, the button, the key and the finger ask for a new one", async () => {
    const { page, close } = await openPage(browser, { viewport: { width: 390, height: 844 }, hasTouch: true });
    const path = await createSession();
    await page.goto(clotho.base + path);
    model.queueReply(["The first."]);
    await composer(page).fill("Well?");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const swipe = (selector, fingers = 1) =>
      lastMessage(page)
        .locator(selector)
        .evaluate((target, fingers) => {
          const touch = (x, identifier = 1) => new Touch({ identifier, target, clientX: x, clientY: 300 });
          const send = (type, changed, touches) =>
            target.dispatchEvent(new TouchEvent(type, { bubbles: true, changedTouches: [changed], touches }));
          send("touchstart", touch(250), [touch(250)]);
          if (fingers === 2) send("touchstart", touch(300, 2), [touch(250), touch(300, 2)]);
          if (fingers === 2) send("touchend", touch(290, 2), [touch(100)]);
          send("touchend", touch(100), []);
        }, fingers);
    const complete = (text) => page.locator(".message.last.assistant.complete").filter({ hasText: text });
    const shown = (text, place) => complete(text).getByText(place).waitFor();
    await complete("The first.").waitFor();
    model.queueReply(["```\n" + "A wide line. ".repeat(40) + "\n```"]);
    await swipe("article");
    await shown("A wide line.", "2/2");
    // A finger that scrolls a wide block, or zooms, asks for nothing.
    await swipe("pre");
    await swipe("article", 2);
    model.queueReply(["The third."]);
    await messageButton(lastMessage(page), "New swipe").click();
    await shown("The third.", "3/3");
    model.queueReply(["The fourth."]);
    await lastMessage(page).locator("article").focus();
    await page.keyboard.press("Alt+ArrowRight");
    await shown("The fourth.", "4/4");
    await page.keyboard.press("Alt+ArrowLeft");
    await shown("The third.", "3/4");
    await lastMessage(page).locator("article").focus();
    await page.keyboard.press("Alt+ArrowRight");
    await shown("The fourth.", "4/4");
    assert.equal(model.requests.length, 4, "a swipe that is there is not asked for again");
    for (const one of (await readBranch(path)).filter(({ kind, role }) => kind === "greeting" || role === "user")) {
      await messageById(page, one.id).locator("article").focus();
      await page.keyboard.press("Alt+ArrowRight");
    }
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    assert.equal(model.requests.length, 4, "messages of the user and earlier ones are left alone");
    await close();
  });

  test("S4-44: a message sent after HEAD moved elsewhere is not lost: the branch is read again, and the draft stays", async () => {
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    const { path, ids } = await seedBranch();
    await page.goto(clotho.base + path);
    await waitUntil(async () => (await messageTexts(page)).length === 5, "the story is shown");
    // The page learns of the move only after its own request was refused.
    await page.routeWebSocket(/./, () => {});
    await page.reload();
    await waitUntil(async () => (await messageTexts(page)).length === 5, "the story is shown");
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: ids[1], exact: true });
    await composer(page).fill("Too late?");
    await composer(page).press("Enter");
    await page.getByText("The story has moved on elsewhere.").waitFor();
    assert.equal(await composer(page).inputValue(), "Too late?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "the line is the new one");
    await close();
  });

  test("S1-23: a long session has a window of messages in the page, and its beginning can be reached", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    let parentId = (await readSession(path)).activeLeafId;
    for (let i = 0; i < 260; i += 1) {
      const role = i % 2 ? "assistant" : "user";
      parentId = (
        await clotho.api("POST", `${chatPath(path)}/message`, {
          parentId,
          role,
          content: `Line ${i}, and a little more.`,
        })
      ).node.id;
    }
    await page.goto(clotho.base + path);
    await page.getByText("Line 259,").waitFor();
    const scroller = page.locator(".scroller");
    await waitUntil(async () => {
      await scroller.evaluate((box) => (box.scrollTop = 0));
      assert.ok((await page.locator(".message").count()) <= 80);
      return page.getByText("The map is not finished.").isVisible();
    }, "the beginning is reached");
    await page.getByRole("button", { name: "Jump to the newest message" }).click();
    await page.getByText("Line 259,").waitFor();
    const early = (await clotho.api("GET", `${chatPath(path)}/projection?limit=500`)).items[20];
    await page.goto(`${clotho.base}${path}/${early.id}`);
    await waitUntil(async () => (await focusedMessageId(page)) === early.id, "a link far up the line leads there");
    assert.equal(await page.getByText("You are viewing another branch.").count(), 0, "it is no other timeline");
    await page.getByRole("button", { name: "Jump to the newest message" }).click();
    await page.getByText("Line 259,").waitFor();
    assert.ok(await scroller.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 50));
    await close();
  });
});

describe("the library", () => {
  test("a session begins with the default model of the server, not with the first one of the list", async () => {
    const server = await startClotho(`
[generation]
model = "mock/m"

[models]
aside = "mock/other"

[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["other", "m"]
`);
    extraServers.push(server);
    await server.api("POST", "/api/characters", { name: "Old Tam", firstMessage: "The pass is closed." });
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    await page
      .getByRole("button", { name: /Old Tam/ })
      .first()
      .click();
    const models = page.getByRole("combobox", { name: "Model" });
    await models.waitFor();
    assert.ok((await models.locator("option").allInnerTexts()).indexOf("mock/m") > 0, "others stand before it");
    assert.equal(await models.inputValue(), "mock/m");
    await close();
  });

  test("a character is created, and a session with it is started with a model, renamed and deleted", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.getByRole("button", { name: /New character/ }).click();
    await page.getByLabel("Name").fill("Old Tam");
    await page.getByLabel("First message").fill("The pass is closed.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("combobox", { name: "Model" }).selectOption("mock/m");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("The pass is closed.").waitFor();
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("button", { name: "Rename story" }).click();
    await page.getByLabel("Title").fill("Over the pass");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Over the pass" }).waitFor();
    await page.getByRole("link", { name: "Stories" }).click();
    await page.getByRole("button", { name: "Manage “Over the pass”" }).click();
    await page.getByRole("button", { name: "Delete story" }).last().click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete story" }).click();
    await page.getByRole("link", { name: /Over the pass/ }).waitFor({ state: "detached" });
    await close();
  });

  test("sessions with the same name differ by their newest text, their dates and their size", async () => {
    const { page, close } = await openPage(browser);
    const titled = { title: "Three of a name" };
    for (const tries of [["To the east."], ["To the west."], ["Somewhere?", "**Nowhere** at all."]]) {
      const path = await createSession(titled);
      const parentId = (await readSession(path)).activeLeafId;
      for (const content of tries) await clotho.api("POST", `${chatPath(path)}/message`, { parentId, content });
    }
    await page.route("**/api/sessions", async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      // Missing fields of the server are left out.
      delete body.items[1].counts;
      await route.fulfill({ response, json: body });
    });
    await page.goto(clotho.base);
    const rows = page.locator(".session", { hasText: "Three of a name" });
    await waitUntil(async () => (await rows.count()) === 3, "they are there");
    assert.deepEqual(await rows.locator(".preview").allInnerTexts(), [
      "Nowhere at all.",
      "To the west.",
      "To the east.",
    ]);
    assert.match(await rows.first().innerText(), /Rin · 1 turn · 2 branches · started .+ · this minute/);
    assert.match(await rows.nth(1).innerText(), /Rin · started .+ · this minute/);
    assert.match(await rows.nth(2).innerText(), /Rin · 1 turn · started .+ · this minute/);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close();
  });

  test("a session that does not exist says so, and nothing else waits for it", async () => {
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    for (const address of ["00000000-0000-4000-8000-000000000000", "nonsense"]) {
      await page.goto(`${clotho.base}/s/${address}`);
      await page.getByText("This story does not exist.").waitFor();
      assert.equal(await page.locator(".waiting, .world").count(), 0, "nothing is still loading");
      await page.locator(".blank").getByRole("button", { name: "Stories" }).click();
      await page.getByRole("heading", { name: /New story|Characters/ }).waitFor();
    }
    await close();
  });
});
