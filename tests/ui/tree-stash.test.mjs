// Tests against the real server: the stash beside the tree, and the comparison of two branches beside it.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  touchDispatcher,
  seedFork,
  waitForCursor,
  openTree,
  positionOf,
  waitUntilStill,
  treeElement,
} from "./support/tree-page.mjs";
import {
  browser,
  chatPath,
  checkAccessibility,
  clotho,
  openSession,
  extraServers,
  readSession,
} from "./support/setup.mjs";
import { startClotho } from "./support/server.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const parentOf = async (path, id) => (await clotho.api("GET", `${chatPath(path)}/node/${id}`)).parentId;
const readStash = async (path) => (await clotho.api("GET", `${chatPath(path)}/stash`)).items;
const stashPanel = (page) => page.getByRole("region", { name: "Stash" });
const fragmentRow = (page, name) => stashPanel(page).getByRole("article", { name });
const bar = (page) => page.getByRole("status").filter({ hasText: "Choose the message to place it below" });
const waitForMovedNotice = (page) => page.getByText("Moved, with everything after it.").waitFor();
const unfold = (page) => page.getByRole("button", { name: "Fold other branches" }).click();

/** Opens the tree of a session with its side branch in the stash, and the stash beside it. */
async function openTreeWithStash(options) {
  const { path, ids, side } = await seedFork();
  await clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations: [{ op: "prune", nodeId: side[0] }] });
  const opened = await openSession(path, options);
  await openTree(opened.page);
  await opened.page.getByRole("button", { name: "Stash: 1 part" }).click();
  await fragmentRow(opened.page, "To the hills.").waitFor();
  return { path, ids, side, ...opened };
}

const middle = async (locator) => {
  const { x, y, width, height } = await locator.boundingBox();
  return { x: x + width / 2, y: y + height / 2 };
};

const carriedLabel = (page) => page.locator(".tree-carried:not([hidden])");

