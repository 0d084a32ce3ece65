// Tests against the real server: whole sessions are exported and imported as files.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  browser,
  chatPath,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  chooseFiles,
  seedBranch,
  readBranch,
  openSession,
  readSession,
  messageTexts,
} from "./support/setup.mjs";

const IMPORT = "Import story";

/** Exports the open session. @param {import("playwright-core").Page} page @returns {Promise<{name: string, bytes: Buffer}>} */
async function exportOpenSession(page) {
  const coming = page.waitForEvent("download");
  await chooseFromPageMenu(page, "Export story");
  const file = await coming;
  return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
}

/** Chooses a file on the first page. @param {import("playwright-core").Page} page @param {string} name @param {Buffer} buffer */
const importFile = (page, name, buffer) =>
  chooseFiles(page, page.getByRole("button", { name: IMPORT }), [{ name, buffer }]);

describe("session files", () => {
  test("S0-05 domain 2.10: a whole session is exported and imported again as a copy with all its branches", async () => {
    const { path, ids } = await seedBranch();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title: "Over the ice" });
    await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[1], content: "To the hills." });
    const { page, close } = await openSession(path);
    const { name, bytes } = await exportOpenSession(page);
    assert.equal(name, "Over the ice.clotho");
    await page.goto(clotho.base);
    await importFile(page, name, bytes);
    await page.getByText("“Over the ice” is imported. Another story has the same name.").waitFor();
    assert.equal(
      await page.locator(".session").filter({ hasText: "Over the ice" }).filter({ hasText: "started" }).count(),
      2,
      "the list tells the two apart",
    );
    await page.locator(".notice").getByRole("button", { name: "Open" }).click();
    await waitUntil(
      async () => (await messageTexts(page)).join("|").endsWith("To the north.|Snow.|To the hills."),
      "it is read",
    );
    const copy = new URL(page.url()).pathname;
    assert.notEqual(copy, path);
    assert.equal((await readSession(copy)).counts.nodes, (await readSession(path)).counts.nodes);
    await page.goto(clotho.base);
    await page
      .getByRole("link", { name: /Over the ice/ })
      .nth(1)
      .waitFor();
    assert.equal(await page.getByRole("list", { name: "Story imports" }).count(), 0, "it waits for nothing any more");
    await checkAccessibility(page, "a story that came in");
    assert.equal((await readBranch(copy))[1].metadata.provenance.sessionId, (await readSession(path)).id);
    await close();
  });

  test("a truncated file is refused with its line, in both languages, and leaves nothing; a dropped file is imported", async () => {
    const { path } = await seedBranch();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title: "Down the river" });
    const { page, close } = await openSession(path, { expected: LOAD_ERROR });
    const { bytes } = await exportOpenSession(page);
    const before = (await clotho.api("GET", "/api/sessions?limit=500")).items.length;
    await page.goto(clotho.base);
    await importFile(page, "broken.clotho", bytes.subarray(0, Math.floor(bytes.length / 2)));
    const failed = page.getByRole("alert").filter({ hasText: "broken.clotho" });
    await failed.getByText("The end of the file is missing.").waitFor();
    await failed.getByText(/Found in line \d+\./).waitFor();
    await failed.getByText("Nothing was imported.").waitFor();
    await checkAccessibility(page, "a broken file");
    await failed.getByRole("button", { name: "Close" }).click();
    await failed.waitFor({ state: "detached" });
    assert.equal((await clotho.api("GET", "/api/sessions?limit=500")).items.length, before);
    const over = (/** @type {string} */ kind) =>
      page.evaluate(
        ([type, base64]) => {
          const data = new DataTransfer();
          data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], "river.clotho"));
          dispatchEvent(new DragEvent(type, { dataTransfer: data, cancelable: true }));
        },
        [kind, bytes.toString("base64")],
      );
    await over("dragover");
    await page.getByText("Drop here to import the story.").waitFor();
    await over("drop");
    await page.getByText("“Down the river” is imported. Another story has the same name.").waitFor();
    assert.equal((await clotho.api("GET", "/api/sessions?limit=500")).items.length, before + 1);
    await close();
    const chinese = await openPage(browser, {
      expected: LOAD_ERROR,
      locale: "zh-CN",
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await chinese.page.goto(clotho.base);
    const asked = chinese.page.waitForEvent("filechooser");
    await chinese.page.getByRole("button", { name: "导入故事" }).tap();
    await (await asked).setFiles({
      name: "noise.clotho",
      mimeType: "application/octet-stream",
      buffer: Buffer.from("This is no story."),
    });
    await chinese.page.getByRole("alert").getByText("这不是故事文件。").waitFor();
    await chinese.page.getByRole("alert").getByText("什么都没有导入。").waitFor();
    await chinese.close();
  });

  test("S0-05: a reloaded page waits for an import that still runs, and a cancelled import leaves nothing", async () => {
    const { path } = await seedBranch();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title: "Under the bridge" });
    const { page, close } = await openSession(path);
    const { bytes } = await exportOpenSession(page);
    await page.goto(clotho.base);
    const running = { id: "x", state: "running", done: 1, total: 2, result: null, error: null };
    let isSlow = true;
    await page.route("**/api/jobs/*", (route) => (isSlow ? route.fulfill({ json: running }) : route.continue()));
    await importFile(page, "bridge.clotho", bytes);
    await page.getByText("reading").waitFor();
    await page.reload();
    await page.getByText("reading").waitFor();
    isSlow = false;
    await page.getByText("“Under the bridge” is imported. Another story has the same name.").waitFor();
    await page.getByRole("list", { name: "Story imports" }).waitFor({ state: "detached" });
    let answers = () => {};
    const answered = new Promise((resolve) => (answers = resolve));
    const job = { jobId: "x", name: "bridge.clotho", kind: "session" };
    await page.route("**/api/jobs/*", (route) => answered.then(() => route.fulfill({ json: running })));
    await page.evaluate((job) => localStorage.setItem("clotho.jobs", JSON.stringify([job])), job);
    await page.reload();
    await page.getByRole("button", { name: IMPORT }).waitFor();
    assert.equal(
      await page.getByRole("list", { name: "Story imports" }).count(),
      0,
      "nothing is said of it before the server has been asked",
    );
    answers();
    await page.getByText("reading").waitFor();
    // The server does not know the job any more. The page must stop asking about it.
    await page.evaluate(() => localStorage.removeItem("clotho.jobs"));
    await page.reload();
    await page.unroute("**/api/jobs/*");
    await page.route("**/api/sessions/import", () => {});
    await importFile(page, "bridge.clotho", bytes);
    await page.getByRole("button", { name: "Cancel “bridge.clotho”" }).click();
    await page.getByRole("list", { name: "Story imports" }).waitFor({ state: "detached" });
    await close();
  });

  test("S0-05: several sessions or cards chosen by their own button are imported after one question, as by dropping; one is imported at once", async () => {
    const files = [];
    for (const title of ["Ebb", "Flood"]) {
      const { path } = await seedBranch();
      await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title });
      const { page, close } = await openSession(path);
      const { name, bytes } = await exportOpenSession(page);
      files.push({ name, buffer: bytes });
      await close();
    }
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    const sent = [];
    page.on("request", (request) => request.method() === "POST" && sent.push(new URL(request.url()).pathname));
    const dialog = page.getByRole("dialog", { name: "Import files" });
    await chooseFiles(page, page.getByRole("button", { name: IMPORT }), files);
    await dialog.getByText("Flood.clotho").waitFor();
    await checkAccessibility(page, "the question about several stories");
    assert.equal(
      await dialog.getByRole("button", { name: "Preview only" }).count(),
      0,
      "there is nothing that could be looked at",
    );
    await dialog.getByRole("button", { name: "Cancel" }).click();
    const card = (name) => ({
      name: `${name}.json`,
      buffer: Buffer.from(JSON.stringify({ name, description: "A gull.", first_mes: "Kree." })),
    });
    await chooseFiles(page, page.getByRole("button", { name: "Import character card" }), [card("Kree"), card("Kraa")]);
    const known = page.getByRole("dialog", { name: "Import from another program" });
    await known.getByText("Kraa.json").waitFor();
    assert.deepEqual(sent, [], "nothing is sent before it is answered");
    assert.equal(await known.getByRole("button", { name: "Preview only" }).count(), 1, "cards can be looked at");
    await known.getByRole("button", { name: "Import" }).click();
    const named = async () =>
      (await clotho.api("GET", "/api/characters?limit=500")).items.filter(({ name }) => /^Kr(ee|aa)$/.test(name))
        .length;
    await waitUntil(async () => (await named()) === 2, "both cards are there");
    await page.getByRole("dialog", { name: "Import report" }).getByRole("button", { name: "Close" }).click();
    await chooseFiles(page, page.getByRole("button", { name: IMPORT }), files);
    await dialog.getByRole("button", { name: "Import" }).click();
    await page.locator(".session").filter({ hasText: "Flood" }).nth(1).waitFor();
    await page.locator(".session").filter({ hasText: "Ebb" }).nth(1).waitFor();
    await close();
  });

  test("a session is exported from its menu on the first page, and the command list finds export and import", async () => {
    const { path } = await seedBranch();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title: "Up the hill" });
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Manage “Up the hill”" }).click();
    const coming = page.waitForEvent("download");
    await page.locator(".menu:popover-open").getByRole("button", { name: "Export story" }).click();
    assert.equal((await coming).suggestedFilename(), "Up the hill.clotho");
    await page.goto(clotho.base + path);
    await page.locator(".message.last").waitFor();
    for (const word of ["bundle", "clone"]) {
      await page.keyboard.press("Control+Shift+p");
      await page.getByRole("combobox").fill(`>${word}`);
      await page.getByRole("option", { name: IMPORT }).waitFor();
      await page.getByRole("option", { name: "Export story" }).waitFor();
      await page.keyboard.press("Escape");
    }
    await close();
  });
});
