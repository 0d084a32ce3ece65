// The page against the real server: the author's note of a story.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, until } from "./support/browser.mjs";
import { check, chooseFromPage, newStory, open, session } from "./support/stage.mjs";

describe("author's note", () => {
  test("S1-17: is written, stands where it was put, and is emptied", async () => {
    const path = await newStory();
    const { page, close } = await open(path);
    await chooseFromPage(page, "Author's note");
    const dialog = page.getByRole("dialog", { name: "Author's note", exact: true });
    await dialog.getByLabel("Note", { exact: true }).fill("Keep it dark.");
    await dialog.getByLabel("Messages behind it").fill("2");
    await check(page, "the author's note");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await until(async () => (await session(path)).authorsNote?.text === "Keep it dark.", "it is kept");
    await page.reload();
    await chooseFromPage(page, "Author's note");
    assert.equal(await dialog.getByLabel("Note", { exact: true }).inputValue(), "Keep it dark.");
    assert.equal(await dialog.getByLabel("Messages behind it").inputValue(), "2");
    await dialog.getByLabel("Where it stands").selectOption({ label: "Behind the instructions" });
    await dialog.getByLabel("Messages behind it").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Save" }).click();
    await until(async () => (await session(path)).authorsNote?.place === "afterMain", "it stands elsewhere");
    assert.equal((await session(path)).authorsNote.depth, 2, "what is not to be seen stays");
    await dialog.waitFor({ state: "detached" });
    await chooseFromPage(page, "Author's note");
    await dialog.getByLabel("Note", { exact: true }).fill("");
    await dialog.getByRole("button", { name: "Save" }).click();
    await until(async () => (await session(path)).authorsNote === null, "there is none");
    await close();
  });
});
