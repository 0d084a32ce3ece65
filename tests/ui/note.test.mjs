// Tests against the real server: the author's note of a session.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import { checkAccessibility, chooseFromPageMenu, createSession, openSession, readSession } from "./support/setup.mjs";

describe("author's note", () => {
  test("the author's note is written, placed in the prompt, and emptied", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Author's note");
    const dialog = page.getByRole("dialog", { name: "Author's note", exact: true });
    await dialog.getByRole("textbox", { name: "Note", exact: true }).fill("Keep it dark.");
    await dialog.getByRole("spinbutton", { name: "Depth" }).fill("2");
    await checkAccessibility(page, "the author's note");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await waitUntil(async () => (await readSession(path)).authorsNote?.text === "Keep it dark.", "it is kept");
    await page.reload();
    await chooseFromPageMenu(page, "Author's note");
    assert.equal(await dialog.getByRole("textbox", { name: "Note", exact: true }).inputValue(), "Keep it dark.");
    assert.equal(await dialog.getByRole("spinbutton", { name: "Depth" }).inputValue(), "2");
    await dialog.getByLabel("Position").selectOption({ label: "After the main prompt" });
    await dialog.getByRole("spinbutton", { name: "Depth" }).waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Save" }).click();
    await waitUntil(async () => (await readSession(path)).authorsNote?.place === "afterMain", "it stands elsewhere");
    assert.equal((await readSession(path)).authorsNote.depth, 2, "what is not to be seen stays");
    await dialog.waitFor({ state: "detached" });
    await chooseFromPageMenu(page, "Author's note");
    await dialog.getByRole("textbox", { name: "Note", exact: true }).fill("");
    await dialog.getByRole("button", { name: "Save" }).click();
    await waitUntil(async () => (await readSession(path)).authorsNote === null, "there is none");
    await close();
  });

  test("an unsaved note survives a reload and the back button, and nothing else", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    const dialog = page.getByRole("dialog", { name: "Author's note", exact: true });
    const text = dialog.getByRole("textbox", { name: "Note", exact: true });
    await chooseFromPageMenu(page, "Author's note");
    await text.fill("Half a thought");
    await dialog.getByLabel("Insertion frequency").fill("3");
    const again = async () => {
      await chooseFromPageMenu(page, "Author's note");
      await dialog.getByText("Your unsaved draft is in the fields again.").waitFor();
      assert.equal(await text.inputValue(), "Half a thought");
      assert.equal(await dialog.getByLabel("Insertion frequency").inputValue(), "3");
    };
    await page.reload();
    await again();
    await page.evaluate(() => (history.pushState(null, "", location.href), history.back()));
    await dialog.waitFor({ state: "detached" });
    await again();
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Discard" }).click();
    await dialog.waitFor({ state: "detached" });
    await chooseFromPageMenu(page, "Author's note");
    assert.equal(await text.inputValue(), "");
    await close();
  });
});
