// Tests against the real server: what the tree draws, what stands out, how it is moved, and that every message can be
// reached.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import {
  seedBushyTree,
  drawnIds,
  touchDispatcher,
  seedFork,
  waitForCursor,
  openTree,
  positionOf,
  addMessage,
  waitUntilStill,
  treeElement,
} from "./support/tree-page.mjs";
import { chatPath, clotho, readBranch, createSession, openSession, readSession } from "./support/setup.mjs";

const sides = (page) => page.getByRole("button", { name: "Fold other branches" });
const zoomOf = (page) => page.locator("tree-canvas").evaluate((canvas) => canvas.camera.zoom);
const sameIds = (some, others) => assert.deepEqual([...some].sort(), [...others].sort());

/** Checks that a message stays at its place on the screen while the tree is zoomed. */
async function checkStays(page, id, what, act) {
  const [before, zoom] = [await positionOf(page, id), await zoomOf(page)];
  await act();
  await waitUntil(async () => (await zoomOf(page)) !== zoom, `${what} zooms`);
  const after = await positionOf(page, id);
  assert.ok(Math.hypot(after.x - before.x, after.y - before.y) < 2, `${what}: it stays where it was`);
  return (await zoomOf(page)) / zoom;
}

/** Moves two fingers around a point from one distance to another. */
async function pinch(touch, { x, y }, from, to) {
  const apart = (far) => [
    { x: x - far / 2, y },
    { x: x + far / 2, y },
  ];
  await touch("touchStart", ...apart(from));
  for (const part of [0.25, 0.5, 0.75, 1]) await touch("touchMove", ...apart(from + (to - from) * part));
  await touch("touchEnd");
}

