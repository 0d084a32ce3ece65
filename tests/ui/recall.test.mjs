// The page against the real server: what a story recalls, and the documents that it looks through.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, until } from "./support/browser.mjs";
import { check, chooseFromPage, clotho, newStory, open, session } from "./support/stage.mjs";

describe("memory", () => {
  test("S1-17: is switched on for a story, documents are added, looked into, ticked and destroyed", async () => {
    const path = await newStory();
    const { page, close } = await open(path);
    await chooseFromPage(page, "Memory");
    const dialog = page.getByRole("dialog", { name: "Memory", exact: true });
    const on = dialog.getByRole("checkbox", { name: /^Recall what was said long ago/ });
    await on.check();
    await until(async () => (await session(path)).recall.enabled === true, "it is on");
    await dialog.getByLabel("Collection").fill("Maps");
    await dialog.getByLabel("Text").fill("The harbour lies north of the ferry.");
    await dialog.getByRole("button", { name: "Add it" }).click();
    const row = dialog.getByRole("article", { name: "Maps", exact: true });
    await row.getByText("1 document").waitFor();
    await row.getByRole("checkbox").check();
    await until(async () => (await session(path)).recall.collections.join() === "Maps", "the collection is looked through");
    await row.getByRole("button", { name: "Look into it" }).click();
    await row.getByText("The harbour lies north of the ferry.").waitFor();
    await check(page, "the memory of a story");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.reload();
    await chooseFromPage(page, "Memory");
    assert.ok(await on.isChecked());
    assert.ok(await row.getByRole("checkbox").isChecked());
    await row.getByRole("button", { name: "Look into it" }).click();
    await row.getByRole("button", { name: "Destroy this document" }).click();
    await row.getByText("0 documents").waitFor();
    assert.deepEqual(await clotho.api("GET", "/api/collections"), []);
    // Nothing stands behind the name any more: with its tick the row goes.
    await row.getByRole("checkbox").click();
    await row.waitFor({ state: "detached" });
    await close();
  });
});
