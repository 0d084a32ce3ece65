// Tests against the real server: messages and fragments are dragged.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import {
  chatPath,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  readBranch,
  messageById,
  openSeededBranch,
  readSession,
  messageTexts,
} from "./support/setup.mjs";

/** Starts dragging an element and moves it a little, so that the browser notices the drag. */
async function startDrag(page, handle) {
  const { x, y, width, height } = await handle.boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width / 2 + 12, y + height / 2 + 12, { steps: 4 });
}

/** Drags it to its target and drops it. */
async function dropOn(page, place) {
  const { x, y, width, height } = await place.boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2, { steps: 6 });
  await page.mouse.up();
}

const handle = (page, id) => messageById(page, id).locator(".handle .avatar");
const readStash = async (path) => (await clotho.api("GET", `${chatPath(path)}/stash`)).items;

describe("dragging", () => {
  test("S4-58: a message is dragged by its handle below another one; dropped elsewhere, it stays", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    const { op } = await readSession(path);
    await startDrag(page, handle(page, ids[2]));
    await page.getByText("Choose the message to place it below:").waitFor();
    await checkAccessibility(page, "a message that is dragged");
    await dropOn(page, page.locator(".topbar .title"));
    await page.getByText("Choose the message to place it below:").waitFor({ state: "detached" });
    assert.equal((await readSession(path)).op, op, "nothing was done");
    await startDrag(page, handle(page, ids[2]));
    await page.getByText("Choose the message to place it below:").waitFor();
    await dropOn(page, messageById(page, ids[0]).locator(".prose"));
    await page.getByText("Moved, with everything after it.").waitFor();
    assert.equal((await clotho.api("GET", `${chatPath(path)}/node/${ids[2]}`)).parentId, ids[0]);
    await close();
  });

  test("S4-58: a message is dragged into the stash, and from there below another message", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await startDrag(page, handle(page, ids[3]));
    const stash = page.getByRole("button", { name: "Move to stash" });
    await stash.waitFor();
    await dropOn(page, stash);
    await page.getByText("Moved to the stash").waitFor();
    assert.equal((await readStash(path)).length, 1);
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "To the harbour.", "it is gone from the line");
    await chooseFromPageMenu(page, "Stash");
    await startDrag(
      page,
      page.getByRole("dialog", { name: "Stash" }).getByRole("heading", { name: "Masts in the dusk." }),
    );
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await dropOn(page, messageById(page, ids[1]).locator(".prose"));
    await page.getByText("Moved, with everything after it.").waitFor();
    assert.equal((await readStash(path)).length, 0);
    assert.equal((await clotho.api("GET", `${chatPath(path)}/node/${ids[3]}`)).parentId, ids[1]);
    assert.equal((await readBranch(path)).at(-1).content, "To the harbour.", "the story stays where it is");
    await close();
  });
});
