// Tests against the real server with late modules and frames: input in the meantime is neither lost nor undone.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { browser, chooseFromMessageMenu, clotho, seedBranch, messageById, openSeededBranch } from "./support/setup.mjs";

/** A delay longer than the time between two keys of a test. */
const LATE = 1500;

/** Opens a session whose menus, dialogs, state panel and turn bar are not loaded; `come` lets them load. */
async function openWithoutTools() {
  const { path, ids } = await seedBranch();
  const { page, close } = await openPage(browser);
  let come = () => {};
  const held = new Promise((resolve) => (come = () => resolve(undefined)));
  await page.route("**/built/js/tools.js", (route) => held.then(() => route.continue()));
  await page.goto(clotho.base + path);
  return { ids, page, close, come: () => come() };
}

/** Modules that load after the first picture: what the next click needs, and an extra. */
const MODULES = /\/built\/js\/(offline|tools)\.js$/;

describe("on a slow machine", () => {
  test("a session is readable before its menus are loaded; a key and an open menu wait for them", async () => {
    const { ids, page, close, come } = await openWithoutTools();
    const message = messageById(page, ids[0]);
    await message.getByText("To the north.").waitFor();
    await message.locator("article").focus();
    await page.keyboard.press("m");
    const menu = page.locator(".menu:popover-open");
    await menu.waitFor();
    assert.equal(await menu.getByRole("button").count(), 0);
    await page.keyboard.press("Escape");
    await page.keyboard.press("k");
    come();
    await page.getByRole("dialog", { name: "Save as lorebook entry" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("complementary", { name: "State" }).waitFor();
    await close();
  });

  test("a module that fails to load is no error of the page, and loads again when it is needed", async () => {
    const { path, ids } = await seedBranch();
    const { page, close } = await openPage(browser, { expected: /ERR_FAILED/ });
    const refused = new Set();
    await page.route(MODULES, (route) => {
      refused.add(new URL(route.request().url()).pathname.split("/").at(-1));
      return route.abort();
    });
    await page.goto(clotho.base + path);
    await messageById(page, ids[0]).getByText("To the north.").waitFor();
    await waitUntil(async () => refused.size === 2, "both modules were asked for");
    await page.unroute(MODULES);
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("k");
    await page.getByRole("dialog", { name: "Save as lorebook entry" }).waitFor();
    await close();
  });

  test("the turn bar loads into its reserved space, so that nothing moves", async () => {
    const { ids, page, close, come } = await openWithoutTools();
    const message = messageById(page, ids[3]);
    await message.waitFor();
    const row = page.getByRole("navigation", { name: "Turns" });
    assert.equal(await row.count(), 0);
    const before = await message.boundingBox();
    come();
    await row.waitFor();
    await page.getByRole("complementary", { name: "State" }).waitFor();
    assert.deepEqual(await message.boundingBox(), before);
    await close();
  });

  test("an arrow key right after a letter is not undone", async () => {
    const { page, close } = await openSeededBranch({ late: LATE });
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: "Search" });
    await field.fill(">");
    await page.getByRole("option").nth(1).waitFor();
    await field.press("ArrowDown");
    const chosen = page.getByRole("option", { selected: true });
    const second = await page.getByRole("option").nth(1).innerText();
    await page.evaluate((ms) => new Promise((resolve) => setTimeout(resolve, ms)), LATE + 200);
    assert.equal(await chosen.innerText(), second);
    await close();
  });

  test("an edit cancelled at once is not stored", async () => {
    const { ids, page, close } = await openSeededBranch({ late: LATE });
    const dialog = page.getByRole("dialog", { name: "Save as lorebook entry" });
    const text = dialog.getByRole("textbox", { name: "Content" });
    await chooseFromMessageMenu(page, messageById(page, ids[0]), "Save as lorebook entry");
    await text.fill("Never.");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await chooseFromMessageMenu(page, messageById(page, ids[0]), "Save as lorebook entry");
    await text.waitFor();
    assert.equal(await text.inputValue(), "You: To the north.");
    await close();
  });

  test("an entry deleted while its lorebook was read again does not come back", async () => {
    const { id } = await clotho.api("POST", "/api/lorebooks", {
      name: "Late",
      entries: [
        { uid: 1, comment: "Gull", content: "White." },
        { uid: 2, comment: "Tern", content: "Grey." },
      ],
    });
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Lorebooks" }).click();
    await page.getByRole("article", { name: "Late", exact: true }).getByRole("button", { name: "Open" }).click();
    const dialog = page.getByRole("dialog", { name: "Late" });
    await dialog.getByRole("article", { name: "Tern" }).waitFor();
    /** @type {() => void} */
    let letGo = () => {};
    const held = new Promise((resolve) => (letGo = () => resolve(undefined)));
    let isAsked = false;
    await page.route(
      `**/api/lorebooks/${id}/entries?**`,
      async (route) => {
        const old = await route.fetch();
        isAsked = true;
        await held;
        await route.fulfill({ response: old });
      },
      { times: 1 },
    );
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await waitUntil(async () => isAsked, "the book is read again");
    await dialog.getByRole("button", { name: "Delete “Tern”" }).click();
    await dialog.getByRole("article", { name: "Tern" }).waitFor({ state: "detached" });
    const again = page.waitForResponse(
      (answer) => answer.url().includes(`/api/lorebooks/${id}`) && answer.request().method() === "GET",
    );
    letGo();
    await again;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.equal(await dialog.getByRole("article", { name: "Tern" }).count(), 0);
    await close();
  });
});
