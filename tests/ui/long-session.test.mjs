// Tests against the real server: a session of ten thousand messages, in the tree and in the chat. They limit the amount
// of work. benches/page measures times.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { createLongSession } from "./support/long-session.mjs";
import { cursorText, waitForCursor, openTree, treeElement } from "./support/tree-page.mjs";
import {
  browser,
  chatPath,
  clotho,
  composer,
  focusedMessageId,
  readBranch,
  openSession,
  readSession,
} from "./support/setup.mjs";

const SIZE = 10_000;

/** All tests use the same session. @type {Promise<string> | null} */
let made = null;
const story = () => (made ??= createLongSession(clotho, SIZE));

/** Counts, in the page, what is drawn: texts on canvases, and bars of distant cards. */
function countDrawing() {
  const counts = { texts: 0, bars: 0, lines: 0 };
  /** @type {any} */ (window).drawing = counts;
  const counting = (/** @type {any} */ type, /** @type {string} */ name, /** @type {"texts" | "bars"} */ what) => {
    const plain = type.prototype[name];
    type.prototype[name] = function (...given) {
      counts[what] += 1;
      return plain.apply(this, given);
    };
  };
  counting(CanvasRenderingContext2D, "fillText", "texts");
  counting(Path2D, "rect", "bars");
}

/** Returns what is drawn for an action of the user, up to the next frame of the tree. */
async function countDrawnBy(page, act) {
  const frames = () => page.locator("tree-canvas").evaluate((canvas) => canvas.frames);
  const before = await frames();
  await page.evaluate(() => Object.assign(/** @type {any} */ (window).drawing, { texts: 0, bars: 0 }));
  await act();
  await waitUntil(async () => (await frames()) > before, "a frame is drawn");
  const [{ texts, bars }, n] = [
    await page.evaluate(() => /** @type {any} */ (window).drawing),
    (await frames()) - before,
  ];
  return { texts: texts / n, bars: bars / n };
}

const layout = (page) =>
  page.locator("tree-canvas").evaluate((canvas) => {
    const win = /** @type {any} */ (window);
    if (win.seenLayout !== canvas.scene.layout) win.layouts = (win.layouts ?? 0) + 1;
    win.seenLayout = canvas.scene.layout;
    return win.layouts;
  });
const elements = (page, of) => page.evaluate((query) => document.querySelectorAll(query).length, of);
const zoomOf = (page) => page.locator("tree-canvas").evaluate((canvas) => canvas.camera.zoom);

