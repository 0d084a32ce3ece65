// Tests against the real server: several messages are selected in the tree and changed together.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import { seedFork, openTree, waitUntilStill, treeElement } from "./support/tree-page.mjs";
import { chatPath, checkAccessibility, clotho, openSession, readSession } from "./support/setup.mjs";

const node = (path, id) => clotho.api("GET", `${chatPath(path)}/node/${id}`);
const bar = (page, n) =>
  page.getByRole("status").filter({ hasText: n === 1 ? "One message is selected." : `${n} messages are selected.` });
const unfold = (page) => page.getByRole("button", { name: "Fold other branches" }).click();

async function shiftClick(page, id) {
  const { x, y } = await waitUntilStill(page, id);
  await page.keyboard.down("Shift");
  await page.mouse.click(x, y);
  await page.keyboard.up("Shift");
}

describe("several messages of the tree", () => {
  test("S4-56: Shift and a click add a message to the selection; all are disabled and enabled in one step each", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await unfold(page);
    await shiftClick(page, ids[1]);
    await bar(page, 1).waitFor();
    await shiftClick(page, side[1]);
    await shiftClick(page, ids[2]);
    await bar(page, 3).waitFor();
    await shiftClick(page, ids[2]);
    await bar(page, 2).waitFor();
    await checkAccessibility(page, "chosen messages of a tree");
    const { op } = await readSession(path);
    await bar(page, 2).getByRole("button", { name: "Exclude from prompt" }).click();
    await waitUntil(
      async () => (await node(path, side[1])).isEnabled === false && (await node(path, ids[1])).isEnabled === false,
      "both are left out",
    );
    assert.equal((await node(path, ids[2])).isEnabled, true);
    assert.equal((await readSession(path)).op, op + 1, "in one step");
    await bar(page, 2).waitFor({ state: "detached" });
    await page.keyboard.press("Control+z");
    await waitUntil(
      async () => (await node(path, side[1])).isEnabled === true && (await node(path, ids[1])).isEnabled === true,
      "one undo puts both back",
    );
    await close();
  });

  test("S4-56: a box selects what it touches, with Shift or with the tool; the selection goes to the stash in one step", async () => {
    const { path, ids, side } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await unfold(page);
    const [top, end] = [await waitUntilStill(page, side[0]), await waitUntilStill(page, side[1])];
    const drawBox = async () => {
      await page.mouse.move(top.x + 130, top.y - 35);
      await page.mouse.down();
      await page.mouse.move(end.x - 20, end.y + 10, { steps: 5 });
      await page.mouse.up();
    };
    await page.keyboard.down("Shift");
    await drawBox();
    await page.keyboard.up("Shift");
    await bar(page, 2).waitFor();
    await page.keyboard.press("Escape");
    await bar(page, 2).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Select several" }).click();
    await drawBox();
    await bar(page, 2).getByRole("button", { name: "Delete, with everything after it" }).click();
    await page.getByText("Moved to the stash").waitFor();
    const { items } = await clotho.api("GET", `${chatPath(path)}/stash`);
    assert.deepEqual(
      items.map(({ nodeId, count }) => [nodeId, count]),
      [[side[0], 2]],
      "what follows another one goes with it",
    );
    assert.equal((await node(path, ids[3])).parentId, ids[2]);
    await close();
  });

  test("S4-56: keys select messages too, and two selected messages are compared", async () => {
    const { path, side } = await seedFork();
    const { page, close } = await openSession(path);
    await openTree(page);
    await unfold(page);
    await treeElement(page).focus();
    await page.keyboard.press("s");
    await bar(page, 1).waitFor();
    assert.match(
      await treeElement(page)
        .getByRole("treeitem", { name: /Masts in the dusk/ })
        .textContent(),
      /selected/,
    );
    await page.keyboard.press("Shift+ArrowUp");
    await bar(page, 2).waitFor();
    await page.keyboard.press("Control+a");
    await bar(page, 7).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("s");
    await shiftClick(page, side[1]);
    await bar(page, 2).getByRole("button", { name: "Compare" }).click();
    await page.getByRole("region", { name: "Compare" }).getByText("A path through thorns.").waitFor();
    await close();
  });
});
