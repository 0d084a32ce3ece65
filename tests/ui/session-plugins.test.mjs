// Tests against the real server: the plugins of a session, their permissions and settings.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { pluginFolder, createPurseSession } from "./support/purse-plugin.mjs";
import {
  browser,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  model,
  createSession,
  openSession,
  extraServers,
  readSession,
} from "./support/setup.mjs";

describe("the plugins of a session", () => {
  test("plugins are switched on in a running session with permissions and settings, and apply from there on", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Plugins of this story");
    const dialog = page.getByRole("dialog");
    const combat = dialog.getByRole("checkbox", { name: /^Combat/ });
    await combat.waitFor();
    assert.equal(
      await dialog.getByRole("checkbox", { name: /Lantern Keep/ }).count(),
      0,
      "what tells a story of its own is no rule for this one",
    );
    await combat.check();
    await dialog.getByRole("group", { name: "Permissions" }).waitFor();
    await dialog.getByRole("checkbox", { name: "show lines under a message" }).uncheck();
    await dialog.getByText("Without a permission, only that feature is off.").waitFor();
    await dialog.getByRole("spinbutton", { name: /^Hit points at the beginning/ }).fill("12");
    await dialog.getByRole("textbox", { name: /^Other names of the player/ }).fill("knight\n fox ");
    await checkAccessibility(page, "the rules of a story");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const { plugins } = await readSession(path);
    assert.deepEqual(
      plugins.map(({ id, enabled, config }) => ({ id, enabled, config })),
      [{ id: "combat", enabled: true, config: { start_hp: 12, also_called: ["knight", "fox"] } }],
    );
    assert.ok(!plugins[0].grants.includes("notes") && plugins[0].grants.includes("input.stop"));
    assert.deepEqual(plugins[0].refused, ["notes"]);
    await page.locator('[data-path="/combat/hp"]').getByText("12").waitFor();
    // Refused permissions are not asked for again.
    await page.reload();
    await page.locator('[data-path="/combat/hp"]').waitFor();
    await chooseFromPageMenu(page, "Plugins of this story");
    await dialog.getByText("not granted yet").waitFor();
    assert.equal(await page.getByText("need more permissions in this story").count(), 0);
    const other = await openSession(path);
    await other.page.locator('[data-path="/combat/hp"]').waitFor();
    await other.page.waitForLoadState("networkidle");
    assert.equal(
      await other.page.getByText("need more permissions in this story").count(),
      0,
      "another browser knows it, too",
    );
    await other.close();
    assert.equal(await dialog.getByRole("spinbutton", { name: /^Hit points at the beginning/ }).inputValue(), "12");
    await dialog.getByRole("button", { name: "Reset to defaults" }).click();
    await combat.uncheck();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(
      (await readSession(path)).plugins.map(({ enabled, config }) => ({ enabled, config })),
      [{ enabled: false, config: {} }],
    );
    await close();
  });

  test("for two plugins with the same command, saving says which one gets it, in the user's language", async () => {
    const manifest = (/** @type {string} */ id) =>
      `id = "${id}"\ntitle = "${id}"\nversion = "1.0.0"\napi = "1"\n[permissions]\nrequest = ["input.stop"]\n[[command]]\nname = "look"\nhelp = "Looks around"\n`;
    const files = {
      "plugin.toml": manifest("aunt"),
      "main.rhai": 'fn on_input(ctx) { if ctx.command == "look" { #{ reply: "A square." } } }\n',
    };
    const { server, path, folder } = await createPurseSession(model, {
      replies: ["Hm."],
      plugins: [{ id: "aunt" }],
      files,
      id: "aunt",
    });
    extraServers.push(server);
    await pluginFolder({ ...files, "plugin.toml": manifest("bard") }, "bard", folder);
    await waitUntil(
      async () =>
        (await server.api("GET", "/api/plugins?limit=200")).items.some(
          (/** @type {{id: string}} */ { id }) => id === "bard",
        ),
      "the other plugin is taken in",
    );
    const { page, close } = await openPage(browser, { locale: "zh-CN" });
    await page.goto(server.base + path);
    await page.locator(".message.last").waitFor();
    await page.getByRole("button", { name: "菜单", exact: true }).click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "这个故事的插件" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("checkbox", { name: /^bard/ }).check();
    await dialog.getByRole("button", { name: "保存" }).click();
    await page.getByText("已保存。插件从下一条消息起生效。").waitFor();
    await page.getByText("/look 由 aunt 执行，bard 收不到。").waitFor();
    await close();
  });

  test("a plugin that is switched on uses the user's language, and its choices have names", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path, { locale: "zh-CN" });
    await page.getByRole("button", { name: "菜单", exact: true }).click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "这个故事的插件" }).click();
    const dialog = page.getByRole("dialog");
    const mvu = dialog.locator("li.choice:has(input[value=mvu])");
    await mvu.locator("input[value=mvu]").check();
    const language = mvu.locator("select:has(option[value=zh])");
    await waitUntil(async () => (await language.inputValue()) === "zh", "the reader's language");
    assert.deepEqual(await language.locator("option").allInnerTexts(), ["English", "中文"]);
    assert.deepEqual(await mvu.locator("select:has(option[value=never]) option").allInnerTexts(), [
      "占位符处",
      "总是",
      "从不",
    ]);
    await checkAccessibility(page, "the rules in Chinese");
    await dialog.locator("button.primary").click();
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(
      (await readSession(path)).plugins.map(({ id, config }) => ({ id, config })),
      [{ id: "mvu", config: { language: "zh" } }],
    );
    await close();
  });

  test("another model keeps the values, from now on and until it is unset", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Plugins of this story");
    const keeps = page.getByRole("dialog").getByRole("combobox", { name: /Model that updates the state/ });
    await keeps.waitFor();
    // The field appears before the list of models.
    await waitUntil(async () => (await keeps.locator("option").count()) > 1, "the models are there");
    const [other = ""] = await keeps
      .locator("option")
      .evaluateAll((all) => all.map((one) => /** @type {HTMLOptionElement} */ (one).value).filter(Boolean));
    await keeps.selectOption(other);
    await waitUntil(async () => (await readSession(path)).valuesModel === other, "it is kept");
    await keeps.selectOption("");
    await waitUntil(async () => (await readSession(path)).valuesModel === null, "nobody else keeps them");
    await close();
  });

  test("S3-18: new code that needs more permissions asks, and gets them only if the user agrees", async () => {
    const { server, path, sid, folder } = await createPurseSession(model, { replies: ["She finds 5 gold."] });
    extraServers.push(server);
    const { page, close } = await openPage(browser);
    await page.goto(server.base + path);
    await page.locator(".message.last.complete").waitFor();
    const manifest = join(folder, "purse", "plugin.toml");
    await writeFile(
      manifest,
      (await readFile(manifest, "utf8")).replace('["notes"]', '["notes", "input.stop"]').replace("1.0.0", "1.1.0"),
    );
    await page.getByText("Plugins need more permissions in this story: Purse.").waitFor();
    await page.getByRole("button", { name: "Review", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("not granted yet").waitFor();
    const more = dialog.getByRole("checkbox", { name: /^answer instead of the model/ });
    assert.ok(!(await more.isChecked()), "nothing is granted by looking");
    await checkAccessibility(page, "new code that asks for more");
    await more.check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual((await server.api("GET", `/api/sessions/${sid}`)).plugins[0].grants.sort(), [
      "input.stop",
      "notes",
    ]);
    await page.reload();
    await page.locator(".message.last.complete").waitFor();
    await close();
  });

  test("S3-18: texts displayed by a plugin follow the state on an open page, also after a change elsewhere", async () => {
    const files = {
      "plugin.toml":
        'id = "shown"\ntitle = "Shown"\nversion = "1.0.0"\napi = "1"\n[permissions]\nrequest = ["display.rewrite"]\n',
      "main.rhai":
        'fn on_reply(ctx) { ctx.add("n", 1); }\nfn on_display(ctx) { `${ctx.text} So far ${ctx.get("n", 0)}.` }\n',
    };
    const { server, path, sid, ids } = await createPurseSession(model, {
      replies: ["One.", "Two."],
      plugins: [{ id: "shown" }],
      files,
      id: "shown",
    });
    extraServers.push(server);
    const { page, close } = await openPage(browser);
    await page.goto(server.base + path);
    const lastOne = page.locator(".message.last.complete");
    await lastOne.getByText("Two. So far 2.").waitFor();
    await server.api("PUT", `/api/chat/${sid}/node/${ids[0]}/state`, { effects: "muted" });
    await lastOne.getByText("Two. So far 1.").waitFor();
    await server.api("POST", `/api/chat/${sid}/undo`, {});
    await lastOne.getByText("Two. So far 2.").waitFor();
    await close();
  });

  test("S3-12: new code changes the displayed replies on an open page, however far up they are", async () => {
    const show = (/** @type {string} */ word) => `fn on_display(ctx) { \`\${ctx.text} ${word}\` }\n`;
    const files = {
      "plugin.toml":
        'id = "shown"\ntitle = "Shown"\nversion = "1.0.0"\napi = "1"\n[permissions]\nrequest = ["display.rewrite"]\n',
      "main.rhai": show("First."),
    };
    const { server, path, sid, folder } = await createPurseSession(model, {
      replies: ["One."],
      plugins: [{ id: "shown" }],
      files,
      id: "shown",
    });
    extraServers.push(server);
    let { activeLeafId: parentId } = await server.api("GET", `/api/sessions/${sid}`);
    for (let i = 0; i < 70; i += 1) {
      parentId = (
        await server.api("POST", `/api/chat/${sid}/message`, {
          parentId,
          role: i % 2 ? "assistant" : "user",
          content: `m${i}`,
        })
      ).node.id;
      if (i % 9 > 0) continue;
      // A change node is on the branch too.
      await server.api("POST", `/api/chat/${sid}/node/${parentId}/world`, {
        operations: [{ op: "set", path: "/n", value: i }],
      });
      parentId = (await server.api("GET", `/api/sessions/${sid}`)).activeLeafId;
    }
    const { page, close } = await openPage(browser);
    await page.goto(server.base + path);
    await page.locator(".message.last.complete").getByText("m69 First.").waitFor();
    await page.getByRole("button", { name: "Earlier…" }).click();
    await page.getByRole("button", { name: "Earlier…" }).waitFor({ state: "detached" });
    await writeFile(join(folder, "shown", "main.rhai"), show("Second."));
    await page.locator(".message.last.complete").getByText("m69 Second.").waitFor();
    await page.locator(".scroller").evaluate((box) => (box.scrollTop = 0));
    await page.getByText("One. Second.").waitFor();
    assert.equal(await page.getByText("First.").count(), 0);
    await close();
  });

  test("settings that another client changed meanwhile are not overwritten", async () => {
    const path = await createSession({ plugins: [{ id: "combat" }] });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Plugins of this story");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("spinbutton", { name: /^Hit points/ }).fill("9");
    await clotho.api("PUT", `${path.replace("/s/", "/api/sessions/")}/plugins`, [
      { id: "combat", config: { start_hp: 30 } },
    ]);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("The plugins of this story were changed elsewhere.").waitFor();
    await dialog.getByRole("button", { name: "Reload" }).click();
    await waitUntil(
      async () =>
        (await dialog
          .getByRole("spinbutton", { name: /^Hit points/ })
          .inputValue()
          .catch(() => "")) === "30",
      "theirs",
    );
    await close();
  });

  test("plugins are chosen for a new session in the same form, also on a narrow screen and in Chinese", async () => {
    const name = `Ada ${Date.now()}`;
    await clotho.api("POST", "/api/characters", { name, firstMessage: "Hello." });
    const { page, close } = await openPage(browser, { viewport: { width: 390, height: 844 }, locale: "zh-CN" });
    await page.goto(clotho.base);
    await page
      .getByRole("button", { name: new RegExp(name) })
      .first()
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("checkbox", { name: /^好感/ }).or(dialog.locator('input[value="affinity"]')).first().check();
    await dialog.getByRole("group", { name: "权限" }).waitFor();
    await dialog.getByRole("spinbutton").first().fill("40");
    const wide = await dialog.locator(".sheet").evaluate((box) => box.scrollWidth - box.clientWidth);
    assert.equal(wide, 0, "nothing stands over the edge");
    await checkAccessibility(page, "rules at the beginning");
    await dialog.getByRole("button", { name: "开始" }).click();
    await page.waitForURL(/\/s\//);
    await page.locator('[data-path^="/affinity/"]').first().waitFor({ state: "attached" });
    const { plugins } = await readSession(new URL(page.url()).pathname);
    assert.deepEqual(
      plugins.map(({ id, config }) => ({ id, config })),
      [{ id: "affinity", config: { language: "zh", start: 40 } }],
    );
    await close();
  });
});
