// Tests against the real server: messages are moved on the tree itself, by mouse, finger and keys.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import {
  touchDispatcher,
  seedFork,
  waitForCursor,
  openTree,
  positionOf,
  waitUntilStill,
  treeElement,
} from "./support/tree-page.mjs";
import { chatPath, checkAccessibility, clotho, openSession, readSession } from "./support/setup.mjs";

const parentOf = async (path, id) => (await clotho.api("GET", `${chatPath(path)}/node/${id}`)).parentId;
const bar = (page) => page.getByRole("status").filter({ hasText: "Choose the message to place it below" });
const waitForMovedNotice = (page) => page.getByText("Moved, with everything after it.").waitFor();
const unfold = (page) => page.getByRole("button", { name: "Fold other branches" }).click();

/** Drags a card over another one without dropping it. */
async function dragOver(page, from, to) {
  const [a, b] = [await waitUntilStill(page, from), await waitUntilStill(page, to)];
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move(b.x, b.y, { steps: 8 });
}

describe("moving messages on the tree", () => {
  test("S4-16: a card dropped on another one by mouse is moved below it; invalid targets are explained; Escape cancels", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await unfold(page);
    const before = (await readSession(path)).op;
    await dragOver(page, ids[1], side[1]);
    await bar(page).getByText("It cannot be placed below its own later messages.").waitFor();
    await checkAccessibility(page, "a message that is drawn over the tree");
    await page.mouse.up();
    await bar(page).waitFor({ state: "detached" });
    await dragOver(page, side[0], ids[1]);
    await bar(page).getByText("It is already there.").waitFor();
    await page.keyboard.press("Escape");
    await bar(page).waitFor({ state: "detached" });
    await page.mouse.up();
    assert.equal((await readSession(path)).op, before, "nothing was done");
    await dragOver(page, side[0], ids[3]);
    await bar(page).getByText("Below “Masts in the dusk.”").waitFor();
    await page.mouse.up();
    await waitForMovedNotice(page);
    assert.equal(await parentOf(path, side[0]), ids[3]);
    await waitUntil(
      async () => (await positionOf(page, side[0])).y > (await positionOf(page, ids[3])).y,
      "it is drawn there",
    );
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await parentOf(path, side[0])) === ids[1], "and it can be taken back");
    await close();
  });

  test("S4-16: a finger that rests drags a card, another one pans the tree", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path, { hasTouch: true });
    await openTree(page);
    await unfold(page);
    const touch = await touchDispatcher(page);
    const from = await waitUntilStill(page, side[1]);
    await touch("touchStart", from);
    await touch("touchMove", { x: from.x + 40, y: from.y });
    await touch("touchEnd");
    await waitUntil(async () => (await positionOf(page, side[1])).x > from.x + 20, "the tree has moved");
    const [here, there] = [await waitUntilStill(page, side[1]), await waitUntilStill(page, ids[3])];
    await touch("touchStart", here);
    await page.locator('tree-canvas canvas[data-doing="held"]').waitFor();
    for (const part of [0.3, 0.6, 1])
      await touch("touchMove", { x: here.x + (there.x - here.x) * part, y: here.y + (there.y - here.y) * part });
    await bar(page).getByText("Below “Masts in the dusk.”").waitFor();
    await touch("touchEnd");
    await waitForMovedNotice(page);
    assert.equal(await parentOf(path, side[1]), ids[3]);
    const rested = await waitUntilStill(page, ids[2]);
    await touch("touchStart", rested);
    await page.locator('tree-canvas canvas[data-doing="held"]').waitFor();
    await touch("touchEnd");
    await page
      .locator(".menu:popover-open")
      .getByRole("button", { name: "Delete, with everything after it" })
      .waitFor();
    await close();
  });

  test("S4-16: a message is moved from its menu and by keys", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await unfold(page);
    const takeUp = async () => {
      const place = await waitUntilStill(page, side[1]);
      await page.mouse.click(place.x, place.y, { button: "right" });
      await page.locator(".menu:popover-open").getByRole("button", { name: "Move, with everything after it" }).click();
      await bar(page).getByText("It cannot be placed below itself.").waitFor();
    };
    await takeUp();
    const before = (await readSession(path)).op;
    await page.keyboard.press("Control+z");
    await bar(page).waitFor({ state: "detached" });
    assert.equal(
      (await readSession(path)).op,
      before,
      "what was only taken up is laid down again, and nothing of the story is taken back",
    );
    await takeUp();
    await page.keyboard.press("ArrowUp");
    await waitForCursor(page, "You: To the hills.");
    await page.keyboard.press("p");
    await bar(page).getByText("It is already there.").waitFor();
    await page.keyboard.press("End");
    await waitForCursor(page, "Masts in the dusk.");
    await bar(page).getByText("Below “Masts in the dusk.”").waitFor();
    await page.keyboard.press("p");
    await waitForMovedNotice(page);
    assert.equal(await parentOf(path, side[1]), ids[3]);
    await waitUntil(
      () => treeElement(page).evaluate((box) => box === document.activeElement),
      "the tree has the keyboard",
    );
    await close();
  });
});

describe("the menu of a message on the tree", () => {
  test("S4-25: the menu makes the branch current without leaving the tree, compares it, and starts a new branch in the field", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await unfold(page);
    const choose = async (id, name) => {
      const place = await waitUntilStill(page, id);
      await page.mouse.click(place.x, place.y, { button: "right" });
      await page.locator(".menu:popover-open").getByRole("button", { name, exact: true }).click();
    };
    await choose(side[1], "Compare with current branch");
    await page.getByRole("region", { name: "Compare" }).getByText("A path through thorns.").waitFor();
    await page.keyboard.press("Escape");
    await choose(side[1], "Switch to this branch");
    await waitUntil(async () => (await readSession(path)).activeLeafId === side[1], "the story is on that line");
    assert.ok(page.url().endsWith("/tree"), "the tree is still there");
    await choose(ids[2], "Branch from here");
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[2], "the story is at that message");
    await page.waitForURL((url) => url.pathname === path);
    await close();
  });
});