describe("the stash beside the tree", () => {
  test("S4-58 S4-19: a fragment is dragged onto a card; invalid targets are explained; Escape cancels", async () => {
    const { path, ids, side, page, close } = await openTreeWithStash();
    await checkAccessibility(page, "the stash beside the tree");
    await fragmentRow(page, "To the hills.").getByText("2 messages").waitFor();
    await fragmentRow(page, "To the hills.").getByRole("button", { name: "after “Snow.”" }).click();
    await waitForCursor(page, "Snow.");
    const { op } = await readSession(path);
    const draw = async (id) => {
      const [from, to] = [
        await middle(fragmentRow(page, "To the hills.").getByRole("heading")),
        await waitUntilStill(page, id),
      ];
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await page.mouse.move(from.x + 20, from.y + 8, { steps: 3 });
      await carriedLabel(page).waitFor();
      await page.mouse.move(to.x, to.y, { steps: 8 });
    };
    await draw(ids[3]);
    await bar(page).getByText("Below “Masts in the dusk.”").waitFor();
    assert.equal(await carriedLabel(page).innerText(), "To the hills.");
    await page.keyboard.press("Escape");
    await bar(page).waitFor({ state: "detached" });
    await page.mouse.up();
    assert.equal((await readSession(path)).op, op, "nothing was done");
    await draw(ids[3]);
    await bar(page).getByText("Below “Masts in the dusk.”").waitFor();
    const back = await middle(stashPanel(page).getByRole("heading", { name: "Stash" }));
    await page.mouse.move(back.x, back.y, { steps: 4 });
    await bar(page).getByText("Below “Masts in the dusk.”").waitFor({ state: "detached" });
    await page.mouse.up();
    await bar(page).waitFor({ state: "detached" });
    assert.equal((await readSession(path)).op, op, "over the drawer it is let go of as it was");
    await draw(ids[0]);
    await bar(page).getByText("Below “To the north.”").waitFor();
    await page.mouse.up();
    await waitForMovedNotice(page);
    assert.equal(await parentOf(path, side[0]), ids[0]);
    await stashPanel(page).getByText("The stash is empty.").waitFor();
    await unfold(page);
    await waitUntilStill(page, side[1]);
    await page.keyboard.press("Control+z");
    await fragmentRow(page, "To the hills.").waitFor();
    await close();
  });

  test("S4-19: an invalid target for a fragment is crossed out and explained", async () => {
    const { path, ids, page, close } = await openTreeWithStash({ expected: /Failed to load resource/ });
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { model: "down/m" });
    const failed = (
      await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[3], content: "I listen.", generate: true })
    ).generations[0].id;
    await unfold(page);
    await waitUntilStill(page, failed);
    await waitUntil(
      async () => (await clotho.api("GET", `${chatPath(path)}/node/${failed}`)).status === "error",
      "it has failed",
    );
    const { op } = await readSession(path);
    await treeElement(page).focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowDown");
    await waitForCursor(page, "failed");
    const from = await middle(fragmentRow(page, "To the hills.").getByRole("heading"));
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + 20, from.y, { steps: 3 });
    await carriedLabel(page).waitFor();
    const to = await waitUntilStill(page, failed);
    await page.mouse.move(to.x, to.y, { steps: 8 });
    await bar(page).getByText("That reply is not finished. Nothing can be placed below it.").waitFor();
    await page.mouse.up();
    await bar(page).waitFor({ state: "detached" });
    assert.equal((await readSession(path)).op, op);
    assert.equal((await readStash(path)).length, 1);
    await close();
  });

  test("S4-17 S4-16: a card dragged into the stash is pruned with its descendants in one step", async () => {
    const { path, ids, page, close } = await openTreeWithStash();
    const [from, to] = [await waitUntilStill(page, ids[2]), await middle(stashPanel(page))];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x - 20, from.y, { steps: 3 });
    await stashPanel(page).getByText("Drop here to move it to the stash").waitFor();
    await checkAccessibility(page, "a card that is drawn into the stash");
    await page.mouse.move(to.x, to.y, { steps: 8 });
    await page.locator(".tree-drawer.is-over").waitFor();
    await page.mouse.up();
    await fragmentRow(page, "To the harbour.").waitFor();
    const items = await readStash(path);
    assert.deepEqual(items.map(({ nodeId, count }) => [nodeId, count])[0], [ids[2], 2]);
    await waitUntil(async () => (await positionOf(page, ids[2])) === null, "it is drawn no more");
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await readStash(path)).length === 1, "one undo puts it back");
    assert.equal(await parentOf(path, ids[2]), ids[1]);
    await fragmentRow(page, "To the harbour.").waitFor({ state: "detached" });
    await close();
  });

  test("S4-16 S4-58: by keys: D opens the stash, a fragment is named, placed below a message and restored; Escape closes the stash", async () => {
    const { path, ids, side } = await seedFork();
    await clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations: [{ op: "prune", nodeId: side[0] }] });
    const { page, close } = await openSession(path);
    await openTree(page);
    const hasKeys = (locator) =>
      waitUntil(() => locator.evaluate((box) => box.contains(document.activeElement)), "it has the keyboard");
    await page.keyboard.press("d");
    await fragmentRow(page, "To the hills.").waitFor();
    await hasKeys(stashPanel(page));
    await page.keyboard.press("Escape");
    await stashPanel(page).waitFor({ state: "detached" });
    await hasKeys(treeElement(page));
    await page.keyboard.press("d");
    const more = async (name, label) => {
      await fragmentRow(page, name)
        .getByRole("button", { name: `More actions for “${name}”` })
        .press("Enter");
      await page.locator(".menu:popover-open").getByRole("button", { name: label, exact: true }).press("Enter");
    };
    await more("To the hills.", "Rename");
    await stashPanel(page).getByRole("textbox", { name: "Name" }).fill("The hills");
    await page.keyboard.press("Enter");
    await waitUntil(async () => (await readStash(path))[0].name === "The hills", "it has its name");
    await fragmentRow(page, "The hills").waitFor();
    await more("The hills", "Read");
    await fragmentRow(page, "The hills").getByText("A path through thorns.").waitFor();
    await fragmentRow(page, "The hills").getByRole("button", { name: "Put below…" }).press("Enter");
    await hasKeys(treeElement(page));
    await page.keyboard.press("End");
    await waitForCursor(page, "Masts in the dusk.");
    await bar(page).getByText("Below “Masts in the dusk.”").waitFor();
    await page.keyboard.press("p");
    await waitForMovedNotice(page);
    assert.equal(await parentOf(path, side[0]), ids[3]);
    await page.keyboard.press("Control+z");
    await fragmentRow(page, "The hills").getByRole("button", { name: "Put back" }).press("Enter");
    await page.getByText("Put back in place.").waitFor();
    assert.equal(await parentOf(path, side[0]), ids[1]);
    assert.ok(page.url().endsWith("/tree"), "the tree is still there");
    await close();
  });

  test("S4-16: a finger that rests on a fragment drags it, another one scrolls; on a phone the stash is a sheet from below", async () => {
    const { path, ids, side, page, close } = await openTreeWithStash(PHONE);
    await checkAccessibility(page, "the stash on a phone");
    const [sheet, field] = [await stashPanel(page).boundingBox(), await page.locator(".tree-field").boundingBox()];
    assert.ok(sheet.y >= field.y + field.height - 1 && sheet.width > 380, "below the tree");
    assert.ok(field.height > 250, "which is still seen");
    const { op } = await readSession(path);
    const touch = await touchDispatcher(page);
    const from = await middle(fragmentRow(page, "To the hills.").getByRole("heading"));
    await touch("touchStart", from);
    await touch("touchMove", { x: from.x, y: from.y - 60 });
    await touch("touchEnd");
    assert.equal(await bar(page).count(), 0, "nothing is taken up");
    assert.equal((await readSession(path)).op, op);
    await page.getByRole("button", { name: "Go to current message" }).click();
    const to = await waitUntilStill(page, ids[3]);
    await touch("touchStart", from);
    await page.locator(".piece-handle.is-held").waitFor();
    for (const part of [0.2, 0.5, 0.8, 1])
      await touch("touchMove", { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part });
    await bar(page).getByText("Below “Masts in the dusk.”").waitFor();
    await touch("touchEnd");
    await waitForMovedNotice(page);
    assert.equal(await parentOf(path, side[0]), ids[3]);
    // Back into the stash.
    const [here, there] = [await waitUntilStill(page, ids[3]), await middle(stashPanel(page))];
    await touch("touchStart", here);
    await page.locator('tree-canvas canvas[data-doing="held"]').waitFor();
    for (const part of [0.2, 0.5, 0.8, 1])
      await touch("touchMove", { x: here.x + (there.x - here.x) * part, y: here.y + (there.y - here.y) * part });
    await page.locator(".tree-drawer.is-over").waitFor();
    await touch("touchEnd");
    await waitUntil(async () => (await readStash(path))[0]?.nodeId === ids[3], "it is in the stash");
    assert.equal((await readStash(path))[0].count, 3);
    await close();
  });

  test("S4-58: permanent deletion asks first; named fragments survive a restart and appear in another tab at once", async () => {
    const server = await startClotho();
    extraServers.push(server);
    const character = await server.api("POST", "/api/characters", { name: "Rin", firstMessage: "The map." });
    const { id } = await server.api("POST", "/api/sessions", { characterIds: [character.id], plugins: [] });
    const at = `/api/chat/${id}`;
    let parentId = (await server.api("GET", `/api/sessions/${id}`)).activeLeafId;
    const ids = [];
    for (const content of ["One.", "Two.", "Three."])
      ids.push((parentId = (await server.api("POST", `${at}/message`, { parentId, content })).node.id));
    const { page, close } = await openPage(browser, { expected: /Failed to load resource|WebSocket|ERR_CONNECTION/ });
    await page.goto(`${server.base}/s/${id}/tree`);
    await treeElement(page).waitFor();
    await page.keyboard.press("d");
    await stashPanel(page).getByText("The stash is empty.").waitFor();
    for (const nodeId of [ids[2], ids[1]])
      await server.api("PUT", `${at}/tree/edit`, { operations: [{ op: "prune", nodeId }] });
    await fragmentRow(page, "Three.").waitFor();
    await fragmentRow(page, "Two.").waitFor();
    await fragmentRow(page, "Three.").getByText("The message before it is not in the story now").waitFor();
    const [fragment] = (await server.api("GET", `${at}/stash`)).items;
    await server.api("PUT", `${at}/tree/edit`, {
      operations: [{ op: "rename", fragmentId: fragment.id, name: "Second" }],
    });
    await server.stop();
    await server.start();
    await page.reload();
    await fragmentRow(page, "Second").waitFor();
    await fragmentRow(page, "Three.").waitFor();
    await fragmentRow(page, "Second").getByRole("button", { name: "More actions for “Second”" }).click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "Delete permanently" }).click();
    const question = fragmentRow(page, "Second").getByRole("group", { name: "Delete permanently" });
    await question.getByText("will be deleted").waitFor();
    const button = question.getByRole("button", { name: "Delete permanently" });
    assert.ok(await button.isDisabled(), "one click is not enough");
    await question.getByRole("checkbox").check();
    await button.click();
    await page.getByText("Deleted permanently.").waitFor();
    await fragmentRow(page, "Second").waitFor({ state: "detached" });
    assert.equal((await server.api("GET", `${at}/stash`)).items.length, 1);
    await close();
  });
});

