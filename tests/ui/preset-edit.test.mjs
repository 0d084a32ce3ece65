// Tests against the real server: the preset editor.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  browser,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  lastMessage,
  model,
  createSession,
  openSession,
  waitForReply,
  sendMessage,
  readSession,
  clickMessageButton,
} from "./support/setup.mjs";

const KEPT =
  '{"temperature":0.70,"big":12345678901234567890,"odd":{"a":[null,1.50]},"prompts":[{"identifier":"main","name":"Main","content":"Tell it slowly.","odd":1.0},{"identifier":"tide","name":"Tide","content":"Mind the tide.","role":"user"}],"prompt_order":[{"character_id":100000,"order":[]},{"character_id":100001,"order":[{"identifier":"main","enabled":true},{"identifier":"charDescription","enabled":true},{"identifier":"chatHistory","enabled":true},{"identifier":"tide","enabled":true,"kept":7.0}]}]}';

const raw = async (id) => (await fetch(`${clotho.base}/api/presets/${id}`)).text();
const body = async (id) => (await clotho.api("GET", `/api/presets/${id}`)).body;
const order = async (id) =>
  (await body(id)).prompt_order
    .find((list) => list.character_id === 100001)
    .order.map((row) => (row.enabled ? row.identifier : `-${row.identifier}`))
    .join(" ");

async function preset(name, text = KEPT) {
  const answer = await fetch(`${clotho.base}/api/presets`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: `{"kind":"openai","name":${JSON.stringify(name)},"body":${text}}`,
  });
  return (await answer.json()).id;
}
const dialog = (page) => page.getByRole("dialog");
const row = (page, name) =>
  dialog(page)
    .getByRole("listitem")
    .filter({ has: page.getByRole("article", { name, exact: true }) });
const button = (page, name) => dialog(page).getByRole("button", { name, exact: true });
const isFocused = (one) =>
  waitUntil(() => one.evaluate((element) => element === document.activeElement), "the keyboard is there");

/** Selects an item of a menu by its name in another language. */
async function chooseFromMenu(page, menu, name) {
  await page.getByRole("button", { name: menu, exact: true }).click();
  await page.locator(".menu:popover-open").getByRole("button", { name, exact: true }).click();
}

/** Opens a preset in the editor. */
async function openEditor(name, path = null, options = {}) {
  const opened = path ? await openSession(path, options) : await openPage(browser, options);
  const { page } = opened;
  if (path) await chooseFromPageMenu(page, "Presets");
  else {
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Presets", exact: true }).click();
  }
  await dialog(page)
    .getByRole("article", { name, exact: true })
    .getByRole("button", { name: "Edit", exact: true })
    .click();
  await dialog(page).getByRole("heading", { name: "Prompts" }).waitFor();
  return opened;
}

