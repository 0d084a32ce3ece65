// Tests in Chromium against the real server: the regex scripts of an imported card or preset run only after a yes.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  browser,
  checkAccessibility,
  chooseFiles,
  chooseFromPageMenu,
  clotho,
  createSession,
  openSession,
  readSession,
} from "./support/setup.mjs";

const scripts = (find) => [
  {
    scriptName: "Loud sea",
    findRegex: find,
    replaceString: "SEA",
    placement: [2],
    trimStrings: [],
    markdownOnly: true,
  },
];

/** Imports a card with a script through the API. @returns {Promise<any>} the character */
async function importCard(name, find) {
  const extensions = { regex_scripts: scripts(find) };
  const data = { name, description: "", first_mes: "The sea is quiet.", extensions };
  const headers = { Origin: clotho.base, "Content-Type": "application/json" };
  const me = await (await fetch(`${clotho.base}/api/auth/me`)).json();
  if (me?.csrf) headers["X-CSRF-Token"] = me.csrf;
  const body = JSON.stringify({ spec: "chara_card_v2", spec_version: "2.0", data });
  return (await fetch(`${clotho.base}/api/characters/import`, { method: "POST", headers, body })).json();
}

const character = (id) => clotho.api("GET", `/api/characters/${id}`);
const question = (page) => page.getByRole("dialog", { name: "This file brings settings" });

describe("regex scripts of imported files", () => {
  test("a story with an imported card asks about its scripts, which run after a yes", async () => {
    const { id, requestedSettings } = await importCard("Sea asks", "/sea/g");
    assert.deepEqual(requestedSettings, { regexScripts: true });
    const path = await createSession({ characterIds: [id] });
    const { page, close } = await openSession(path);
    await question(page).waitFor();
    await question(page).getByText("Loud sea").waitFor();
    await checkAccessibility(page, "the scripts of an imported card");
    await page.getByText("The sea is quiet.").first().waitFor();
    await question(page)
      .getByRole("checkbox", { name: /^Regex scripts/ })
      .check();
    await question(page).getByRole("button", { name: "Use what is selected" }).click();
    await question(page).waitFor({ state: "detached" });
    await page.getByText("The SEA is quiet.").first().waitFor();
    assert.deepEqual((await readSession(path)).regexScripts, { card: true, preset: true });
    const answered = await character(id);
    assert.deepEqual([answered.regexScripts, answered.requestedSettings], [true, null]);
    await close();
  });

  test("the scripts of a card are allowed and forbidden where the character is edited", async () => {
    const { id } = await importCard("Sea waits", "/sea+/g");
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    const edit = async (shown, wanted) => {
      await page.getByRole("button", { name: "Manage “Sea waits”" }).click();
      await page.locator(".menu:popover-open").getByRole("button", { name: "Edit character" }).click();
      const form = page.getByRole("dialog", { name: "Edit character" });
      const choice = form.getByRole("combobox", { name: "Regex scripts of this card" });
      assert.equal(await choice.inputValue(), shown);
      await choice.selectOption(wanted);
      await form.getByRole("button", { name: "Save" }).click();
      await form.waitFor({ state: "detached" });
    };
    await edit("ask", "yes");
    const allowed = await character(id);
    assert.deepEqual([allowed.regexScripts, allowed.requestedSettings], [true, null]);
    await edit("yes", "no");
    assert.equal((await character(id)).regexScripts, false);
    await close();
  });

  test("an imported preset asks about its scripts at once, and again where it is edited", async () => {
    const { page, close } = await openSession(await createSession());
    await chooseFromPageMenu(page, "Presets");
    const presets = page.getByRole("dialog", { name: "Presets" });
    const body = { prompts: [], prompt_order: [], extensions: { regex_scripts: scripts("/seas/g") } };
    await chooseFiles(page, presets.getByRole("button", { name: "Import presets" }), [
      { name: "Loud.json", buffer: Buffer.from(JSON.stringify(body)) },
    ]);
    await question(page).getByText("Regex scripts of Loud").waitFor();
    await question(page).getByText("Loud sea").waitFor();
    await checkAccessibility(page, "the scripts of an imported preset");
    await question(page).getByRole("button", { name: "Use none" }).click();
    await question(page).waitFor({ state: "detached" });
    const { items } = await clotho.api("GET", "/api/presets?limit=500");
    const { id } = items.find(({ name }) => name === "Loud");
    assert.equal((await clotho.api("GET", `/api/presets/${id}`)).regexScripts, false);
    await presets.getByRole("article", { name: "Loud", exact: true }).getByRole("button", { name: "Edit" }).click();
    await page.getByRole("button", { name: "Decide about them" }).click();
    await question(page).getByRole("checkbox").check();
    await question(page).getByRole("button", { name: "Use what is selected" }).click();
    await waitUntil(
      async () => (await clotho.api("GET", `/api/presets/${id}`)).regexScripts === true,
      "the scripts are allowed",
    );
    await close();
  });

  test("imported scripts for all stories are asked about one by one, and named in the list while they wait", async () => {
    const { page, close } = await openSession(await createSession());
    await chooseFromPageMenu(page, "Presets");
    const presets = page.getByRole("dialog", { name: "Presets" });
    const [first] = scripts("/tide/g");
    const list = [
      { ...first, scriptName: "Tide loud" },
      { ...first, scriptName: "Tide soft", replaceString: "tide" },
    ];
    await chooseFiles(page, presets.getByRole("button", { name: "Import presets" }), [
      { name: "Tides.json", buffer: Buffer.from(JSON.stringify(list)) },
    ]);
    await question(page)
      .getByRole("checkbox", { name: /^Tide loud/ })
      .check();
    await question(page).getByRole("button", { name: "Use what is selected" }).click();
    await question(page).waitFor({ state: "detached" });
    const soft = presets.getByRole("article", { name: "Tide soft", exact: true });
    await soft.getByText("Imported. It does not run before you allow it.").waitFor();
    await checkAccessibility(page, "imported scripts that wait");
    const { items } = await clotho.api("GET", "/api/presets?kind=regex");
    const runs = Object.fromEntries(items.map(({ name, regexScripts }) => [name, regexScripts]));
    assert.deepEqual([runs["Tide loud"], runs["Tide soft"]], [true, false]);
    await soft.getByRole("button", { name: "Decide about them" }).click();
    await question(page).getByRole("button", { name: "Use none" }).click();
    await close();
  });
});
