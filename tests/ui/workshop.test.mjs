// Tests against the real server: the workshop for plugin authors.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { codeEditorIn } from "./support/code-editor.mjs";
import { createPurseSession } from "./support/purse-plugin.mjs";
import {
  LOAD_ERROR,
  browser,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  model,
  createSession,
  openSession,
  extraServers,
} from "./support/setup.mjs";

/**
 * Opens the workshop from a session that counts gold.
 * @param {Parameters<typeof openPage>[1]} [options] @param {Parameters<typeof createPurseSession>[1]} [how]
 */
async function openWorkshop(options, how) {
  const story = await createPurseSession(model, how);
  extraServers.push(story.server);
  const opened = await openPage(browser, options);
  const { page } = opened;
  await page.goto(story.server.base + story.path);
  await page.locator(".message.last.complete").waitFor();
  await page.locator(".topbar .round").last().click();
  await page.locator('.menu:popover-open [data-command="page.workshop"]').click();
  const dialog = page.getByRole("dialog");
  const text = codeEditorIn(dialog);
  await text.waitFor();
  return { ...story, ...opened, dialog, text };
}

describe("the workshop", () => {
  test("rank 3: a plugin is shown with its files; errors have a place that a click opens, and nothing is written", async () => {
    const { page, close, dialog, text, disk } = await openWorkshop();
    await dialog.getByText("No errors found.").waitFor();
    const about = dialog.getByRole("tabpanel");
    for (const words of [
      "Counts the gold that is found and spent",
      "show lines under a message",
      "after each reply",
      "Gold at the start (a whole number; 0 – 1000; default 10)",
    ])
      await about.getByText(words).waitFor();
    await checkAccessibility(page, "the workshop");
    const source = await text.inputValue();
    await text.fill(source.replace("parse_int", "parse_nt"));
    const fault = dialog.getByRole("list", { name: "Problems" }).getByRole("listitem");
    await fault.getByText("There is no function “parse_nt” (did you mean “parse_int”?)").waitFor();
    await fault.getByRole("button", { name: "main.rhai:9:25" }).click();
    await waitUntil(async () => (await text.selected()) === "parse_nt", "the word is selected");
    assert.ok(await text.isFocused(), "the keyboard is in the text");
    await dialog.locator(".cm-lint-marker").waitFor();
    await checkAccessibility(page, "a fault");
    // An error in another file opens that file.
    await dialog.getByRole("combobox", { name: "File" }).selectOption("plugin.toml");
    await text.fill(`${await text.inputValue()}\n[[rule]]\nname = "rich"\nwhen = "gold >= 100"\nnote = "Rich!"\n`);
    await about.getByText("when gold >= 100").waitFor();
    await text.fill((await text.inputValue()).replace("description", "descripton"));
    await dialog.getByText("It cannot run:").waitFor();
    await dialog.getByRole("combobox", { name: "File" }).selectOption("state.schema.json");
    await dialog.getByRole("button", { name: /^plugin\.toml:/ }).click();
    await dialog.getByRole("textbox", { name: "Text of plugin.toml" }).waitFor();
    // Unsaved text is there after the dialog was closed and the page was reloaded.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.reload();
    await chooseFromPageMenu(page, "Plugin editor");
    assert.match(await text.inputValue(), /parse_nt/);
    assert.ok((await dialog.getByRole("combobox", { name: "File" }).innerText()).includes("main.rhai (not saved)"));
    await dialog.getByRole("button", { name: "Revert to saved" }).click();
    assert.equal(await text.inputValue(), source);
    await dialog.getByRole("button", { name: "Undo" }).click();
    assert.match(await text.inputValue(), /parse_nt/);
    assert.equal(await disk("main.rhai"), source, "nothing was written");
    await close();
  });

  test("rank 5: unsaved rules are tried on a message and replayed along the session, which does not change", async () => {
    const { page, close, dialog, text, ids, server, sid } = await openWorkshop();
    await text.fill((await text.inputValue()).replace("parse_int(found.n)", "2 * parse_int(found.n)"));
    await dialog.getByRole("tab", { name: "Try" }).click();
    await dialog.getByRole("combobox", { name: "Message" }).selectOption({ index: 0 });
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    const tried = dialog.getByRole("region", { name: "Result of on_reply" });
    await tried.getByText("add /purse/gold 10").waitFor();
    await tried.getByText("10 → 20").waitFor();
    await tried.getByText(/^\d+ µs, \d+ steps, \d+ KiB\.$/).waitFor();
    await checkAccessibility(page, "a trial");
    await dialog.getByText("Use another text").click();
    await dialog.getByRole("textbox", { name: "Text Leave it empty" }).fill("He finds 100 gold.");
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await tried.getByText("add /purse/gold 200").waitFor();
    await tried.getByText("The purse is heavy.").waitFor();
    // A failing row says where, beside the branch.
    const doubled = await text.inputValue();
    await text.fill(doubled.replace('ctx.get("gold") > 20', 'ctx.get("glod") > 20'));
    await tried.getByText("The file has changed.").waitFor();
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await tried.getByText('State has no "glod" (did you mean "gold"?)').waitFor();
    await tried.getByText("One earlier proposal was discarded.").waitFor();
    await tried.getByRole("button", { name: /^main\.rhai:11:/ }).click();
    await waitUntil(() => text.isFocused(), "the keyboard is in the text");
    await text.fill(doubled);
    await dialog.getByRole("tab", { name: "Replay" }).click();
    await dialog.getByRole("button", { name: "Run replay" }).click();
    await dialog.getByText("3 of 3 messages have another result.").waitFor();
    const rows = dialog.getByRole("table", { name: "Replay" }).getByRole("row");
    const words = await rows.allInnerTexts();
    assert.equal(words.length, 4);
    for (const part of ["She finds 5 gold.", "add /purse/gold 5", "add /purse/gold 10", "15 → 20"])
      assert.ok(words[1]?.includes(part), `${part} in ${words[1]}`);
    assert.match(words[2] ?? "", /same/);
    assert.match(words[3] ?? "", /22 → 34/);
    await checkAccessibility(page, "a replay");
    const { world } = await server.api("GET", `/api/chat/${sid}/node/${ids[2]}/world`);
    assert.equal(world.vars.purse.gold, 22, "the story is as it was");
    await rows.nth(1).getByRole("button").click();
    await dialog.waitFor({ state: "detached" });
    await close();
  });

  test("rank 8: a replay is accepted once its rules are saved, and undo reverts it", async () => {
    const { page, close, dialog, text, ids, server, sid } = await openWorkshop();
    const gold = async () => (await server.api("GET", `/api/chat/${sid}/node/${ids[2]}/world`)).world.vars.purse.gold;
    await text.fill((await text.inputValue()).replace("parse_int(found.n)", "2 * parse_int(found.n)"));
    await dialog.getByRole("tab", { name: "Replay" }).click();
    await dialog.getByRole("button", { name: "Run replay" }).click();
    await dialog.getByText("Save the files first.").waitFor();
    await dialog.getByRole("button", { name: "Save file" }).click();
    await dialog.getByText("Not saved.").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Run replay" }).click();
    await dialog.getByRole("button", { name: "Apply to the story" }).click();
    await dialog.getByText("Applied to the story.").waitFor();
    await checkAccessibility(page, "an accepted replay");
    assert.equal(await gold(), 34);
    await server.api("POST", `/api/chat/${sid}/undo`, {});
    assert.equal(await gold(), 22);
    await close();
  });

  test("rank 8: a replay that cannot apply is refused with a reason, and the session does not change", async () => {
    const { page, close, dialog, text, ids, server, sid } = await openWorkshop({ expected: LOAD_ERROR });
    const gold = async () => (await server.api("GET", `/api/chat/${sid}/node/${ids[2]}/world`)).world.vars.purse.gold;
    await text.fill((await text.inputValue()).replace("parse_int(found.n)", "2 * parse_int(found.n)"));
    await dialog.getByRole("button", { name: "Save file" }).click();
    await dialog.getByText("Not saved.").waitFor({ state: "detached" });
    // One message is played without the plugin.
    await server.api("PUT", `/api/sessions/${sid}/plugins`, []);
    model.queueReply(["He finds 9 gold."]);
    const { generations } = await server.api("POST", `/api/chat/${sid}/message`, {
      parentId: ids[2],
      content: "Look again.",
      generate: true,
    });
    await waitUntil(
      async () => (await server.api("GET", `/api/chat/${sid}/node/${generations[0].id}`)).status === "complete",
      "the reply",
    );
    await server.api("PUT", `/api/sessions/${sid}/plugins`, [{ id: "purse" }]);
    await waitUntil(
      async () => (await page.locator(".message.last.complete .prose").innerText()) === "He finds 9 gold.",
      "the page has it",
    );
    await dialog.getByRole("tab", { name: "Replay" }).click();
    await dialog.getByRole("button", { name: "Run replay" }).click();
    await dialog.getByRole("button", { name: "Apply to the story" }).click();
    await dialog.getByRole("alert").getByText("was written without this plugin").waitFor();
    await checkAccessibility(page, "a replay that was refused");
    assert.equal(await dialog.getByText("Applied to the story.").count(), 0);
    assert.equal(await gold(), 22);
    await close();
  });

  test("rank 5: a tool is tried as a model would call it, and shows the result for the model", async () => {
    const tool =
      '[[tool]]\nname = "pay"\ndescription = "Pays with gold."\nparameters = { type = "object", required = ["n"], properties = { n = { type = "integer" } } }\n';
    const files = {
      "plugin.toml": `id = "till"\ntitle = "Till"\nversion = "1.0.0"\napi = "1"\n[permissions]\nrequest = ["tools"]\n${tool}`,
      "main.rhai":
        'fn init(ctx) { ctx.set("gold", 10); }\nfn tool_pay(ctx, args) { ctx.add("gold", -args.n, "paid"); #{ left: ctx.get("gold") } }\n',
    };
    const { page, close, dialog } = await openWorkshop(undefined, {
      replies: ["Hm."],
      plugins: [{ id: "till" }],
      files,
      id: "till",
    });
    await dialog.getByRole("tab", { name: "Try" }).click();
    await dialog.getByRole("combobox", { name: "Hook" }).selectOption({ label: "tool_pay – Pays with gold." });
    const given = dialog.getByRole("textbox", { name: "Arguments" });
    const tryIt = () => dialog.getByRole("button", { name: "Run", exact: true }).click();
    await given.fill("{n: 3");
    await tryIt();
    await dialog.getByText("This is not a JSON object.").waitFor();
    await given.fill('{"n": 3}');
    await tryIt();
    const tried = dialog.getByRole("region", { name: "Result of tool_pay" });
    await tried.getByText("paid").first().waitFor();
    await tried.locator("pre").getByText('"left": 7').waitFor();
    assert.equal(await dialog.getByText("This is not a JSON object.").count(), 0);
    await checkAccessibility(page, "a tool that was tried");
    await given.fill('{"n": "three pieces"}');
    await tryIt();
    await tried.locator("pre").getByText("refused").waitFor();
    await close();
  });

  test("a file is saved on request, and overwrites changes made elsewhere only after a question", async () => {
    const { close, dialog, text, disk, folder } = await openWorkshop();
    const source = await text.inputValue();
    await text.fill(`// Mine.\n${source}`);
    await dialog.getByRole("button", { name: "Save file" }).click();
    await dialog.getByText("main.rhai is saved. Stories use it from the next message on.").waitFor();
    assert.equal(await disk("main.rhai"), `// Mine.\n${source}`);
    await dialog.getByText("Not saved.").waitFor({ state: "detached" });
    await text.fill(`// Mine again.\n${source}`);
    await writeFile(join(folder, "purse", "main.rhai"), `// Theirs.\n${source}`);
    await dialog.getByRole("button", { name: "Save file" }).click();
    await dialog.getByText("main.rhai was changed elsewhere.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await disk("main.rhai"), `// Theirs.\n${source}`);
    await dialog.getByRole("button", { name: "Save file" }).click();
    await dialog.getByRole("button", { name: "Overwrite" }).click();
    await dialog.getByText("Not saved.").waitFor({ state: "detached" });
    assert.equal(await disk("main.rhai"), `// Mine again.\n${source}`);
    await text.fill(`${source}}`);
    await dialog.getByText("It cannot run:").waitFor();
    await dialog.getByRole("button", { name: "Save file" }).click();
    await dialog.getByText("but the plugin has errors. Stories keep the last working version.").waitFor();
    await close();
  });

  test("the workshop works on a narrow screen, in dark mode, in Chinese and by keys", async () => {
    const { page, close, dialog, text } = await openWorkshop({
      viewport: { width: 390, height: 844 },
      colorScheme: "dark",
      locale: "zh-CN",
    });
    await dialog.getByText("没有发现错误。").waitFor();
    await text.fill((await text.inputValue()).replace("parse_int(found.n)", "3 * parse_int(found.n)"));
    await dialog.getByRole("tab", { name: "简介" }).focus();
    await page.keyboard.press("ArrowLeft");
    assert.equal(await dialog.getByRole("tab", { name: "重演" }).getAttribute("aria-selected"), "true");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await dialog.getByText("3 条消息中有 3 条结果不同。").waitFor();
    const wide = await dialog.locator(".sheet").evaluate((box) => box.scrollWidth - box.clientWidth);
    assert.equal(wide, 0, "nothing stands over the edge");
    await checkAccessibility(page, "the workshop on a narrow screen");
    await close();
  });

  test("by keys alone, a rule is completed, its error shown, its failing test run and fixed, and the file saved", async () => {
    const { page, close, dialog, text, disk } = await openWorkshop({ colorScheme: "dark", expected: LOAD_ERROR });
    await text.waitFor();
    const source = await text.inputValue();
    await text.box.focus();
    await text.press("Control+End");
    await text.type("fn on_edit(ctx) {\nctx.not");
    const offered = dialog.getByRole("listbox", { name: "Completions" });
    await offered.getByRole("option", { name: /^note/ }).waitFor();
    await offered.locator("[aria-selected]").filter({ hasText: /^note/ }).waitFor();
    await dialog.locator(".cm-completionInfo").waitFor();
    await checkAccessibility(page, "a completion");
    await waitUntil(
      async () => (await text.press("Enter"), (await text.inputValue()).includes("ctx.note(")),
      "it is written",
    );
    await text.type('"Edited."); ');
    assert.match(await text.inputValue(), /fn on_edit\(ctx\) \{\n {4}ctx\.note\("Edited\."\); \n?\}/);
    await dialog.getByText("No errors found in the unsaved version.").waitFor();
    // Tab indents. Escape and then Tab leave the editor.
    await text.press("Tab");
    assert.ok(await text.isFocused());
    await text.press("Escape");
    await text.press("Tab");
    assert.ok(!(await text.isFocused()), "the keyboard is elsewhere");
    assert.equal(await page.getByRole("dialog").count(), 1, "the workshop is still there");
    await text.box.focus();
    await text.press("Control+s");
    await waitUntil(async () => (await disk("main.rhai")).includes("fn on_edit(ctx)"), "it is saved");
    // A test case with a mistake in its expectation.
    await dialog.getByRole("button", { name: "New file" }).focus();
    await page.keyboard.press("Enter");
    await dialog.getByLabel("Path in the plugin’s folder").fill("tests/first.toml");
    await page.keyboard.press("Enter");
    await dialog.getByRole("textbox", { name: "Text of tests/first.toml" }).waitFor();
    await text.fill('hook = "on_reply"\ntext = "She finds 5 gold."\n\n[expect]\nstate.gold = 16\n');
    await dialog.getByRole("tab", { name: "Tests" }).click();
    const run = dialog.getByRole("button", { name: "Run tests" });
    await run.focus();
    await page.keyboard.press("Enter");
    await dialog.getByText("1 of 1 case failed.").waitFor();
    const panel = dialog.getByRole("tabpanel");
    for (const words of ["state gold", "Expected", "16", "Actual", "15"])
      await panel.getByText(words, { exact: true }).waitFor();
    await checkAccessibility(page, "a test that failed");
    await panel.getByRole("button", { name: "tests/first.toml:5" }).click();
    await waitUntil(async () => (await text.selected()) === "state.gold = 16", "its line is selected");
    await text.type("state.gold = 15");
    await run.click();
    await dialog.getByText("The one case passed.").waitFor();
    // Each file has its own undo.
    await dialog.getByRole("combobox", { name: "File" }).selectOption("main.rhai");
    await dialog.getByRole("textbox", { name: "Text of main.rhai" }).waitFor();
    await text.box.focus();
    await waitUntil(
      async () => (await text.press("Control+z"), (await text.inputValue()) === source),
      "all of it is taken back",
    );
    await text.press("Control+f");
    await dialog.getByRole("textbox", { name: "Find" }).waitFor();
    await checkAccessibility(page, "the search");
    await close();
  });

  test("a bundled plugin is read and tried with other texts, and not saved", async () => {
    const path = await createSession({ plugins: [{ id: "combat" }] });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Plugin editor");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: "Plugin" }).selectOption("combat");
    await dialog.getByText("This plugin is built in.").waitFor();
    await dialog.getByText("/roll 2d6+3").waitFor();
    const field = codeEditorIn(dialog);
    await dialog.getByRole("textbox", { name: "Text of main.rhai" }).waitFor();
    await waitUntil(async () => (await field.inputValue()).includes("fn on_reply(ctx)"), "its text is there");
    await field.fill("fn on_replay(ctx) { }");
    await dialog.getByRole("list", { name: "Problems" }).getByRole("listitem").first().waitFor();
    assert.equal(await dialog.getByRole("button", { name: "Save file" }).count(), 0);
    await dialog.getByRole("button", { name: "Revert to saved" }).click();
    await waitUntil(async () => (await field.inputValue()).includes("fn on_reply(ctx) {"), "its own text again");
    assert.ok((await clotho.api("GET", "/api/plugins/combat/files/main.rhai")).content.length > 1000);
    await checkAccessibility(page, "a plugin inside the program");
    await close();
  });
});
