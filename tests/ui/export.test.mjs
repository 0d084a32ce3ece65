// Tests against the real server: sessions and branches are exported in formats of other programs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe } from "node:test";
import { openPage, test } from "./support/browser.mjs";
import {
  browser,
  chatPath,
  checkAccessibility,
  chooseFromMessageMenu,
  chooseFromPageMenu,
  clotho,
  seedBranch,
  messageById,
  openSession,
} from "./support/setup.mjs";

/** Chooses a format in the dialog. Returns the file. @param {import("playwright-core").Page} page */
async function exportAs(page, form) {
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("radio", { name: form }).check();
  await checkAccessibility(page, "the question in which form");
  const coming = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Export" }).click();
  const file = await coming;
  await dialog.waitFor({ state: "detached" });
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
}

describe("formats of other programs", () => {
  test("S0-05: the branch on screen is exported as a chat with swipes, as Markdown and as HTML", async () => {
    const { path, ids } = await seedBranch();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title: "Over the ice" });
    await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: ids[2],
      role: "assistant",
      content: "Fog in the dusk.",
      moveHead: false,
    });
    const { page, close } = await openSession(path);
    const form = async (name) => {
      await chooseFromPageMenu(page, "Export branch as…");
      return exportAs(page, name);
    };
    const jsonl = await form(/^SillyTavern chat/);
    assert.match(jsonl.name, /^Over the ice.*\.jsonl$/);
    const rows = jsonl.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(rows.at(-1).swipes.toSorted(), ["Fog in the dusk.", "Masts in the dusk."]);
    assert.equal(rows.at(-1).mes, "Masts in the dusk.");
    assert.match((await form(/^Markdown text/)).text, /Masts in the dusk\./);
    assert.match((await form(/^HTML page/)).text, /<!doctype html>[\s\S]*Masts in the dusk\./i);
    assert.equal((await form(/^The whole story/)).name, "Over the ice.clotho");
    await close();
  });

  test("S4-53: everything is exported as a zipped SillyTavern folder; importing it again recognises the sessions", async () => {
    const { path } = await seedBranch();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title: "Round the point" });
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export everything (SillyTavern)" }).click();
    const file = await coming;
    assert.match(file.suggestedFilename(), /\.zip$/);
    const asked = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Import chats and archives" }).click();
    await (await asked).setFiles(
      await file
        .path()
        .then(async (at) => ({ name: "all.zip", mimeType: "application/zip", buffer: await readFile(at) })),
    );
    await page.getByRole("dialog").getByRole("button", { name: "Preview only" }).click();
    await page
      .getByRole("dialog", { name: "Import preview" })
      .getByText(/Would import: .*already here/)
      .waitFor();
    await close();
  });

  test("S4-53: a branch up to a message is exported from its menu, and a session from its menu on the first page, in Chinese too", async () => {
    const { path, ids } = await seedBranch();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title: "Past the cape" });
    const { page, close } = await openSession(path);
    await chooseFromMessageMenu(page, messageById(page, ids[1]), "Export up to here");
    assert.equal(
      await page
        .getByRole("dialog")
        .getByRole("radio", { name: /^The whole story/ })
        .count(),
      0,
    );
    const { text } = await exportAs(page, /^Markdown text/);
    assert.match(text, /Snow\./);
    assert.doesNotMatch(text, /harbour/);
    await close();
    const chinese = await openPage(browser, {
      locale: "zh-CN",
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await chinese.page.goto(clotho.base);
    await chinese.page.getByRole("listitem").filter({ hasText: "Past the cape" }).getByRole("button").tap();
    await chinese.page.locator(".menu:popover-open").getByRole("button", { name: "分支另存为…" }).tap();
    await chinese.page
      .getByRole("dialog", { name: "导出《Past the cape》" })
      .getByRole("radio", { name: /^HTML 网页/ })
      .check();
    const coming = chinese.page.waitForEvent("download");
    await chinese.page.getByRole("button", { name: "导出", exact: true }).tap();
    assert.match((await coming).suggestedFilename(), /Past the cape.*\.html$/);
    await chinese.close();
  });
});