describe("ten thousand messages in the tree", () => {
  test("S4-05 S4-37: the tree opens, pans and zooms, drawing only what is in view, with one layout and few elements", async () => {
    const path = await story();
    const { ids } = await clotho.api("GET", `${chatPath(path)}/tree?shape=skeleton`);
    assert.ok(ids.length > SIZE);
    const { page, close } = await openPage(browser);
    await page.addInitScript(countDrawing);
    await page.goto(clotho.base + path);
    await composer(page).waitFor();
    await openTree(page);
    await waitForCursor(page, "Step 9999 of a long way., current message");
    await layout(page);
    assert.ok((await elements(page, ".overview *")) < 200, "no element for each message");
    const field = await page.locator(".tree-field").boundingBox();
    const [x, y] = [field.x + field.width / 2, field.y + field.height / 2];
    await page.mouse.move(x, y);
    const near = await countDrawnBy(page, () => page.mouse.wheel(0, -240));
    assert.ok(near.texts > 4 && near.texts < 150, `cards in sight alone are drawn: ${JSON.stringify(near)}`);
    assert.equal(near.bars, 0, "nor is the small map drawn anew");
    await page.getByRole("button", { name: "Fold other branches" }).click();
    await page
      .getByText(`${(ids.length - 1).toLocaleString("en")} messages`.replace(",", ""), { exact: true })
      .waitFor();
    const shown = await page.locator("tree-canvas").evaluate(({ scene }) => scene.cards.size);
    assert.equal(shown, ids.length, "S4-13: all of them are on cards");
    const unfolded = await layout(page);
    await page.mouse.move(x, y);
    const side = await countDrawnBy(page, () => page.mouse.wheel(120, -400));
    assert.ok(side.texts < 250, `unfolded too: ${JSON.stringify(side)}`);
    await page.getByRole("button", { name: "Fit to screen" }).click();
    await waitUntil(async () => (await zoomOf(page)) < 0.05, "all of it is in sight");
    await page.mouse.move(x, y);
    const far = await countDrawnBy(page, () => page.mouse.wheel(0, -10));
    assert.ok(
      far.bars < 4_000 && far.texts < 10,
      `of rows that fall on one line of the screen one is drawn: ${JSON.stringify(far)}`,
    );
    await page.keyboard.down("Control");
    for (let i = 0; i < 6; i += 1) await page.mouse.wheel(0, -60);
    await page.keyboard.up("Control");
    assert.equal(await layout(page), unfolded, "nothing of that places the cards anew");
    assert.ok((await elements(page, ".overview *")) < 200);
    await page.getByRole("button", { name: "Fold other branches" }).click();
    await page.getByRole("button", { name: "Fold straight sections" }).click();
    await waitUntil(
      () => page.locator("tree-canvas").evaluate(({ scene }, size) => scene.cards.size < size / 8, ids.length),
      "runs are one card each",
    );
    await close();
  }, 400_000);

  test("S4-57: the frame on the small map follows the view, and a click on the map moves the view", async () => {
    const { page, close } = await openSession(await story());
    await openTree(page);
    await waitForCursor(page, "current message");
    const map = page.locator(".tree-map");
    /** Returns where the dark frame is on the map, as parts of its height. */
    const frame = () =>
      page.locator("tree-canvas").evaluate(({ camera, tall, scene }) => {
        const whole = scene.layout.rows * 80 * camera.zoom;
        return { top: -camera.y / whole, end: (tall - camera.y) / whole };
      });
    /** The rows of the map that its frame crosses: a line as wide as the map, in the colour of the text. */
    const crossed = () =>
      map.evaluate((canvas) => {
        const ctx = canvas.getContext("2d");
        const x = Math.floor(canvas.width / 2);
        const { data } = ctx.getImageData(x, 0, 1, canvas.height);
        const dark = [];
        for (let row = 0; row < canvas.height; row += 1)
          if (data[row * 4] < 90 && data[row * 4 + 1] < 90 && data[row * 4 + 2] < 90 && data[row * 4 + 3] > 200)
            dark.push(row / canvas.height);
        return dark;
      });
    const box = await map.boundingBox();
    assert.ok((await frame()).end > 0.99, "the story is at its end");
    await waitUntil(async () => (await crossed()).some((row) => row > 0.95), "the frame is at the end");
    for (const part of [0.25, 0.7]) {
      await page.mouse.click(box.x + box.width / 2, box.y + 6 + (box.height - 12) * part);
      await waitUntil(async () => Math.abs((await frame()).top - part) < 0.02, "it is there");
      await waitUntil(
        async () => (await crossed()).every((row) => Math.abs(row - part) < 0.03) && (await crossed()).length > 0,
        "and the frame with it",
      );
    }
    const before = await frame();
    const field = await page.locator(".tree-field").boundingBox();
    await page.mouse.move(field.x + 100, field.y + 100);
    await page.mouse.wheel(0, 8_000);
    await waitUntil(async () => (await frame()).top > before.top + 0.005, "it has moved on");
    await close();
  }, 400_000);

  test("S4-05: a folded message is found, shown in the tree and read, and keys continue from there", async () => {
    const path = await story();
    await waitUntil(
      async () => (await clotho.api("GET", '/api/search?q="another step 4321"')).items.length > 0,
      "the index has it",
      120_000,
    );
    const { page, close } = await openSession(path);
    await openTree(page);
    await waitForCursor(page, "current message");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search all stories" }).fill('"another step 4321 the 3"');
    await page.getByRole("option").filter({ hasText: "the 3" }).first().click();
    await page.locator(".tree-message").getByText("Another step 4321, the 3.").waitFor();
    await waitForCursor(page, "Another step 4321, the 3.");
    assert.ok(page.url().endsWith("/tree"));
    await treeElement(page).focus();
    await page.keyboard.press("ArrowUp");
    await waitForCursor(page, "You: Step 4320 of a long way.");
    await page.keyboard.press("ArrowDown");
    await waitForCursor(page, "Step 4321 of a long way.");
    await page.keyboard.press("Home");
    await waitForCursor(page, "Beginning");
    await close();
  }, 400_000);

  test("S4-15: going to the tree and back reads nothing again and keeps the chat with its draft and scroll position", async () => {
    const path = await story();
    const { page, close } = await openSession(path);
    await composer(page).fill("A thought that is not sent");
    await openTree(page);
    await waitForCursor(page, "current message");
    await page.keyboard.press("Escape");
    await composer(page).waitFor();
    await page.locator(".scroller").evaluate((box) => (box.scrollTop -= 500));
    await waitUntil(async () => page.locator(".to-end").isVisible(), "it is scrolled up");
    const top = await page.locator(".scroller").evaluate((box) => ((box.isTheSame = true), box.scrollTop));
    const messages = await page
      .locator(".message article")
      .evaluateAll((all) => all.map((one) => ((one.isTheSame = true), one.dataset.node)));
    const asked = [];
    page.on("request", (request) => request.url().includes("/api/") && asked.push(request.url()));
    for (let turn = 0; turn < 2; turn += 1) {
      await openTree(page);
      await waitForCursor(page, "current message");
      await page.keyboard.press("Escape");
      await composer(page).waitFor();
    }
    assert.deepEqual(asked, [], "nothing is asked of the server");
    assert.ok(await page.locator(".scroller").evaluate((box) => box.isTheSame));
    assert.deepEqual(
      await page
        .locator(".message article")
        .evaluateAll((all) => all.filter((one) => one.isTheSame).map((one) => one.dataset.node)),
      messages,
      "each message is the same element",
    );
    assert.ok(Math.abs((await page.locator(".scroller").evaluate((box) => box.scrollTop)) - top) < 3);
    assert.equal(await composer(page).inputValue(), "A thought that is not sent");
    // Changes of the meantime are read.
    const head = (await readSession(path)).activeLeafId;
    const { node } = await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: head,
      content: "And one more step.",
    });
    await page.getByText("And one more step.").waitFor();
    await openTree(page);
    await waitForCursor(page, "You: And one more step., current message");
    await clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations: [{ op: "prune", nodeId: node.id }] });
    await waitUntil(async () => (await cursorText(page)).includes("Step 9999"), "and followed");
    await close();
  }, 400_000);
});

