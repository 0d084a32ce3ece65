// Tests against the real server: data of other programs is imported from folders, archives and files, with a report.
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { describe } from "node:test";
import { packZip } from "../../static/src/lib/zip.ts";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { sampleFiles, writeFolder, greeting, header, jsonLines, userMessage } from "./support/sillytavern-folder.mjs";
import {
  LOAD_ERROR,
  browser,
  checkAccessibility,
  clotho,
  declineBroughtSettings,
  extraServers,
} from "./support/setup.mjs";
import { startClotho } from "./support/server.mjs";

const golden = (name) => readFile(new URL(`../fixtures/golden/${name}`, import.meta.url));

/** Starts an own server, because these tests count what is imported. */
async function startImportServer() {
  const server = await startClotho();
  extraServers.push(server);
  return server;
}

/** Chooses a folder or files on the first page. */
async function chooseFolder(page, label, what) {
  const asked = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: label }).first().click();
  await (await asked).setFiles(what);
}

/** Drops files on the page. @param {{name: string, bytes: Buffer | string}[]} all */
const dropFiles = (page, all) =>
  page.evaluate(
    (all) => {
      const data = new DataTransfer();
      for (const { name, base64 } of all)
        data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
      dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
    },
    all.map(({ name, bytes }) => ({ name, base64: Buffer.from(bytes).toString("base64") })),
  );

const sessions = async (server) => (await server.api("GET", "/api/sessions?limit=500")).items;
const reportOf = (page, name = "Import report") => page.getByRole("dialog", { name });

async function archiveOf(all) {
  const parts = Object.entries(all).map(([path, text]) => ({ path, file: new File([text], path) }));
  return Buffer.from(await (await packZip(parts, () => {}, new AbortController().signal)).archive.arrayBuffer());
}