describe("the tree on its canvas", () => {
  test("S4-37: two fingers zoom around their middle and pan; one finger pans", async () => {
    const { path, ids } = await seedFork();
    const { page, close } = await openSession(path, { hasTouch: true });
    await openTree(page);
    const touch = await touchDispatcher(page);
    const place = await waitUntilStill(page, ids[2]);
    const closer = await checkStays(page, ids[2], "drawing fingers apart", () => pinch(touch, place, 80, 160));
    assert.ok(closer > 1.9 && closer < 2.1, `twice as far apart is twice as near: ${closer}`);
    const farther = await checkStays(page, ids[2], "drawing them together", () => pinch(touch, place, 200, 100));
    assert.ok(farther > 0.45 && farther < 0.55, `and back: ${farther}`);
    assert.equal(await page.locator(".tree-message").count(), 0, "no finger reads anything");
    const zoom = await zoomOf(page);
    const both = (by) => [
      { x: place.x - 60, y: place.y + by },
      { x: place.x + 60, y: place.y + by },
    ];
    await touch("touchStart", ...both(0));
    for (const by of [20, 40]) await touch("touchMove", ...both(by));
    await touch("touchEnd");
    await waitUntil(
      async () => Math.abs((await positionOf(page, ids[2])).y - place.y - 40) < 2,
      "both fingers take it along",
    );
    assert.ok(Math.abs((await zoomOf(page)) - zoom) < 0.001);
    await touch("touchStart", { x: place.x + 150, y: place.y });
    await touch("touchMove", { x: place.x + 150, y: place.y - 40 });
    await touch("touchEnd");
    await waitUntil(
      async () => Math.abs((await positionOf(page, ids[2])).y - place.y) < 10,
      "one finger takes it back",
    );
    await close();
  });

  test("S4-37: the wheel zooms around the pointer, keys around the middle, and a button shows everything", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await sides(page).click();
    const place = await waitUntilStill(page, side[0]);
    await page.mouse.move(place.x, place.y);
    const wheel = (by) => async () => {
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, by);
      await page.keyboard.up("Control");
    };
    assert.ok((await checkStays(page, side[0], "the wheel", wheel(-50))) > 1.2);
    assert.ok((await checkStays(page, side[0], "the wheel back", wheel(50))) < 0.8);
    await treeElement(page).focus();
    const middle = () =>
      page
        .locator("tree-canvas")
        .evaluate(({ camera: { x, y, zoom }, wide, tall }) => [(wide / 2 - x) / zoom, (tall / 2 - y) / zoom]);
    const [before, zoom] = [await middle(), await zoomOf(page)];
    await page.keyboard.press("+");
    assert.ok((await zoomOf(page)) > zoom);
    (await middle()).forEach((at, i) => assert.ok(Math.abs(at - before[i]) < 1, "the middle stays"));
    for (let i = 0; i < 4; i += 1) await page.keyboard.press("+");
    await page.getByRole("button", { name: "Fit to screen" }).click();
    const view = await page.locator("tree-canvas").boundingBox();
    for (const id of [...ids, ...side]) {
      const { x, y } = await positionOf(page, id);
      assert.ok(x > view.x && x < view.x + view.width && y > view.y && y < view.y + view.height, "each is in view");
    }
    await close();
  });

  test("S4-36: at first only the current branch is open; folded parts show their count and can all be unfolded", async () => {
    const { path, ids, side } = await seedFork();
    let parentId = ids[3];
    for (let i = 0; i < 6; i += 1)
      parentId = await addMessage(path, parentId, i % 2 ? "assistant" : "user", `Step ${i}.`);
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: parentId, exact: true });
    const { page, close } = await openSession(path);
    await openTree(page);
    const trunk = (await readBranch(path)).map(({ id }) => id);
    sameIds((await drawnIds(page)).slice(1), trunk);
    const badge = (id) =>
      page
        .locator("tree-canvas")
        .evaluate(({ scene }, nid) => scene.cards.hidden[scene.cards.cardOf[scene.outline.at.get(nid)]], id);
    assert.equal(await badge(ids[1]), 2);
    await page.getByText("13 messages · 2 folded").waitFor();
    await page.getByRole("button", { name: "Fold straight sections" }).click();
    const runs = () =>
      page.locator("tree-canvas").evaluate(({ scene }) => [...scene.cards.count].filter((count) => count > 1));
    await waitUntil(async () => (await runs()).join() === "7", "one run, with how many it has");
    await page.getByRole("button", { name: "Fold straight sections" }).click();
    await sides(page).click();
    await waitUntil(async () => (await drawnIds(page)).length === 14, "all of it is there");
    sameIds((await drawnIds(page)).slice(1), [...trunk, ...side]);
    await page.getByText("13 messages", { exact: true }).waitFor();
    await close();
  });

  test("S4-38: the current branch stands out and follows HEAD", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await sides(page).click();
    await waitUntilStill(page, side[1]);
    const standsOut = () =>
      page
        .locator("tree-canvas")
        .evaluate(({ scene: { cards, outline } }) =>
          [...cards.node].filter((_, card) => cards.trunk[card] === 1).map((n) => outline.ids[n]),
        );
    const isTold = async () => {
      const [root, ...shown] = await standsOut();
      return root !== undefined && shown.join() === (await readBranch(path)).map(({ id }) => id).join();
    };
    assert.ok(await isTold());
    assert.ok((await standsOut()).includes(ids[3]));
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: side[1], exact: true });
    await waitUntil(isTold, "another line stands out");
    assert.ok((await standsOut()).includes(side[1]) && !(await standsOut()).includes(ids[3]));
    await waitForCursor(page, "A path through thorns., current message");
    await close();
  });

  test("S4-14: the chat shows the current branch only, and its messages in the prompt are those of the server", async () => {
    const { path, ids, side } = await seedFork();
    await clotho.api("PUT", `${chatPath(path)}/node/${ids[1]}/state`, { isEnabled: false });
    const { page, close } = await openSession(path);
    const told = (await readBranch(path)).map(({ id }) => id);
    assert.ok(!told.includes(ids[1]));
    const read = (which) =>
      page.locator(`.message${which} [data-node]`).evaluateAll((all) => all.map((one) => one.dataset.node));
    assert.deepEqual(await read(":not(.disabled)"), told);
    assert.deepEqual(await read(".disabled"), [ids[1]], "and what is left out says so");
    assert.ok(!(await read("")).some((id) => side.includes(id)), "nothing of another line");
    await close();
  });

  test("S4-13 S4-05: of a thousand messages, the tree draws or counts as many as the server has, and keys reach each of them", async () => {
    const path = await createSession();
    await seedBushyTree(path, 31, 32);
    const { ids } = await clotho.api("GET", `${chatPath(path)}/tree?shape=skeleton`);
    assert.ok(ids.length >= 1_000, `${ids.length}`);
    const { page, close } = await openSession(path);
    await openTree(page);
    const counted = () =>
      page
        .locator("tree-canvas")
        .evaluate(({ scene: { cards } }) =>
          [...cards.count].reduce((sum, count, card) => sum + count + cards.hidden[card], 0),
        );
    assert.equal(await counted(), ids.length, "folded away and drawn");
    assert.ok((await drawnIds(page)).length < ids.length / 2);
    await page.getByText(new RegExp(`^${ids.length - 1} messages · `)).waitFor();
    await sides(page).click();
    await waitUntil(async () => (await drawnIds(page)).length === ids.length, "all are drawn");
    sameIds(await drawnIds(page), ids);
    await treeElement(page).focus();
    await page.keyboard.press("Home");
    await waitForCursor(page, "Beginning");
    assert.equal(new Set(await page.evaluate(walkAll)).size, ids.length, "keys reach them all");
    await close();
  });
});

/** Walks a tree by arrow keys as a screen-reader user does: down if possible, else sideways, else up. Runs in the page. */
async function walkAll() {
  const box = document.querySelector(".tree-walk");
  const at = () => document.getElementById(box.getAttribute("aria-activedescendant"));
  const level = (item) => Number(item?.getAttribute("aria-level"));
  const press = (key) =>
    new Promise((resolve) => {
      const moved = new MutationObserver(() => (moved.disconnect(), resolve()));
      moved.observe(box, { attributeFilter: ["aria-activedescendant"] });
      box.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    });
  const reached = [at().id];
  for (;;) {
    const here = at();
    if ([...box.children].some((item) => level(item) > level(here))) await press("ArrowDown");
    else {
      while (at().getAttribute("aria-posinset") === at().getAttribute("aria-setsize")) {
        if (level(at()) === 1) return reached;
        await press("ArrowUp");
      }
      await press("ArrowRight");
    }
    reached.push(at().id);
  }
}