describe("ten thousand messages in the chat", () => {
  test("S1-23: the chat opens at its end with a window of messages, scrolls up, and follows a link far up on the same branch", async () => {
    const path = await story();
    const { page, close } = await openSession(path);
    await page.getByText("Step 9999 of a long way.").waitFor();
    const scroller = page.locator(".scroller");
    assert.ok(await scroller.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 50), "at its end");
    const few = async () => assert.ok((await elements(page, ".message")) <= 80, "a window of it");
    await few();
    await waitUntil(
      async () => {
        await scroller.evaluate((box) => (box.scrollTop = 0));
        await few();
        return page.getByText("Step 9700 of a long way.", { exact: true }).isVisible();
      },
      "it scrolls up",
      60_000,
    );
    const { ids, previews } = await clotho.api("GET", `${chatPath(path)}/tree?shape=skeleton`);
    const early = ids[previews.findIndex((text) => text.startsWith("Step 101 "))];
    await page.goto(`${clotho.base}${path}/${early}`);
    await waitUntil(async () => (await focusedMessageId(page)) === early, "the link leads there", 90_000);
    assert.equal(await page.getByText("You are viewing another branch.").count(), 0, "it is no other timeline");
    await few();
    assert.ok((await elements(page, ".chat *")) < 4_000);
    await page.getByRole("button", { name: "Jump to the newest message" }).click();
    await page.getByText("Step 9999 of a long way.").waitFor();
    assert.equal((await readBranch(path)).at(-1).content, "Step 9999 of a long way.");
    await close();
  }, 400_000);
});
