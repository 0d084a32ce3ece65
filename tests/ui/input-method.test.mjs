// Tests with an input method, as for Chinese: during composition, Enter accepts the word and Escape drops it. Neither
// sends, selects or closes anything.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  playUntilHurt,
  browser,
  chatPath,
  clotho,
  composer,
  messageById,
  openSeededBranch,
  readSession,
} from "./support/setup.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** Starts a composition in the focused field, presses a key that would end it, and accepts the word. @param {Page} page */
async function compose(page) {
  const tools = await page.context().newCDPSession(page);
  const ime = (/** @type {string} */ text) =>
    tools.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
  const field = page.locator(":focus");
  const before = await field.inputValue();
  await field.press("End");
  await ime("deng");
  assert.equal(await field.inputValue(), `${before}deng`);
  for (const [key, code] of [
    ["Enter", 13],
    ["Escape", 27],
    ["Tab", 9],
    ["ArrowDown", 40],
  ]) {
    // The events of a key that the input method handles, and of a key that some of them send after it.
    for (const windowsVirtualKeyCode of [229, Number(code)]) {
      const press = {
        key: windowsVirtualKeyCode === 229 ? "Process" : String(key),
        code: String(key),
        windowsVirtualKeyCode,
      };
      if (windowsVirtualKeyCode === 229) await tools.send("Input.dispatchKeyEvent", { type: "rawKeyDown", ...press });
      else
        await field.evaluate(
          (target, { key, code }) =>
            target.dispatchEvent(
              new KeyboardEvent("keydown", {
                key: String(key),
                keyCode: Number(code),
                isComposing: true,
                bubbles: true,
                cancelable: true,
              }),
            ),
          { key, code },
        );
    }
    assert.equal(
      await page.locator(":focus").inputValue(),
      `${before}deng`,
      `${key} leaves the field and what is in it`,
    );
  }
  await tools.send("Input.insertText", { text: "灯" });
  await waitUntil(async () => (await page.locator(":focus").inputValue()) === `${before}灯`, "the word is taken");
  await tools.detach();
  // The text is restored, so that no question appears.
  await field.fill(before);
}

/** @param {Page} page @param {string} name */
async function chooseFromMenuOf(page, name) {
  await page.keyboard.press("Control+Shift+p");
  await page.getByRole("combobox").fill(`>${name}`);
  await page.getByRole("option", { name, exact: true }).first().click();
}

describe("composition", () => {
  test("S0-46: Enter and Escape during composition send, select and close nothing in the field, search, command list, name and label", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    const { op } = await readSession(path);
    await composer(page).focus();
    await compose(page);

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").focus();
    await compose(page);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+Shift+p");
    await page.getByRole("combobox").focus();
    await compose(page);
    await page.keyboard.press("Escape");

    await chooseFromMenuOf(page, "Rename story");
    await page.getByRole("dialog").getByRole("textbox").first().focus();
    await compose(page);
    await page.keyboard.press("Escape");

    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("n");
    await page.getByRole("dialog").getByRole("textbox").first().focus();
    await compose(page);
    await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).click();

    assert.equal((await readSession(path)).op, op, "nothing was done");
    assert.equal((await clotho.api("GET", `${chatPath(path)}/projection`)).items.length, 5);
    await close();
  });

  test("composition works in the search of values and of characters", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    await page.getByRole("searchbox", { name: "Find a variable" }).focus();
    await compose(page);
    await close();
  });
});
