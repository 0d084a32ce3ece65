// Tests against the real server: the whole tree of a session, shown, walked by keys and read by screen readers.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  cursorText,
  seedFork,
  waitForCursor,
  openTree,
  positionOf,
  addMessage,
  waitUntilStill,
  treeElement,
} from "./support/tree-page.mjs";
import {
  LOAD_ERROR,
  browser,
  chatPath,
  checkAccessibility,
  clotho,
  composer,
  lastMessage,
  messageById,
  model,
  createSession,
  openSession,
  readSession,
  messageTexts,
} from "./support/setup.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const waitForOpenMessage = (page, text) => page.locator(".tree-message").getByText(text, { exact: true }).waitFor();
const fold = (page) => page.getByRole("button", { name: "Fold other branches" });

describe("the tree of a session", () => {
  test("S4-36 S4-13: the tree opens from the header and by a key, folded to the current branch; folded parts show their size", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.getByRole("button", { name: /^Story tree/ }).click();
    await treeElement(page).waitFor();
    assert.ok(
      asked.some((url) => /\/overview\w*\.js$/.test(url)),
      "what draws it comes with the first use",
    );
    assert.ok(page.url().endsWith(`${path}/tree`));
    await page.getByText("7 messages · 2 folded").waitFor();
    assert.equal(await positionOf(page, side[0]), null);
    await waitForCursor(page, "Masts in the dusk., current message");
    await checkAccessibility(page, "the tree");
    const badge = await waitUntilStill(page, ids[1], true);
    await page.mouse.click(badge.x, badge.y);
    await waitUntilStill(page, side[1]);
    const [here, there] = [await positionOf(page, ids[2]), await positionOf(page, side[0])];
    assert.ok(there.x > here.x && there.y === here.y, "beside each other, the line of the story straight");
    assert.equal((await positionOf(page, ids[3])).x, here.x);
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => url.pathname === path);
    await openTree(page);
    await page.keyboard.press("Control+b");
    await page.waitForURL((url) => url.pathname === path);
    await close();
  });

  test("a click shows a message beside the tree and does not move HEAD; a double click moves HEAD", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await fold(page).click();
    const there = await waitUntilStill(page, side[1]);
    await page.mouse.click(there.x, there.y);
    await waitForOpenMessage(page, "A path through thorns.");
    assert.equal((await readSession(path)).activeLeafId, ids[3]);
    await checkAccessibility(page, "a message that is read");
    const now = await waitUntilStill(page, side[1]);
    await page.mouse.dblclick(now.x, now.y);
    await page.waitForURL((url) => url.pathname === path);
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "A path through thorns.", "the story is there");
    assert.equal((await readSession(path)).activeLeafId, side[1]);
    await openTree(page);
    const first = await waitUntilStill(page, ids[0]);
    await page.mouse.click(first.x, first.y);
    await waitForOpenMessage(page, "To the north.");
    await page.getByRole("button", { name: "Go to message" }).click();
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[0], "and by its button");
    await close();
  });

  test("S4-05: keys walk along the branch and between versions, fold, read, open the menu, and lead back", async () => {
    const { path, ids } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await waitUntil(
      () => treeElement(page).evaluate((box) => box === document.activeElement),
      "the tree has the keyboard",
    );
    await page.keyboard.press("Home");
    await waitForCursor(page, "Beginning");
    for (const words of [
      "The map is not finished.",
      "You: To the north.",
      "Snow., current branch, 2 messages folded",
    ]) {
      await page.keyboard.press("ArrowDown");
      await waitForCursor(page, words);
    }
    const item = treeElement(page).getByRole("treeitem", { name: /^Snow/ });
    assert.equal(await item.getAttribute("aria-expanded"), "false");
    await page.keyboard.press("Space");
    await waitUntil(async () => (await item.getAttribute("aria-expanded")) === "true", "it is open");
    await page.keyboard.press("ArrowDown");
    await waitForCursor(page, "You: To the harbour.");
    await page.keyboard.press("ArrowRight");
    await waitForCursor(page, "You: To the hills.");
    assert.deepEqual(
      await treeElement(page)
        .getByRole("treeitem")
        .evaluateAll((all) => all.map((one) => `${one.getAttribute("aria-level")}: ${one.textContent}`)),
      [
        "4: Snow., current branch",
        "5: You: To the harbour., current branch",
        "5: You: To the hills.",
        "6: A path through thorns.",
      ],
    );
    await page.keyboard.press("Enter");
    await waitForOpenMessage(page, "To the hills.");
    await waitUntil(
      () => page.locator(".tree-message").evaluate((box) => box === document.activeElement),
      "what is read has the keyboard",
    );
    await page.keyboard.press("Escape");
    await waitUntil(() => treeElement(page).evaluate((box) => box === document.activeElement), "the tree has it again");
    await page.keyboard.press("Shift+F10");
    await page.locator(".menu:popover-open").getByRole("button", { name: "Bookmark (checkpoint)" }).click();
    await page.getByRole("dialog").getByRole("textbox").first().fill("Hills");
    await page.keyboard.press("Enter");
    await waitForCursor(page, "You: To the hills., Hills");
    await waitUntil(() => page.evaluate(() => document.querySelector("dialog") === null), "the dialog is gone");
    await treeElement(page).focus();
    await page.keyboard.press("End");
    await waitForCursor(page, "Masts in the dusk.");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Control+Enter");
    await waitUntil(
      async () => (await readSession(path)).activeLeafId === ids[2],
      "the story is where the keyboard was",
    );
    await close();
  });

  test("S4-15: going back leaves the chat as it was: draft, scroll position, and focus in the field", async () => {
    const path = await createSession();
    let parentId = (await readSession(path)).activeLeafId;
    for (let i = 0; i < 30; i += 1)
      parentId = await addMessage(
        path,
        parentId,
        i % 2 ? "assistant" : "user",
        `Step ${i}. ${"On and on. ".repeat(20)}`,
      );
    const { page, close } = await openSession(path);
    await composer(page).fill("A thought that is not sent");
    await messageById(page, parentId).waitFor();
    await page.locator(".scroller").evaluate((box) => (box.scrollTop -= 700));
    await waitUntil(async () => page.locator(".to-end").isVisible(), "it is scrolled up");
    const before = await page.locator(".scroller").evaluate((box) => box.scrollTop);
    await composer(page).focus();
    // The chat is the same element as before, below the tree.
    await page.locator(".scroller").evaluate((box) => (box.isTheSame = true));
    await openTree(page);
    assert.equal(await composer(page).count(), 0, "what lies beneath is nobody’s to use");
    await page.goBack();
    await composer(page).waitFor();
    assert.equal(await composer(page).inputValue(), "A thought that is not sent");
    assert.ok(Math.abs((await page.locator(".scroller").evaluate((box) => box.scrollTop)) - before) < 3);
    assert.ok(await page.locator(".scroller").evaluate((box) => box.isTheSame));
    await waitUntil(
      () => composer(page).evaluate((box) => box === document.activeElement),
      "the field has the keyboard",
    );
    await page.goForward();
    await treeElement(page).waitFor();
    await page.getByRole("button", { name: "Back to the story" }).click();
    await composer(page).waitFor();
    await close();
  });

  test("S4-36: straight runs are folded into one card that opens, and the choice is stored", async () => {
    const path = await createSession();
    let parentId = (await readSession(path)).activeLeafId;
    const ids = [];
    for (let i = 0; i < 12; i += 1)
      ids.push((parentId = await addMessage(path, parentId, i % 2 ? "assistant" : "user", `Step ${i}.`)));
    const { page, close } = await openSession(path);
    await openTree(page);
    await page.getByRole("button", { name: "Fold straight sections" }).click();
    await page.keyboard.press("Tab");
    await treeElement(page).focus();
    await page.keyboard.press("ArrowUp");
    await waitForCursor(page, "12 messages");
    await page.reload();
    await treeElement(page).waitFor();
    await waitUntil(
      async () =>
        page
          .getByRole("button", { name: "Fold straight sections" })
          .evaluate((one) => one.getAttribute("aria-pressed") === "true"),
      "it is as it was",
    );
    const run = await waitUntilStill(page, ids[4]);
    await page.mouse.click(run.x, run.y);
    await treeElement(page).focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    await waitForCursor(page, "You: Step 10.");
    await close();
  });

  test("S4-33: the tree follows the session: a running reply and a disabled message are marked", async () => {
    const { path, ids } = await seedFork();
    const { page, close } = await openSession(path, { reducedMotion: "no-preference" });
    await openTree(page);
    const held = model.queueHeldReply(["A gull.", " It cries."]);
    const { generations } = await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: ids[3],
      content: "I listen.",
      generate: true,
    });
    await waitForCursor(page, "You: I listen., current message");
    await fold(page).click();
    await treeElement(page)
      .getByRole("treeitem", { name: /being written/ })
      .waitFor();
    await treeElement(page).focus();
    await page.keyboard.press("ArrowDown");
    await waitForCursor(page, "being written");
    const frames = () => page.locator("tree-canvas").evaluate((canvas) => canvas.frames);
    const some = await frames();
    await waitUntil(async () => (await frames()) > some + 3, "it moves while it is written");
    held.open();
    await waitForCursor(page, "A gull. It cries., current message");
    await clotho.api("PUT", `${chatPath(path)}/node/${ids[1]}/state`, { isEnabled: false });
    await page.keyboard.press("Home");
    for (let i = 0; i < 3; i += 1) await page.keyboard.press("ArrowDown");
    await waitForCursor(page, "excluded from prompt");
    assert.ok(generations.length > 0);
    // Nothing changes now, so nothing is drawn.
    const still = () =>
      page.evaluate(
        () =>
          new Promise((resolve) =>
            requestAnimationFrame(() =>
              requestAnimationFrame(() => resolve(document.querySelector("tree-canvas").frames)),
            ),
          ),
      );
    await waitUntil(async () => {
      const before = await still();
      return before === (await still());
    }, "it is quiet");
    await close();
  });

  test("S4-33: a running reply pulses, and is marked without motion when motion is reduced, in the chat and in the tree", async () => {
    for (const reducedMotion of ["no-preference", "reduce"]) {
      const { path, ids } = await seedFork();
      const { page, close } = await openSession(path, { reducedMotion });
      const held = model.queueHeldReply(["A gull.", " It cries."]);
      await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[3], content: "I listen.", generate: true });
      await page.locator('.message.generating article[aria-busy="true"]').waitFor();
      await openTree(page);
      await fold(page).click();
      await treeElement(page)
        .getByRole("treeitem", { name: /being written/ })
        .waitFor();
      // Two frames of the same card. The second is drawn only if something requests it.
      const frames = () =>
        page.evaluate(
          () =>
            new Promise((resolve) =>
              requestAnimationFrame(() =>
                requestAnimationFrame(() => resolve(document.querySelector("tree-canvas").frames)),
              ),
            ),
        );
      const isStill = async () => {
        const before = await frames();
        return before === (await frames());
      };
      if (reducedMotion === "reduce") await waitUntil(isStill, "it is still");
      else {
        const some = await frames();
        await waitUntil(async () => (await frames()) > some + 5, "it breathes");
        const picture = () =>
          page
            .locator("tree-canvas canvas")
            .first()
            .evaluate((canvas) => canvas.toDataURL());
        const one = await picture();
        await waitUntil(async () => (await picture()) !== one, "and is seen to");
      }
      held.open();
      await waitForCursor(page, "A gull. It cries., current message");
      await close();
    }
  });

  test("S4-48: changes from another tab appear in the tree at once; a new state of a message does not reload the outline", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    // An own window, because a tab in the background is drawn late.
    const { page: other, close: closeOther } = await openPage(browser);
    await other.goto(`${clotho.base}${path}/tree`);
    await openTree(page);
    for (const tab of [page, other]) await waitForCursor(tab, "Masts in the dusk., current message");
    const asked = [];
    other.on("request", (request) => request.url().includes("shape=skeleton") && asked.push(request.url()));
    const place = await waitUntilStill(page, ids[3]);
    await page.mouse.click(place.x, place.y, { button: "right" });
    await page.locator(".menu:popover-open").getByRole("button", { name: "Exclude from prompt" }).click();
    for (const tab of [page, other])
      await waitForCursor(tab, "Masts in the dusk., current message, excluded from prompt");
    await page.keyboard.press("Control+z");
    await waitUntil(async () => !(await cursorText(other)).includes("excluded from prompt"), "it is back");
    const before = asked.length;
    await clotho.api("PUT", `${chatPath(path)}/node/${ids[3]}/state`, { isEnabled: false });
    await waitForCursor(other, "excluded from prompt");
    assert.equal(asked.length, before, "the frame said it all");
    await fold(other).click();
    await waitUntilStill(other, side[1]);
    const added = await addMessage(path, side[1], "user", "Through them.");
    await waitUntilStill(other, added);
    await clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations: [{ op: "prune", nodeId: side[0] }] });
    await waitUntil(async () => (await positionOf(other, side[1])) === null, "what is cut away goes");
    for (const tab of [page, other]) {
      await waitForCursor(tab, "current message");
      assert.equal(await tab.locator(".notice.error").count(), 0);
    }
    await closeOther();
    await close();
  });

  test("S4-37: the wheel and dragging pan; keys and Ctrl with the wheel zoom; a key centres HEAD", async () => {
    const { path, ids } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    const from = await waitUntilStill(page, ids[3]);
    await page.mouse.move(from.x + 150, from.y);
    await page.mouse.wheel(0, -60);
    await waitUntil(async () => (await positionOf(page, ids[3])).y === from.y + 60, "it has moved down");
    await page.mouse.down();
    await page.mouse.move(from.x + 100, from.y - 40, { steps: 4 });
    await page.mouse.up();
    await waitUntil(async () => Math.abs((await positionOf(page, ids[3])).x - (from.x - 50)) < 1, "it has moved left");
    assert.equal(await page.locator(".tree-message").count(), 0, "dragging reads nothing");
    const zoom = () => page.locator("tree-canvas").evaluate((canvas) => canvas.camera.zoom);
    await treeElement(page).focus();
    await page.keyboard.press("-");
    await page.keyboard.press("-");
    assert.ok((await zoom()) < 0.7);
    await page.keyboard.press("+");
    const before = await zoom();
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -50);
    await page.keyboard.up("Control");
    await waitUntil(async () => (await zoom()) > before, "it is larger");
    await page.keyboard.press("0");
    assert.ok((await positionOf(page, ids[0])).y > 0 && (await positionOf(page, ids[3])).y < 860);
    await page.getByRole("button", { name: "Go to current message" }).click();
    await waitUntil(async () => Math.abs((await positionOf(page, ids[3])).x - from.x) < 1, "it is where it was");
    await close();
  });

  test("on a phone the tree fits and the text comes from below, in Chinese too", async () => {
    const { path, ids } = await seedFork();
    const { page, close } = await openSession(path, { ...PHONE, locale: "zh-CN" });
    await page.getByRole("button", { name: /^故事树/ }).click();
    await page.getByRole("tree", { name: "故事里的所有消息" }).waitFor();
    const there = await waitUntilStill(page, ids[2]);
    await page.touchscreen.tap(there.x, there.y);
    await waitForOpenMessage(page, "To the harbour.");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
    await checkAccessibility(page, "the tree on a phone");
    const box = await page.locator(".tree-beside").boundingBox();
    assert.ok(box && box.y > 300 && box.height < 420, "the tree stays in view");
    await page.getByRole("button", { name: "图例" }).click();
    await page.getByText("收起的消息数").waitFor();
    await page.getByRole("navigation").getByRole("button", { name: "故事", exact: true }).click();
    await page.waitForURL((url) => url.pathname === path);
    await lastMessage(page).waitFor();
    await close();
  });

  test("a session in linear view has no tree, and a deleted session says so", async () => {
    const { path } = await seedFork();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { mode: "linear" });
    const { page, close } = await openSession(path, { expected: LOAD_ERROR });
    assert.equal(await page.getByRole("button", { name: /^Story tree/ }).count(), 0);
    await page.goto(`${clotho.base}${path}/tree`);
    await page.waitForURL((url) => url.pathname === path);
    await composer(page).waitFor();
    await close();
  });
});