describe("the preset editor", () => {
  test("prompts are reordered by keys and by dragging, switched and undone; other fields of the file stay the same", async () => {
    const id = await preset("Slow");
    const { page, close } = await openEditor("Slow");
    await checkAccessibility(page, "a preset being edited");
    await button(page, "Move “Tide” up").press("Enter");
    await waitUntil(async () => (await order(id)) === "main charDescription tide chatHistory", "it moved up");
    await isFocused(button(page, "Move “Tide” up"));
    await page.keyboard.press("Enter");
    await waitUntil(async () => (await order(id)) === "main tide charDescription chatHistory", "and again");
    await dialog(page).getByText("Tide is now 2 of 4").waitFor({ state: "attached" });
    await row(page, "Chat history").locator(".grip").dragTo(row(page, "Main prompt"));
    await waitUntil(async () => (await order(id)) === "chatHistory main tide charDescription", "it was dragged");
    await dialog(page).getByRole("checkbox", { name: "Send “Tide”" }).click();
    await waitUntil(async () => (await order(id)) === "chatHistory main -tide charDescription", "it is off");
    for (const before of ["chatHistory main tide charDescription", "main tide charDescription chatHistory"]) {
      await button(page, "Undo").click();
      await waitUntil(async () => (await order(id)) === before, `back to ${before}`);
    }
    const text = await raw(id);
    for (const kept of [
      '"temperature":0.70,"big":12345678901234567890,"odd":{"a":[null,1.50]}',
      '"content":"Tell it slowly.","odd":1.0',
      '"kept":7.0',
      '{"character_id":100000,"order":[]}',
    ])
      assert.ok(text.includes(kept), kept);
    await close();
  });

  test("a prompt is called not sent only if nothing of it is sent", async () => {
    const prompt = (identifier, more = {}) => ({ identifier, name: identifier, role: "system", content: "", ...more });
    const prompts = [
      prompt("main", { forbid_overrides: true }),
      prompt("jailbreak", { injection_position: 1, injection_depth: 0 }),
      prompt("line", { content: "---", injection_position: 1, injection_depth: 2 }),
      prompt("nothing"),
    ];
    const list = ["main", "chatHistory", "jailbreak", "line", "nothing"];
    const id = await preset(
      "Ends",
      JSON.stringify({
        prompts,
        prompt_order: [{ character_id: 100001, order: list.map((identifier) => ({ identifier, enabled: true })) }],
      }),
    );
    const character = await clotho.api("POST", "/api/characters", {
      name: "Ada",
      firstMessage: "Good evening.",
      systemPrompt: "Never sent.",
      postHistoryInstructions: "End with a question.",
    });
    const path = await createSession({ characterIds: [character.id] });
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { presetId: id });
    const { page, close } = await openEditor("Ends", path);
    const said = (identifier) => dialog(page).locator(`[data-part="${identifier}"] small`).innerText();
    assert.equal(await said("jailbreak"), "Empty. The text of the character card is sent, if it has one.");
    assert.equal(await said("line"), "---");
    assert.equal(await said("main"), "Empty, not sent.");
    assert.equal(await said("nothing"), "Empty, not sent.");
    await dialog(page).getByText("Prompt preview for this story").click();
    const preview = dialog(page).locator(".preview");
    await preview.getByText("End with a question.").first().waitFor();
    await preview.locator("pre").filter({ hasText: "---" }).first().waitFor({ state: "attached" });
    assert.equal(await preview.getByText("Never sent.").count(), 0);
    await close();
  });

  test("prompts with SillyTavern's names and a prompt that does not fit are in Chinese", async () => {
    const id = await preset(
      "巨大",
      JSON.stringify({
        openai_max_context: 700,
        openai_max_tokens: 100,
        prompts: [
          { identifier: "main", name: "Main Prompt", role: "system", content: "Tell it slowly. ".repeat(1000) },
        ],
      }),
    );
    const path = await createSession();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { presetId: id });
    const { page, close } = await openSession(path, { locale: "zh-CN" });
    await chooseFromMenu(page, "菜单", "预设");
    await dialog(page)
      .getByRole("article", { name: "巨大" })
      .getByRole("button", { name: "编辑", exact: true })
      .click();
    await dialog(page).getByRole("article", { name: "主提示词", exact: true }).waitFor();
    await dialog(page).getByText("这个故事的提示词预览").click();
    const trouble = dialog(page).locator(".section-fold .bad");
    await trouble.waitFor();
    assert.doesNotMatch(
      (await trouble.innerText()).replace("config.toml", "").replace("context_tokens", "").replaceAll("Token", ""),
      /[a-z]{3}/i,
    );
    await close();
  });

  test("a prompt is edited, placed at a depth, created, deleted and restored, and applies to the next message", async () => {
    const id = await preset("Tides");
    const path = await createSession();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { presetId: id });
    const { page, close } = await openEditor("Tides", path);
    await button(page, "Edit “Tide”").click();
    const form = dialog(page).getByRole("form", { name: "Tide" });
    await form.getByRole("textbox", { name: "Text" }).fill("Mind the ebb.");
    await form.getByRole("combobox", { name: "Role" }).selectOption("system");
    await form.getByRole("combobox", { name: "Position" }).selectOption({ label: "In chat" });
    await form.getByRole("spinbutton", { name: /^Depth/ }).fill("1");
    await checkAccessibility(page, "a prompt being written");
    await form.getByRole("button", { name: "Save" }).click();
    await row(page, "Tide").getByText("in chat, depth 1").waitFor();
    await isFocused(button(page, "Edit “Tide”"));
    assert.deepEqual((await body(id)).prompts[1], {
      identifier: "tide",
      name: "Tide",
      content: "Mind the ebb.",
      role: "system",
      injection_position: 1,
      injection_depth: 1,
    });

    await button(page, "New prompt").click();
    const fresh = dialog(page).getByRole("form", { name: "New prompt" });
    await fresh.getByRole("textbox", { name: "Name" }).fill("Fog");
    await fresh.getByRole("textbox", { name: "Text" }).fill("There is fog.");
    await fresh.getByRole("button", { name: "Save" }).click();
    await row(page, "Fog").waitFor();
    await dialog(page).getByText("Prompt preview for this story").click();
    const preview = dialog(page).locator(".preview");
    await preview.getByText("There is fog.").first().waitFor();
    await preview.getByText("(Your next message)").first().waitFor();
    await checkAccessibility(page, "a preview");
    await button(page, "Delete “Fog”").click();
    await row(page, "Fog").waitFor({ state: "detached" });
    await preview.getByText("There is fog.").first().waitFor({ state: "detached" });
    await dialog(page).locator(".notice").getByRole("button", { name: "Restore" }).click();
    await row(page, "Fog").waitFor();
    assert.equal(
      await button(page, "Delete “Main prompt”").count(),
      0,
      "what every preset has can be switched off, not deleted",
    );
    await page.keyboard.press("Escape");
    model.queueReply(["Yes."]);
    await sendMessage(page, "Who is there?");
    await waitForReply(page);
    const sent = model.requests.at(-1).messages.map(({ content }) => content);
    assert.ok(sent.includes("Mind the ebb.") && sent.at(-1) === "There is fog.", JSON.stringify(sent));
    await close();
  });

  test("a new preset is a copy of our own and gives the same prompt; samplers, texts and stop strings are set", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    const preview = async () =>
      (
        await clotho.api("POST", `${path.replace("/s/", "/api/chat/")}/prompt`, {
          parentId: (await readSession(path)).activeLeafId,
          content: "Hello.",
        })
      ).messages;
    const before = await preview();
    await chooseFromPageMenu(page, "Presets");
    await button(page, "New preset from the built-in one").click();
    await dialog(page).getByRole("heading", { name: "My preset" }).waitFor();
    await button(page, "Use in this story").click();
    await waitUntil(async () => (await readSession(path)).presetId !== null, "it is in use");
    const id = (await readSession(path)).presetId;
    assert.deepEqual(await preview(), before);

    await dialog(page).getByText("Generation settings").click();
    const sampling = dialog(page).getByRole("form", { name: "Generation settings" });
    await sampling.getByRole("spinbutton", { name: "Temperature" }).fill("0.4");
    await sampling.getByRole("textbox", { name: "Stop strings" }).fill("###\n\\nRin:");
    await checkAccessibility(page, "samplers");
    await sampling.getByRole("button", { name: "Save" }).click();
    await sampling.getByText("Saved.").waitFor();
    await dialog(page).getByText("Utility prompts").click();
    const texts = dialog(page).getByRole("form", { name: "Utility prompts" });
    await texts.getByRole("textbox", { name: "New chat" }).fill("It begins.");
    await texts.getByRole("button", { name: "Save" }).click();
    await texts.getByText("Saved.").waitFor();
    const { temperature, new_chat_prompt, extensions } = await body(id);
    assert.deepEqual([temperature, new_chat_prompt, extensions.clotho.stop], [0.4, "It begins.", ["###", "\nRin:"]]);
    await button(page, "Undo").click();
    await waitUntil(async () => (await body(id)).new_chat_prompt === "", "the text is as it was");
    await waitUntil(
      async () => (await texts.getByRole("textbox", { name: "New chat" }).inputValue()) === "",
      "and the form shows it",
    );
    await page.keyboard.press("Escape");
    model.queueReply(["Yes."]);
    await sendMessage(page, "Who is there?");
    await waitForReply(page);
    assert.deepEqual([model.requests.at(-1).temperature, model.requests.at(-1).stop], [0.4, ["###", "\nRin:"]]);
    await close();
  });

  test("a preset assigned to models applies to sessions without their own, and says so; shares of the prompt are set", async () => {
    const id = await preset("For m");
    const path = await createSession();
    const { page, close } = await openEditor("For m", path);
    await dialog(page).getByText("Use automatically with models").click();
    const models = dialog(page).getByRole("form", { name: "Use automatically with models" });
    await models.getByRole("textbox").fill("another\nANOTHER\n   \nmock/*");
    await models.getByRole("button", { name: "Save" }).click();
    await models.getByText("Saved.").waitFor();
    const kept = (await body(id)).extensions.clotho.models.join("\n");
    await waitUntil(
      async () => (await models.getByRole("textbox").inputValue()) === kept,
      "the field has what was kept",
    );
    await models.getByRole("textbox").fill("another\nmock/*");
    await models.getByRole("button", { name: "Save" }).click();
    await models.getByText("Saved.").waitFor();
    await dialog(page).getByText("used automatically with the model mock/*").waitFor();
    await dialog(page).getByText("Generation settings").click();
    const sampling = dialog(page).getByRole("form", { name: "Generation settings" });
    await sampling.getByRole("spinbutton", { name: "Lore (max)" }).fill("20");
    await sampling.getByRole("spinbutton", { name: "Chat history (min)" }).fill("40");
    await checkAccessibility(page, "shares");
    await sampling.getByRole("button", { name: "Save" }).click();
    await sampling.getByText("Saved.").waitFor();
    assert.deepEqual((await body(id)).extensions.clotho, {
      models: ["another", "mock/*"],
      shares: { lore: 20, history: 40 },
    });
    await button(page, "All presets").click();
    const shown = dialog(page).getByRole("article", { name: "For m" });
    await shown.getByText("Used automatically with another, mock/*").waitFor();
    await shown.getByText("in this story", { exact: true }).waitFor();
    await shown
      .getByText("This story has no preset of its own. This one is used automatically with the model mock/*.")
      .waitFor();
    await shown.getByRole("button", { name: "Use in this story" }).click();
    await shown.getByRole("button", { name: "Stop using in this story" }).click();
    await shown.getByText("This story has no preset of its own.").waitFor();
    await checkAccessibility(page, "a preset that holds by the model");
    // There is nothing to save, so nothing is asked.
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    model.queueReply(["Yes."]);
    await sendMessage(page, "Who is there?");
    await waitForReply(page);
    assert.match(JSON.stringify(model.requests.at(-1).messages), /Tell it slowly/);
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    await page
      .getByRole("dialog", { name: "Prompt inspector" })
      .getByText("For m, used automatically with mock/*")
      .waitFor();
    const read = page.getByRole("dialog", { name: "Prompt inspector" }).locator(".blocks").last();
    await read.getByText("Character description").waitFor();
    await read.getByText("Tide", { exact: true }).waitFor();
    assert.doesNotMatch(await read.innerText(), /charDescription|\bmain\b|tide/);
    await clotho.api("DELETE", `/api/presets/${id}`);
    await close();
  });

  test("concurrent edits do not overwrite each other: the conflict is shown, and the user keeps one version", async () => {
    const id = await preset("Shared");
    const { page, close } = await openEditor("Shared", null, { expected: LOAD_ERROR });
    await button(page, "Edit “Tide”").click();
    const form = dialog(page).getByRole("form", { name: "Tide" });
    await form.getByRole("textbox", { name: "Text" }).fill("Mine.");
    await clotho.api("PATCH", `/api/presets/${id}`, {
      change: { prompts: [{ identifier: "tide", content: "Theirs." }] },
    });
    await form.getByRole("button", { name: "Save" }).click();
    await dialog(page).getByRole("alert").getByText("Theirs.").waitFor();
    await checkAccessibility(page, "changed meanwhile");
    assert.equal((await body(id)).prompts[1].content, "Theirs.");
    await button(page, "Overwrite with mine").click();
    await form.waitFor({ state: "detached" });
    assert.equal((await body(id)).prompts[1].content, "Mine.");
    await button(page, "Edit “Tide”").click();
    await form.getByRole("textbox", { name: "Text" }).fill("Not yet saved.");
    await button(page, "All presets").click();
    await dialog(page).getByText("Your text is not saved.").first().waitFor();
    await button(page, "Keep editing").click();
    assert.equal(await form.getByRole("textbox", { name: "Text" }).inputValue(), "Not yet saved.");
    await form.getByRole("button", { name: "Cancel" }).click();
    await clotho.api("PATCH", `/api/presets/${id}`, {
      change: {
        order: [
          { identifier: "tide", enabled: true },
          { identifier: "main", enabled: true },
        ],
      },
    });
    await button(page, "Move “Tide” up").click();
    await dialog(page).getByRole("alert").getByText("This preset was changed elsewhere.").waitFor();
    assert.equal(await order(id), "tide main");
    await close();
  });

  test("typed text of a prompt is never lost without a question, and survives a reload and the back button", async () => {
    await preset("Typed");
    const opened = await openEditor("Typed");
    const { page, close } = opened;
    const form = dialog(page).getByRole("form", { name: "Tide" });
    const text = form.getByRole("textbox", { name: "Text" });
    await button(page, "Move “Tide” up").click();
    await dialog(page).getByText("Tide is now 3 of 4").waitFor({ state: "attached" });
    await button(page, "Edit “Tide”").click();
    await text.fill("Half a thought");
    const asked = dialog(page).getByText("Your text is not saved.");
    for (const other of ["Edit “Main prompt”", "Edit “Tide”", "All presets", "Undo", "New prompt", "Delete “Tide”"]) {
      await button(page, other).click();
      await asked.waitFor();
      await button(page, "Keep editing").click();
      assert.equal(await text.inputValue(), "Half a thought", other);
    }
    const again = async () => {
      await page.getByRole("button", { name: "Presets", exact: true }).click();
      await dialog(page)
        .getByRole("article", { name: "Typed", exact: true })
        .getByRole("button", { name: "Edit", exact: true })
        .click();
      await form.getByText("Your unsaved draft is in the fields again.").waitFor();
      assert.equal(await text.inputValue(), "Half a thought");
    };
    await page.reload();
    await again();
    await form.getByRole("combobox", { name: "Position" }).selectOption({ label: "In chat" });
    await form.getByRole("spinbutton", { name: /^Depth/ }).fill("7");
    await page.evaluate(() => (history.pushState(null, "", location.href), history.back()));
    await dialog(page).waitFor({ state: "detached" });
    await again();
    assert.equal(await form.getByRole("spinbutton", { name: /^Depth/ }).inputValue(), "7");
    await button(page, "Edit “Main prompt”").click();
    await button(page, "Discard").click();
    await dialog(page).getByRole("form", { name: "Main prompt" }).waitFor();
    await button(page, "Edit “Tide”").click();
    assert.equal(await text.inputValue(), "Mind the tide.");
    await close();
  });

  test("a prompt that another client deletes during an edit stays on screen and can be saved as a new one", async () => {
    const id = await preset("Lost");
    const { page, close } = await openEditor("Lost", null, { expected: LOAD_ERROR });
    await button(page, "Edit “Tide”").click();
    const form = dialog(page).getByRole("form", { name: "Tide" });
    await form.getByRole("textbox", { name: "Text" }).fill("Mind the ebb.");
    await clotho.api("PATCH", `/api/presets/${id}`, {
      change: {
        removed: ["tide"],
        order: [
          { identifier: "main", enabled: true },
          { identifier: "chatHistory", enabled: true },
        ],
      },
    });
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByText("This prompt was deleted elsewhere.").waitFor();
    assert.equal(await form.getByRole("textbox", { name: "Text" }).inputValue(), "Mind the ebb.");
    await checkAccessibility(page, "a prompt that is gone");
    await form.getByRole("button", { name: "Save as a new prompt" }).click();
    await form.waitFor({ state: "detached" });
    await row(page, "Tide").waitFor();
    const { prompts } = await body(id);
    assert.deepEqual(
      [prompts.at(-1).name, prompts.at(-1).content, prompts.at(-1).role],
      ["Tide", "Mind the ebb.", "user"],
    );
    assert.notEqual(prompts.at(-1).identifier, "tide");
    await close();
  });

  test("two quick presses move a prompt by two", async () => {
    const id = await preset("Quick");
    const { page, close } = await openEditor("Quick");
    await button(page, "Move “Tide” up").evaluate((up) => (up.click(), up.click()));
    await waitUntil(async () => (await order(id)) === "main tide charDescription chatHistory", "by two");
    await close();
  });

  test("the editor fits a phone, in Chinese and in dark mode", async () => {
    await preset("潮汐", KEPT.replaceAll("Mind the tide.", "0123456789".repeat(60)));
    const { page, close } = await openPage(browser, {
      locale: "zh-CN",
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      colorScheme: "dark",
    });
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "预设", exact: true }).tap();
    await dialog(page).getByRole("article", { name: "潮汐" }).getByRole("button", { name: "编辑" }).tap();
    await button(page, "上移“Tide”").tap();
    await dialog(page).getByText("Tide现在是第 3 个，共 4 个").waitFor({ state: "attached" });
    await button(page, "编辑“Tide”").tap();
    await dialog(page).getByText("生成设置").tap();
    assert.ok(
      await dialog(page).evaluate(
        (box) => box.scrollWidth <= box.clientWidth && document.documentElement.scrollWidth <= innerWidth,
      ),
      "nothing is wider than the screen",
    );
    await checkAccessibility(page, "a preset edited on a phone");
    await close();
  });
});
