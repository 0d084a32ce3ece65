// Tests against the real server: plugins embedded in cards.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { pluginFolder, createPurseSession } from "./support/purse-plugin.mjs";
import { browser, checkAccessibility, model, extraServers } from "./support/setup.mjs";

const MANIFEST =
  'id = "tide"\ntitle = { en = "Tide", zh = "潮汐" }\ndescription = { en = "Rises and falls", zh = "涨落" }\nversion = "1.0.0"\napi = "1"\n[permissions]\nrequest = ["notes"]\n';

/**
 * Opens the form of a character on a server with the purse plugin.
 * @param {object} fields @param {(top: string, server: any) => Promise<void>} [prepare] puts more into its folder of plugins
 */
async function openCharacterForm(
  fields,
  prepare = async (/** @type {string} */ _top, /** @type {import("./support/server.mjs").Clotho} */ _server) => {},
) {
  const story = await createPurseSession(model, { replies: [] });
  extraServers.push(story.server);
  await prepare(story.folder, story.server);
  const { name } = await story.server.api("POST", "/api/characters", {
    name: "Ilse",
    firstMessage: "Hello.",
    ...fields,
  });
  const opened = await openPage(browser);
  const { page } = opened;
  await page.goto(story.server.base);
  await page.getByRole("button", { name: `Manage “${name}”` }).click();
  await page.locator(".menu:popover-open").getByRole("button", { name: "Edit character" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit character" });
  await dialog.waitFor();
  return { ...story, ...opened, dialog };
}

describe("embedded plugins", () => {
  test("rank 7, 13: an embedded plugin is shown and does not run before it is installed", async () => {
    const files = { "plugin.toml": MANIFEST, "main.rhai": 'fn on_reply(ctx) { ctx.note("The tide."); }\n' };
    const { page, close, dialog, server } = await openCharacterForm({ metadata: { clotho: { rules: { files } } } });
    await dialog.getByText("The card’s plugin is not installed here. It has not run.").waitFor();
    for (const words of ["Tide 1.0.0", "Rises and falls", "show lines under a message"])
      await dialog.getByText(words).first().waitFor();
    await dialog.getByText("main.rhai").click();
    await dialog.getByText('ctx.note("The tide.")').waitFor();
    await checkAccessibility(page, "rules in a card");
    assert.ok(
      !(await server.api("GET", "/api/plugins")).items.some((/** @type {{id: string}} */ one) => one.id === "tide"),
    );
    await dialog.getByRole("button", { name: "Install the card’s plugin" }).click();
    await dialog.getByText("The plugin is installed. Turn it on in the plugins of a story.").waitFor();
    assert.ok(
      (await server.api("GET", "/api/plugins")).items.some((/** @type {{id: string}} */ one) => one.id === "tide"),
    );
    // A new session has the plugin on, unless the user switches it off.
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("button", { name: /^Ilse/ }).click();
    const start = page.getByRole("dialog", { name: "Ilse" });
    assert.ok(await start.getByRole("checkbox", { name: /^Tide/ }).isChecked(), "what the card brought is on");
    assert.ok(!(await start.getByRole("checkbox", { name: /^Purse/ }).isChecked()), "nothing else is");
    await start.getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/s\//);
    const { plugins } = await server.api("GET", new URL(page.url()).pathname.replace("/s/", "/api/sessions/"));
    assert.deepEqual(
      plugins.map((/** @type {{id: string}} */ one) => one.id),
      ["tide"],
    );
    await close();
  });

  test("a plugin that is not installed in exactly the version of the card is not switched on automatically", async () => {
    const files = { "plugin.toml": MANIFEST, "main.rhai": 'fn on_reply(ctx) { ctx.note("The tide."); }\n' };
    const { page, close, dialog } = await openCharacterForm(
      { metadata: { clotho: { rules: { files } } } },
      async (top, server) => {
        await pluginFolder({ ...files, "main.rhai": "fn on_reply(ctx) { }\n" }, "tide", top);
        await waitUntil(
          async () =>
            (await server.api("GET", "/api/plugins")).items.some(
              (/** @type {{id: string}} */ one) => one.id === "tide",
            ),
          "other rules of this name are here",
        );
      },
    );
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Ilse/ }).click();
    assert.ok(!(await page.getByRole("dialog", { name: "Ilse" }).getByRole("checkbox", { name: /^Tide/ }).isChecked()));
    await close();
  });

  test("an installed plugin is embedded in a card and removed from it", async () => {
    const { page, close, dialog } = await openCharacterForm({});
    await dialog.getByText("Plugin in this card").click();
    await dialog.getByLabel("Plugin").selectOption({ label: "Purse" });
    await dialog.getByRole("button", { name: "Add a plugin to the card" }).click();
    await dialog.getByText("The card’s plugin is installed here in the same version.").waitFor();
    const out = dialog.getByRole("button", { name: "Remove the plugin from the card" });
    await out.click();
    await dialog.getByRole("group", { name: "Remove", exact: true }).getByRole("button", { name: "Cancel" }).click();
    await out.click();
    await checkAccessibility(page, "the question before rules are taken out of a card");
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await dialog.getByLabel("Plugin").waitFor();
    await close();
  });

  test("an update shows a line diff with invisible characters, and a title without them", async () => {
    const files = {
      "plugin.toml": MANIFEST.replace("1.0.0", "1.1.0").replace('"Tide"', '"Ti\\u202Ede"'),
      "main.rhai": `fn on_reply(ctx) {\n    // \u202e${"long ".repeat(60)}\n    ctx.note("The tide.");\n}\n`,
    };
    const old = { "plugin.toml": MANIFEST, "main.rhai": 'fn on_reply(ctx) {\n    ctx.note("The sea.");\n}\n' };
    const { page, close, dialog } = await openCharacterForm(
      { metadata: { clotho: { rules: { files } } } },
      async (top, server) => {
        await pluginFolder(old, "tide", top);
        await waitUntil(
          async () =>
            (await server.api("GET", "/api/plugins")).items.some(
              (/** @type {{id: string}} */ one) => one.id === "tide",
            ),
          "the old rules are here",
        );
      },
    );
    await dialog
      .getByText("The card has a newer version of an installed plugin (1.0.0 here, 1.1.0 in the card).")
      .waitFor();
    assert.equal(await dialog.getByRole("heading", { name: "1.1.0" }).innerText(), "Tide 1.1.0");
    await dialog.getByText("main.rhai").click();
    assert.match(
      (await dialog.locator("pre.lines:visible del").allInnerTexts()).join(""),
      /^− {5}ctx\.note\("The sea\."\);\s*$/,
    );
    assert.match(
      (await dialog.locator("pre.lines:visible ins").allInnerTexts()).join(""),
      /^\+ {5}\/\/ ⟨U\+202E⟩long[\s\S]*\+ {5}ctx\.note\("The tide\."\);\s*$/,
    );
    assert.ok(
      await dialog.locator("pre.lines:visible").evaluate((box) => box.scrollWidth <= box.clientWidth),
      "no sideways scroll",
    );
    await checkAccessibility(page, "an update of rules");
    await close();
  });
});