describe("two branches beside the tree", () => {
  const comparison = (page) => page.getByRole("region", { name: "Compare" });

  test("S4-06: two selected messages are compared beside the tree, with texts and state, while the tree stays usable", async () => {
    const { path, ids, side } = await seedFork();
    const other = (await clotho.api("POST", `${chatPath(path)}/node/${ids[3]}/edit`, { content: "Masts in the dawn." }))
      .node.id;
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: ids[3], exact: true });
    await clotho.api("PUT", `${chatPath(path)}/node/${ids[3]}/state`, { rating: 3 });
    const { page, close } = await openSession(path);
    await openTree(page);
    await unfold(page);
    await treeElement(page).focus();
    await page.keyboard.press("s");
    await page.keyboard.press("ArrowRight");
    await waitForCursor(page, "Masts in the dawn.");
    await page.keyboard.press("s");
    await page
      .getByRole("status")
      .filter({ hasText: "2 messages are selected." })
      .getByRole("button", { name: "Compare" })
      .click();
    await comparison(page).getByRole("region", { name: "Branch 1" }).getByText("Masts in the dusk.").waitFor();
    await comparison(page).getByRole("region", { name: "Branch 2" }).getByText("Masts in the dawn.").waitFor();
    await comparison(page).getByText("Branched off after “To the harbour.”").waitFor();
    await comparison(page).getByText("The states are the same.").waitFor();
    const marked = () => page.evaluate(() => [...(CSS.highlights.get("differs") ?? [])].map(String));
    await waitUntil(async () => (await marked()).join() === "dusk,dawn", "the words that differ are marked");
    await checkAccessibility(page, "two lines beside the tree");
    const compared = () =>
      page
        .locator("tree-canvas")
        .evaluate(({ scene }) => scene.compared.map((card) => scene.outline.ids[scene.cards.node[card]]));
    assert.deepEqual(await compared(), [ids[3], other], "the tree says which they are");
    await comparison(page).getByRole("button", { name: "Swap sides" }).click();
    await waitUntil(async () => (await compared()).join() === [other, ids[3]].join(), "turned round");
    await treeElement(page).focus();
    await page.keyboard.press("ArrowUp");
    await waitForCursor(page, "You: To the harbour.");
    await comparison(page).waitFor();
    // A third one, by its key: compared with HEAD.
    await page.keyboard.press("ArrowRight");
    await waitForCursor(page, "You: To the hills.");
    await page.keyboard.press("ArrowDown");
    await waitForCursor(page, "A path through thorns.");
    await page.keyboard.press("Enter");
    await page.locator(".tree-message").getByText("A path through thorns.").waitFor();
    assert.equal(await comparison(page).count(), 0, "what is read takes its place");
    await treeElement(page).focus();
    await page.keyboard.press("c");
    await comparison(page).getByRole("region", { name: "Branch 2" }).getByText("A path through thorns.").waitFor();
    assert.deepEqual(await compared(), [ids[3], side[1]]);
    await page.keyboard.press("Escape");
    await comparison(page).waitFor({ state: "detached" });
    await waitUntil(
      () => treeElement(page).evaluate((box) => box === document.activeElement),
      "the tree has the keyboard",
    );
    assert.deepEqual(await marked(), [], "and nothing is marked any longer");
    assert.ok(page.url().endsWith("/tree"));
    await close();
  });

  test("S4-06: on a phone the comparison is a sheet below the tree, with the state since the common ancestor", async () => {
    const { path, ids, side } = await seedFork();
    await clotho.api("POST", `${chatPath(path)}/node/${side[1]}/world`, {
      operations: [{ op: "set", path: "/gold", value: 7 }],
    });
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: ids[3], exact: true });
    const { page, close } = await openSession(path, PHONE);
    await openTree(page);
    await unfold(page);
    await page.getByRole("button", { name: "Fit to screen" }).click();
    const { x, y } = await waitUntilStill(page, side[1]);
    await page.touchscreen.tap(x, y);
    await page.locator(".tree-message .more").click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "Compare with current branch" }).click();
    await comparison(page).getByRole("region", { name: "Branch 2" }).getByText("A path through thorns.").waitFor();
    await comparison(page)
      .getByRole("row", { name: /Gold missing 7 added/ })
      .waitFor();
    await checkAccessibility(page, "a comparison on a phone");
    const field = await page.locator(".tree-field").boundingBox();
    assert.ok(field.height > 180, "the tree is still seen");
    await close();
  });
});
