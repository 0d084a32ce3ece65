// Tests against the real server: the links and global settings of lorebooks, changed on the page and applied to the
// next prompt.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import {
  chatPath,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  openSession,
  waitForReply,
  sendMessage,
  readSession,
  createSession,
} from "./support/setup.mjs";

const lorebookDialog = (/** @type {import("playwright-core").Page} */ page) =>
  page.getByRole("dialog", { name: "Lorebooks", exact: true });
/** Returns which entries the next prompt of a session contains. @param {string} path @param {string} content */
const activatedEntries = async (path, content) => {
  const { lore } = await clotho.api("POST", `${chatPath(path)}/prompt`, {
    parentId: (await readSession(path)).activeLeafId,
    content,
  });
  return (lore?.fired ?? []).map(({ title }) => title).sort();
};

describe("links and settings of lorebooks", () => {
  test("S3-16: the links of a lorebook are changed on the page, and the next prompt contains its entries or not", async () => {
    const { id } = await clotho.api("POST", "/api/lorebooks", {
      name: "Tides",
      entries: [{ comment: "Ebb", key: ["tide"], content: "It turns at six." }],
    });
    const [path, other] = [await createSession({ title: "The quay" }), await createSession({ title: "Inland" })];
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Lorebooks");
    await lorebookDialog(page).getByRole("article", { name: "Tides" }).getByRole("button", { name: "Open" }).click();
    const book = page.getByRole("dialog", { name: "Tides" });
    await book.getByText("Linked to:").waitFor();
    assert.deepEqual(await activatedEntries(path, "The tide!"), []);
    await book.getByText("Linked to:").click();
    await book.getByRole("combobox", { name: "Add a story…" }).selectOption({ label: "The quay" });
    await book.getByRole("button", { name: "Unlink “The quay”" }).waitFor();
    assert.deepEqual(
      [await activatedEntries(path, "The tide!"), await activatedEntries(other, "The tide!")],
      [["Ebb"], []],
    );
    await book.getByRole("checkbox", { name: /^all stories/ }).check();
    await waitUntil(
      async () => (await clotho.api("GET", `/api/lorebooks/${id}/holds`)).everything,
      "it holds for everything",
    );
    assert.deepEqual(await activatedEntries(other, "The tide!"), ["Ebb"]);
    await book.getByRole("checkbox", { name: /^all stories/ }).uncheck();
    await waitUntil(
      async () => !(await clotho.api("GET", `/api/lorebooks/${id}/holds`)).everything,
      "it does not any more",
    );
    assert.deepEqual(
      [await activatedEntries(path, "The tide!"), await activatedEntries(other, "The tide!")],
      [["Ebb"], []],
    );
    await page.keyboard.press("Escape");
    await book.waitFor({ state: "detached" });
    await sendMessage(page, "The tide!");
    await waitForReply(page);
    const { activeLeafId } = await readSession(path);
    const { lore, messages } = await clotho.api("GET", `${chatPath(path)}/node/${activeLeafId}/trace`);
    assert.deepEqual(
      lore.fired.map(({ title }) => title),
      ["Ebb"],
    );
    assert.ok(JSON.stringify(messages).includes("It turns at six."), "it reached the model");
    await chooseFromPageMenu(page, "Lorebooks");
    await lorebookDialog(page).getByRole("article", { name: "Tides" }).getByRole("button", { name: "Open" }).click();
    await book.getByText("Linked to:").click();
    await book.getByRole("button", { name: "Unlink “The quay”" }).click();
    await book.getByText("nothing yet").waitFor();
    assert.deepEqual(await activatedEntries(path, "The tide!"), []);
    await close();
  });

  test("the global lore settings are changed on the page, apply to the next prompt, and are reset", async () => {
    const { id } = await clotho.api("POST", "/api/lorebooks", {
      name: "Kings",
      entries: [
        { comment: "King", key: ["king"], content: "He is old." },
        { comment: "Road", key: ["zzz"], content: "The old road to the northern harbour." },
      ],
    });
    const path = await createSession();
    const { activeLeafId: _, ...sid } = await readSession(path);
    await clotho.api("PUT", `/api/lorebooks/${id}/holds`, { sessionIds: [sid.id] });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Lorebooks");
    await lorebookDialog(page).getByText("World Info settings").click();
    const form = lorebookDialog(page).locator(".lore-rules form");
    await form.getByRole("spinbutton", { name: /^Scan depth The number of recent messages/ }).waitFor();
    await checkAccessibility(page, "how lorebooks are read");
    assert.deepEqual(await activatedEntries(path, "The kingdom!"), []);
    await form.getByRole("checkbox", { name: /^Match whole words/ }).uncheck();
    await form.getByRole("spinbutton", { name: /^Scan depth The number of recent messages/ }).fill("1");
    await form.getByRole("button", { name: "Save" }).click();
    await lorebookDialog(page).getByText("Saved. It applies from the next message on.").waitFor();
    assert.deepEqual(await activatedEntries(path, "The kingdom!"), ["King"]);
    const { scanDepth, matchWholeWords } = await clotho.api("GET", "/api/lorebooks/settings");
    assert.deepEqual([scanDepth, matchWholeWords], [1, false]);
    await form.getByRole("button", { name: "Reset to defaults" }).click();
    await waitUntil(async () => (await clotho.api("GET", "/api/lorebooks/settings")).scanDepth === 2, "it is as usual");
    assert.deepEqual(await activatedEntries(path, "The kingdom!"), []);
    // Settings that another client changed meanwhile are not overwritten without a question.
    await form.getByRole("spinbutton", { name: /^Scan depth The number of recent messages/ }).fill("3");
    await clotho.api("PUT", "/api/lorebooks/settings", { scanDepth: 7 });
    await form.getByRole("button", { name: "Save" }).click();
    await lorebookDialog(page).getByText("The settings were changed elsewhere.").waitFor();
    await checkAccessibility(page, "two who set how lorebooks are read");
    assert.equal((await clotho.api("GET", "/api/lorebooks/settings")).scanDepth, 7);
    await lorebookDialog(page).getByRole("button", { name: "Save mine anyway" }).click();
    await waitUntil(async () => (await clotho.api("GET", "/api/lorebooks/settings")).scanDepth === 3, "mine are kept");
    await clotho.api("PUT", "/api/lorebooks/settings", { scanDepth: 8 });
    await form.getByRole("button", { name: "Save" }).click();
    await lorebookDialog(page).getByRole("button", { name: "Load the saved settings" }).click();
    await waitUntil(
      async () =>
        (await form.getByRole("spinbutton", { name: /^Scan depth The number of recent messages/ }).inputValue()) ===
        "8",
      "theirs are shown",
    );
    await form.getByRole("button", { name: "Reset to defaults" }).click();
    await waitUntil(
      async () => (await clotho.api("GET", "/api/lorebooks/settings")).scanDepth === 2,
      "it is as usual again",
    );
    // A constant entry is activated without its key.
    await lorebookDialog(page).getByRole("article", { name: "Kings" }).getByRole("button", { name: "Open" }).click();
    const book = page.getByRole("dialog", { name: "Kings" });
    await book.getByRole("button", { name: "Edit “Road”" }).click();
    await book.getByRole("checkbox", { name: /^Vectorized/ }).check();
    await book.getByRole("button", { name: "Save", exact: true }).click();
    await book.getByRole("article", { name: "Road" }).getByText("Vectorized").waitFor();
    assert.deepEqual(await activatedEntries(path, "Which road leads to the northern harbour?"), ["Road"]);
    await close();
  });
});