describe("data of another program", () => {
  test("S4-53, S0-05: a folder is previewed, imported, reported and played; a second import adds nothing", async () => {
    const server = await startImportServer();
    const root = await writeFolder(sampleFiles());
    const { page, close } = await openPage(browser, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(server.base);
    await chooseFolder(page, /^Import from SillyTavern/, root);
    const question = page.getByRole("dialog", { name: "Import from another program" });
    await question.getByText("34 files,").waitFor();
    await question.getByText("2 more files are not imported").waitFor();
    await checkAccessibility(page, "the question before it comes in");
    await question.getByRole("button", { name: "Preview only" }).click();
    const look = reportOf(page, "Import preview");
    await look.getByText(/^Would import: one character, .*32 stories, .* Nothing was saved\.$/).waitFor();
    assert.equal((await sessions(server)).length, 0);
    const places = (await look.locator(".totals").innerText()).match(/(\d+) parts skipped/)?.[1];
    await look.getByRole("button", { name: `skipped ${places}` }).waitFor();
    assert.equal(
      (await look.getByRole("link", { name: /^Open/ }).count()) +
        (await look.getByRole("button", { name: /^(Play|Open)/ }).count()),
      0,
      "nothing of it is there yet",
    );
    assert.equal(
      await look.getByText("works.", { exact: false }).filter({ hasText: "Everything was imported" }).count(),
      0,
    );
    await look.getByRole("button", { name: "Import now" }).click();
    const report = reportOf(page);
    await report.getByText(/^Imported: one character, .*32 stories/).waitFor();
    assert.equal(
      (await sessions(server)).length,
      32,
      "a story and its branch are one tree, a greeting in common makes none",
    );
    assert.ok(!(await server.hasOnDisk("never sent")), "keys stay where they are");
    await report.getByRole("button", { name: /^skipped/ }).click();
    await report.getByRole("region", { name: "Torn" }).getByText("Line 3:").waitFor();
    await report.getByText("2 files were not imported").waitFor();
    assert.equal(await report.getByRole("region", { name: "Ivo" }).count(), 0);
    await checkAccessibility(page, "a long report");
    await report.getByRole("button", { name: /^all/ }).click();
    await report.getByRole("combobox", { name: "Sort" }).selectOption({ label: "By message" });
    await report.getByText("One regex script", { exact: false }).waitFor();
    await report.getByRole("heading", { name: /Its messages are imported\.$/ }).waitFor();
    await report.getByRole("combobox", { name: "Sort" }).selectOption({ label: "By file" });
    await report.getByRole("button", { name: "Copy the report" }).click();
    await report.getByText("Copied").first().waitFor();
    assert.match(
      await page.evaluate(() => navigator.clipboard.readText()),
      /Imported: .*\n[\s\S]*Torn chats\/Ivo\/Torn\.jsonl\n {2}works: .*\n {2}skipped: Line 3:/,
    );
    await report.getByRole("searchbox").fill("Night");
    await report.getByRole("link", { name: "Open “Night”" }).click();
    await declineBroughtSettings(page);
    await page.locator(".message.last").waitFor();
    assert.equal(await page.locator(".provenance").count(), 0, "what came from a file is no copy of another story");
    await page.locator(".message.last article").focus();
    await page.keyboard.press("w");
    await page
      .getByRole("dialog", { name: "Prompt inspector" })
      .getByText("Imported from the file “chats/Ivo/Night.jsonl”, line 6.")
      .waitFor();
    await page.goto(server.base);
    await page.getByRole("listitem").filter({ hasText: "default-user" }).getByRole("button", { name: "Close" }).click();
    await chooseFolder(page, "Import SillyTavern folder", root);
    await question.getByRole("button", { name: "Import" }).click();
    await report.getByText(/^Imported: 33 chats already here/).waitFor();
    assert.equal((await sessions(server)).length, 32);
    await close();
    await rm(dirname(root), { recursive: true });
  });

  test("S4-53: an archive is dropped; after a reload the page still waits for it and shows its report", async () => {
    const server = await startImportServer();
    const archive = await archiveOf(sampleFiles(3));
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    await page.getByRole("button", { name: /^Import from SillyTavern/ }).waitFor();
    const running = { kind: "import", state: "running", done: 10, total: 100, result: null, error: null };
    let isSlow = true;
    await page.route("**/api/jobs/*", (route) =>
      isSlow ? route.fulfill({ json: { id: route.request().url().split("/").at(-1), ...running } }) : route.continue(),
    );
    await dropFiles(page, [{ name: "all.zip", bytes: archive }]);
    await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
    const row = page.getByRole("list", { name: "Story imports" }).getByRole("listitem").filter({ hasText: "all.zip" });
    await row.getByText("reading").waitFor();
    await row.getByText("10 bytes of 100 bytes").waitFor();
    await waitUntil(
      () => row.evaluate((li) => li.getBoundingClientRect().bottom <= innerHeight),
      "it is in view, wherever on the page it was dropped",
    );
    await checkAccessibility(page, "an archive that is being read");
    await page.reload();
    await row.getByText("reading").waitFor();
    isSlow = false;
    await reportOf(page)
      .getByText(/^Imported: one character, .*5 stories/)
      .waitFor();
    let answers = () => {};
    const answered = new Promise((resolve) => (answers = resolve));
    await page.route("**/api/jobs/*", (route) => answered.then(() => route.continue()));
    await page.reload();
    await page.getByRole("button", { name: "Import SillyTavern folder" }).waitFor();
    assert.equal(await row.count(), 0, "nothing is said of it before the server has been asked");
    answers();
    await row.getByText(/^Imported: one character/).waitFor();
    await page.unroute("**/api/jobs/*");
    assert.equal(await reportOf(page).count(), 0, "what was seen does not open by itself again");
    await row.getByRole("button", { name: "Import report" }).click();
    await reportOf(page).getByRole("button", { name: "Close" }).click();
    await row.getByRole("button", { name: "Close" }).click();
    await row.waitFor({ state: "detached" });
    await page.reload();
    await page.getByText("Night").first().waitFor();
    assert.equal(await row.count(), 0, "what was put away does not come back");
    await close();
  });

  test("several files at once go to their importers", async () => {
    const server = await startImportServer();
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    await page.getByRole("button", { name: /^Import from SillyTavern/ }).waitFor();
    await dropFiles(page, [
      { name: "private.json", bytes: await golden("cards/v2-private.json") },
      { name: "atlas.json", bytes: await golden("books/native.json") },
      {
        name: "personas.json",
        bytes: JSON.stringify({
          personas: { "a.png": "Wren" },
          persona_descriptions: { "a.png": { description: "Walks at night." } },
        }),
      },
      { name: "Alone.jsonl", bytes: jsonLines(header(), greeting, userMessage("Who is there?", 1)) },
      { name: "noise.zip", bytes: "This is no archive." },
    ]);
    const sent = [];
    page.on("request", (request) => request.method() !== "GET" && sent.push(new URL(request.url()).pathname));
    await page.getByRole("dialog").getByText("have no preview", { exact: false }).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Preview only" }).click();
    const look = reportOf(page, "Import preview");
    await look.getByText(/one file without a preview/).waitFor();
    await look.getByRole("region", { name: "personas.json" }).getByText("nothing was sent", { exact: false }).waitFor();
    await look.getByRole("region", { name: "Private" }).waitFor();
    assert.deepEqual([...new Set(sent)], ["/api/import"], "only what can be looked at was sent");
    await look.getByRole("button", { name: "Import now" }).click();
    await reportOf(page)
      .getByText(/^Imported: .*one story, 2 messages/)
      .waitFor();
    await reportOf(page).getByRole("region", { name: "Private" }).waitFor();
    await reportOf(page)
      .getByRole("region", { name: "noise.zip" })
      .getByText(/not an archive/)
      .waitFor();
    await waitUntil(async () => (await sessions(server)).some(({ title }) => title === "Alone"), "the chat is there");
    const names = async (path) => (await server.api("GET", path)).items.map(({ name }) => name);
    await waitUntil(
      async () =>
        (await names("/api/lorebooks")).length > 0 &&
        (await names("/api/personas")).includes("Wren") &&
        (await names("/api/characters?limit=500")).includes("Private"),
      "the others are there",
    );
    await page.keyboard.press("Escape");
    await reportOf(page).waitFor({ state: "detached" });
    const before = [await names("/api/characters?limit=500"), await names("/api/lorebooks")];
    await dropFiles(page, [
      { name: "private.json", bytes: await golden("cards/v2-private.json") },
      { name: "atlas.json", bytes: await golden("books/native.json") },
    ]);
    await page.getByRole("dialog").getByText("not changed or duplicated").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
    await reportOf(page).waitFor();
    assert.deepEqual(
      [await names("/api/characters?limit=500"), await names("/api/lorebooks")],
      before,
      "what is here is not added twice",
    );
    await close();
  });

  test("a running import is cancelled on the page and on the server; unknown files are refused with a hint", async () => {
    const server = await startImportServer();
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    await page.goto(server.base);
    const chat = {
      name: "Alone.jsonl",
      mimeType: "application/octet-stream",
      buffer: Buffer.from(jsonLines(header(), greeting, userMessage("Hello?", 1))),
    };
    const begin = async () => {
      await chooseFolder(page, "Import chats and archives", chat);
      await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
    };
    await page.route("**/api/import?*", () => {});
    await begin();
    await page.getByRole("button", { name: "Cancel “Alone.jsonl”" }).click();
    await page.getByRole("list", { name: "Story imports" }).waitFor({ state: "detached" });
    await page.unroute("**/api/import?*");
    let isCancelled = false;
    await page.route("**/api/jobs/*", (route) => {
      if (route.request().method() === "DELETE") isCancelled = true;
      const [state, error] = isCancelled
        ? ["cancelled", { code: "conflict", message: "it was cancelled" }]
        : ["running", null];
      return route.fulfill(
        route.request().method() === "DELETE"
          ? { status: 204 }
          : { json: { id: "x", state, done: 1, total: 2, result: null, error } },
      );
    });
    await begin();
    // While the file is being sent, nothing is stored, so the row just disappears.
    await page.getByRole("list", { name: "Story imports" }).getByText("reading").waitFor();
    await page.getByRole("button", { name: "Cancel “Alone.jsonl”" }).click();
    const failed = page.getByRole("alert").filter({ hasText: "Alone.jsonl" });
    await failed.getByText("The import was cancelled.").waitFor();
    await failed.getByText("The items imported so far are kept.", { exact: false }).waitFor();
    await failed.getByRole("button", { name: "Close" }).click();
    await page.unroute("**/api/jobs/*");
    await chooseFolder(page, "Import chats and archives", {
      name: "noise.zip",
      mimeType: "application/zip",
      buffer: Buffer.from("This is no archive."),
    });
    await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
    await page
      .getByRole("alert")
      .filter({ hasText: "noise.zip" })
      .getByText(/not an archive/)
      .waitFor();
    await page.getByRole("alert").getByText("Nothing was imported.").waitFor();
    await close();
  });

  test("a finding about one thing is in the singular", async () => {
    const server = await startImportServer();
    const of = (code, count, message, args) => ({ fate: "skipped", code, line: null, count, message, args });
    const items = [1, 2].map((count) => ({
      kind: "session",
      name: `Chat ${count}`,
      file: null,
      id: null,
      fate: "works",
      findings: [
        of("below_taken_out", count, `${count} messages follow a part that was removed here, and were skipped`),
        of("bad_line", count, "expected a comma", { reason: "expected a comma" }),
      ],
    }));
    const totals = { characters: 0, personas: 0, sessions: 2, messages: 3, chats: 2, unchanged: 0, skipped: 0 };
    const { page, close } = await openPage(browser);
    const result = { sessionId: null, report: { totals, report: { items } } };
    await page.route("**/api/jobs/*", (route) =>
      route.fulfill({ json: { id: "x", state: "done", done: 2, total: 2, result, error: null } }),
    );
    await page.goto(server.base);
    await chooseFolder(page, "Import chats and archives", {
      name: "all.jsonl",
      mimeType: "application/octet-stream",
      buffer: Buffer.from(jsonLines(header(), greeting)),
    });
    await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
    const told = (name) => reportOf(page).getByRole("region", { name, exact: true }).getByRole("listitem");
    await told("Chat 1").getByText("One message follows a part that was removed here. It was skipped.").waitFor();
    await told("Chat 1").getByText("One line cannot be read and was skipped: expected a comma").waitFor();
    await told("Chat 2").getByText("2 messages follow a part that was removed here. They were skipped.").waitFor();
    await close();
  });

  test("S4-53: a Chinese report names, counts and explains like the English one", async () => {
    const server = await startImportServer();
    const of = (kind, name, code, more = {}) => ({
      kind,
      name,
      file: null,
      id: null,
      fate: "kept",
      findings: [{ fate: "kept", code, line: null, count: 1, message: "a sentence in English", ...more }],
    });
    const items = [
      of("preset", "Calm", "edited_here", { args: { item: "preset" } }),
      of("session", "Night", "bad_line", { args: { reason: "expected a comma" }, line: 7 }),
      of("session", "Dawn", "messages", { args: { messages: 12, new: 3 } }),
      of("character", "Ivo", "lorebook_missing", { args: { name: "Coast" } }),
      of("session", "Two", "joined", { args: { count: 2 }, count: 2, names: ["a.jsonl", "b.jsonl"] }),
      of("file", "link", "unread", { args: { reason: "link" } }),
      of("file", "later", "of_a_later_server"),
    ];
    const totals = { characters: 0, personas: 0, sessions: 3, messages: 12, chats: 3, unchanged: 0, skipped: 0 };
    const { page, close } = await openPage(browser, { locale: "zh-CN" });
    await page.route("**/api/jobs/*", (route) =>
      route.fulfill({
        json: {
          id: "x",
          state: "done",
          done: 2,
          total: 2,
          result: { sessionId: null, report: { totals, report: { items } } },
          error: null,
        },
      }),
    );
    await page.goto(server.base);
    await chooseFolder(page, "导入聊天和压缩包", {
      name: "all.jsonl",
      mimeType: "application/octet-stream",
      buffer: Buffer.from(jsonLines(header(), greeting)),
    });
    await page.getByRole("dialog").getByRole("button", { name: "导入" }).click();
    const report = page.getByRole("dialog", { name: "导入报告" });
    const said = (name) => report.getByRole("region", { name, exact: true }).getByRole("listitem").innerText();
    await report.getByRole("region", { name: "Calm" }).waitFor();
    assert.match(await said("Calm"), /你也编辑过/);
    assert.match(await said("Night"), /第 7 行.*：expected a comma$/);
    assert.match(await said("Dawn"), /12 条消息.*新增 3 条$/);
    assert.match(await said("Ivo"), /缺少它的世界书“Coast”$/);
    assert.match(await said("link"), /没有读取：它是链接/);
    assert.match(await said("later"), /A sentence in English\.$/);
    assert.match(await said("Two"), /2 个文件合成一个故事 \(a\.jsonl.*b\.jsonl\)$/);
    await close();
  });

  test("thousands of findings are rendered in pieces, on a phone and in Chinese too", async () => {
    const server = await startImportServer();
    const items = Array.from({ length: 5_000 }, (_, n) => ({
      kind: "session",
      name: `Chat ${n}`,
      file: `chats/Ivo/Chat ${n}.jsonl`,
      id: null,
      fate: "works",
      findings: [{ fate: "skipped", code: "bad_line", line: n + 2, count: 1, message: "not JSON" }],
    }));
    const totals = {
      characters: 0,
      personas: 0,
      sessions: 5_000,
      messages: 10_000,
      chats: 5_000,
      unchanged: 0,
      skipped: 5_000,
    };
    const { page, close } = await openPage(browser, {
      locale: "zh-CN",
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await page.route("**/api/jobs/*", (route) =>
      route.fulfill({
        json: {
          id: "x",
          state: "done",
          done: 2,
          total: 2,
          result: { sessionId: null, report: { totals, report: { items } } },
          error: null,
        },
      }),
    );
    await page.goto(server.base);
    await chooseFolder(page, "导入聊天和压缩包", {
      name: "all.jsonl",
      mimeType: "application/octet-stream",
      buffer: Buffer.from(jsonLines(header(), greeting)),
    });
    await page.getByRole("dialog").getByRole("button", { name: "导入" }).tap();
    const report = page.getByRole("dialog", { name: "导入报告" });
    await report.getByText("5,000 个故事").waitFor();
    assert.equal(await report.getByRole("region").count(), 100);
    await report.getByRole("button", { name: /^再显示 100 项/ }).tap();
    assert.equal(await report.getByRole("region").count(), 200);
    await report.getByRole("searchbox").fill("Chat 4999");
    await report.getByText("第 5001 行").waitFor();
    assert.equal(await report.getByRole("region").count(), 1);
    await checkAccessibility(page, "a report on a phone");
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      "nothing leads beyond the screen",
    );
    await close();
  });
});
