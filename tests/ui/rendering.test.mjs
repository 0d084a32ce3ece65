// Tests against the real server: unchanged content is not rendered again, and the scroll position stays.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import {
  chatPath,
  clotho,
  composer,
  lastMessage,
  model,
  createSession,
  openSession,
  openSeededBranch,
  waitForReply,
  sendMessage,
  readSession,
} from "./support/setup.mjs";

/** Records, in the page, which messages change from now on, by their position. */
const watchChanges = (page) =>
  page.evaluate(() => {
    const seen = /** @type {any} */ (window);
    seen.changed = [];
    const messageOf = (/** @type {Node} */ node) =>
      (node instanceof Element ? node : node.parentElement)?.closest(".message") ?? null;
    const note = (/** @type {MutationRecord[]} */ records) =>
      seen.changed.push(
        ...records.map(({ target, type, attributeName }) => ({
          at: [...document.querySelectorAll(".message")].indexOf(/** @type {any} */ (messageOf(target))),
          what: attributeName ?? type,
        })),
      );
    new MutationObserver(note).observe(document.querySelector(".scroller"), {
      subtree: true,
      childList: true,
      characterData: true,
      attributes: true,
    });
  });
const changed = (page) => page.evaluate(() => /** @type {any} */ (window).changed);
/** Returns the positions of visible messages on the screen. */
const places = (page) =>
  page.evaluate(() => {
    const { top, bottom } = /** @type {Element} */ (document.querySelector(".scroller")).getBoundingClientRect();
    const all = [...document.querySelectorAll("article[data-node]")].map((article) => ({
      id: article.getAttribute("data-node"),
      box: article.getBoundingClientRect(),
    }));
    return all.filter(({ box }) => box.bottom > top && box.top < bottom).map(({ id, box }) => ({ id, top: box.top }));
  });

describe("rendering", () => {
  test("speed: typing changes nothing in the messages above", async () => {
    const { page, close } = await openSeededBranch();
    await composer(page).focus();
    await watchChanges(page);
    await page.keyboard.type("I look for the lamp, *quietly*, and wait for the tide.");
    assert.equal(await composer(page).inputValue(), "I look for the lamp, *quietly*, and wait for the tide.");
    assert.deepEqual(await changed(page), []);
    await close();
  });

  test("S0-36: a piece of a reply changes only the message of that reply", async () => {
    const { page, close } = await openSeededBranch();
    const pieces = Array.from({ length: 40 }, (_, i) => (i % 10 === 9 ? `piece ${i}.\n\n` : `piece ${i} `));
    const held = model.queueHeldReply(["First. ", ...pieces, "Last."]);
    await sendMessage(page, "And then?");
    held.next();
    await lastMessage(page).locator(".live", { hasText: "First." }).waitFor();
    await watchChanges(page);
    for (const piece of pieces) {
      held.next();
      await lastMessage(page).locator(".live", { hasText: piece.trim() }).waitFor();
    }
    const at = (await page.locator(".message").count()) - 1;
    const records = await changed(page);
    assert.ok(records.length >= pieces.length, "it was seen to grow");
    assert.deepEqual(
      records.filter((record) => record.at !== at),
      [],
    );
    held.open();
    await waitForReply(page);
    await close();
  });

  test("S1-23: the scroll position stays when older messages are loaded above", async () => {
    const path = await createSession();
    let parentId = (await readSession(path)).activeLeafId;
    for (let i = 0; i < 180; i += 1) {
      const content = `Line ${i}. ${"It goes on for a while. ".repeat(1 + (i % 9))}`;
      parentId = (
        await clotho.api("POST", `${chatPath(path)}/message`, { parentId, role: i % 2 ? "assistant" : "user", content })
      ).node.id;
    }
    const { page, close } = await openSession(path);
    await page.getByText("Line 179.").waitFor();
    let asked = false;
    let answer = () => {};
    const mayCome = new Promise((resolve) => (answer = () => resolve(undefined)));
    await page.route(/\/projection\?/, async (route) => {
      asked = true;
      await mayCome;
      await route.continue();
    });
    const scroller = page.locator(".scroller");
    await waitUntil(async () => {
      await scroller.evaluate((box) => (box.scrollTop = Math.max(300, box.scrollTop - 700)));
      return asked;
    }, "older messages are asked for");
    // The window over loaded messages moves by itself; the user does not scroll.
    await waitUntil(async () => {
      const one = await places(page);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      return JSON.stringify(await places(page)) === JSON.stringify(one);
    }, "nothing moves");
    const before = await places(page);
    const first = await page.locator(".message article").first().getAttribute("data-node");
    answer();
    await waitUntil(
      async () => (await page.locator(".message article").first().getAttribute("data-node")) !== first,
      "they have come",
    );
    const after = new Map((await places(page)).map(({ id, top }) => [id, top]));
    assert.ok(before.length > 0);
    for (const { id, top } of before)
      assert.ok(Math.abs((after.get(id) ?? Infinity) - top) < 2, `it stays: ${top} is ${after.get(id)} now`);
    await close();
  });
});
