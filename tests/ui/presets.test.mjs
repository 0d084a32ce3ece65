// Tests against the real server: presets of other programs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  browser,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  chooseFiles,
  lastMessage,
  model,
  createSession,
  openSession,
  extraServers,
  waitForReply,
  sendMessage,
  readSession,
  clickMessageButton,
} from "./support/setup.mjs";
import { startClotho } from "./support/server.mjs";

/** Returns the presets with this name, with all their fields. @returns {Promise<any[]>} */
const presetsNamed = async (name) => {
  const found = (await clotho.api("GET", "/api/presets?limit=500")).items.filter((one) => one.name === name);
  return Promise.all(found.map(({ id }) => clotho.api("GET", `/api/presets/${id}`)));
};
const createPreset = (kind, name, body, server = clotho) => server.api("POST", "/api/presets", { kind, name, body });
const presetDialog = (page, name = "Presets") => page.getByRole("dialog", { name, exact: true });
const row = (page, name) => presetDialog(page).getByRole("article", { name, exact: true });
const file = (name, text) => ({ name, buffer: Buffer.from(text) });
/** Drops files on an element. */
const drop = (page, selector, files) =>
  page.evaluate(
    ([selector, files]) => {
      const data = new DataTransfer();
      for (const { name, text } of files) data.items.add(new File([text], name));
      (selector ? document.querySelector(selector) : window)?.dispatchEvent(
        new DragEvent("drop", { dataTransfer: data, cancelable: true, bubbles: true }),
      );
    },
    [selector, files],
  );

/** Opens the presets. @param {Parameters<typeof openPage>[1]} [options] */
async function openPresets(options) {
  const opened = await openPage(browser, options);
  await opened.page.goto(clotho.base);
  await opened.page.getByRole("button", { name: "Presets", exact: true }).click();
  await presetDialog(opened.page).waitFor();
  return opened;
}

describe("presets", () => {
  for (const [where, options] of Object.entries({
    "a window": {},
    "a phone": { viewport: { width: 390, height: 780 } },
  })) {
    test(`in ${where}, notices of a long list are in view at any scroll position and cover nothing of it`, async () => {
      for (let n = 0; n < 15; n += 1) await createPreset("sysprompt", `Long ${where} ${n}`, {});
      const { page, close } = await openPresets(options);
      await row(page, `Long ${where} 0`).getByRole("button", { name: "Delete" }).click();
      const back = presetDialog(page).getByRole("button", { name: "Restore" });
      await back.waitFor();
      const sheet = presetDialog(page).locator(".sheet");
      for (const top of [0, 300, 1e6]) {
        await sheet.evaluate((box, top) => (box.scrollTop = top), top);
        const [button, list] = [await back.boundingBox(), await sheet.boundingBox()];
        assert.ok(
          list &&
            button &&
            button.y >= list.y + list.height &&
            button.y + button.height <= (page.viewportSize()?.height ?? 0),
          `${top}: ${JSON.stringify([button, list])}`,
        );
      }
      assert.ok(await sheet.evaluate((box) => box.scrollHeight > 2 * box.clientHeight), "the list is a long one");
      await checkAccessibility(page, "a notice in a long list");
      await back.click();
      await row(page, `Long ${where} 0`).waitFor();
      await close();
    });
  }

  test("presets are listed by kind, searched, viewed, renamed, exported, deleted and restored", async () => {
    const prompts = [
      { identifier: "main", name: "Main prompt", content: "Write as {{char}}.\nNever as {{user}}." },
      { identifier: "nsfw", name: "Aside", content: "" },
    ];
    await createPreset("openai", "Calm sea", { temperature: 0.5, prompts, prompt_order: [], odd: null });
    await createPreset("regex", "No stars", { scriptName: "No stars", findRegex: "/\\*/g" });
    await createPreset("theme", "Dusk", {});
    const { page, close } = await openPresets();
    await presetDialog(page)
      .getByRole("region", { name: "Chat completion" })
      .getByRole("article", { name: "Calm sea" })
      .waitFor();
    await presetDialog(page)
      .getByRole("region", { name: "Regex scripts" })
      .getByRole("article", { name: "No stars" })
      .waitFor();
    await presetDialog(page).getByRole("searchbox", { name: "Find a preset" }).fill("SEA");
    await presetDialog(page).getByText("1 preset", { exact: true }).waitFor();
    assert.equal(await row(page, "Dusk").count(), 0);
    await presetDialog(page).getByRole("searchbox").fill("");
    await presetDialog(page).getByRole("combobox", { name: "Type" }).selectOption({ label: "UI themes" });
    await presetDialog(page).getByText("1 preset", { exact: true }).waitFor();
    await presetDialog(page).getByRole("combobox", { name: "Type" }).selectOption({ label: "All types" });

    await row(page, "Calm sea").getByRole("button", { name: "Show contents" }).click();
    await row(page, "Calm sea").getByText("0.5").waitFor();
    await row(page, "Calm sea").getByText("null").waitFor();
    await row(page, "Calm sea").getByText("prompts").click();
    await row(page, "Calm sea").getByText("1 Main prompt").click();
    await row(page, "Calm sea").getByText("content", { exact: true }).first().click();
    await row(page, "Calm sea").locator("pre").getByText("Never as {{user}}.").waitFor();
    await checkAccessibility(page, "a preset that is looked into");
    await row(page, "Dusk").getByRole("button", { name: "Show contents" }).click();
    await row(page, "Dusk").getByText("It is empty.").waitFor();

    await row(page, "Calm sea").getByRole("button", { name: "Rename" }).click();
    await row(page, "Calm sea").getByRole("textbox", { name: "Name" }).fill("Calm harbour");
    await page.keyboard.press("Enter");
    const calm = row(page, "Calm harbour");
    await calm.waitFor();
    await waitUntil(
      () => calm.getByRole("button", { name: "Rename" }).evaluate((button) => button === document.activeElement),
      "the keyboard is where it was",
    );
    assert.deepEqual((await presetsNamed("Calm harbour"))[0].body.prompts, prompts);
    const coming = page.waitForEvent("download");
    await calm.getByRole("button", { name: "Export" }).click();
    const download = await coming;
    assert.equal(download.suggestedFilename(), "Calm-harbour.json");
    assert.deepEqual(JSON.parse(await readFile(await download.path(), "utf8")).prompts, prompts);
    await calm.getByRole("button", { name: "Delete" }).click();
    await calm.waitFor({ state: "detached" });
    assert.ok(
      await presetDialog(page).evaluate((box) => box.contains(document.activeElement)),
      "the keyboard stays in the dialog",
    );
    await page.locator(".notice").getByRole("button", { name: "Restore" }).click();
    await calm.waitFor();
    await calm.getByRole("button", { name: "Delete" }).click();
    await calm.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Trash" }).click();
    await page
      .getByRole("article", { name: "Calm harbour" })
      .getByText(/^Preset · /)
      .waitFor();
    await close();
  });

  test("presets are imported by the button and by dropping, unchanged and once; an unknown type is asked, other files are refused", async () => {
    const { page, close } = await openPresets({ expected: LOAD_ERROR });
    const bring = (...files) =>
      chooseFiles(page, presetDialog(page).getByRole("button", { name: "Import presets" }), files);
    const text = '{"temperature":0.70,"big":12345678901234567890,"prompts":[]}';
    await bring(file("Tide.json", text), file("Odd.json", '{"what": "is this"}'));
    await row(page, "Tide").waitFor();
    const raw = await fetch(`${clotho.base}/api/presets/${(await presetsNamed("Tide"))[0].id}`);
    assert.ok((await raw.text()).includes(text), "not even a number is written in another way");
    await presetDialog(page).getByText("The type of “Odd.json” is unknown.").waitFor();
    await checkAccessibility(page, "a preset without a kind");
    await presetDialog(page)
      .getByRole("combobox", { name: /Odd\.json/ })
      .selectOption({ label: "System prompts" });
    await presetDialog(page).getByRole("button", { name: "Import as this type" }).click();
    await presetDialog(page)
      .getByRole("region", { name: "System prompts" })
      .getByRole("article", { name: "Odd" })
      .waitFor();
    await drop(page, "dialog .stash", [
      { name: "Tide.json", text },
      { name: "Think.json", text: '{"name": "Think", "prefix": "<think>", "suffix": "</think>", "separator": ""}' },
    ]);
    await presetDialog(page)
      .getByRole("region", { name: "Reasoning templates" })
      .getByRole("article", { name: "Think" })
      .waitFor();
    assert.equal((await presetsNamed("Tide")).length, 1, "the same one does not come twice");
    await bring(file("none.json", "[1]"));
    await page.getByRole("alert").getByText("This JSON file is not a preset.", { exact: false }).waitFor();
    await bring(file("Reef.json", '{"temperature":0.2,"prompts":[]}'));
    await row(page, "Reef").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0, "what was said of the file before is done with");
    await bring(file("Reef.json", '{"temperature":0.2,"prompts":[]}'));
    await page.getByText("Reef is already here, unchanged.").waitFor();
    assert.equal(await row(page, "Reef").count(), 1, "it is there once");
    await page.getByRole("button", { name: "Close" }).first().click();
    await close();

    const other = await openPage(browser);
    await other.page.goto(clotho.base);
    await other.page.getByRole("button", { name: "Presets", exact: true }).waitFor();
    await drop(other.page, null, [{ name: "Trim.json", text: '[{"scriptName": "Trim", "findRegex": "a"}]' }]);
    await other.page.getByText("Trim is imported.").waitFor();
    await other.page.locator(".notice").getByRole("button", { name: "Import report" }).click();
    const report = other.page.getByRole("dialog", { name: "Import report" });
    await report.getByText("It changes the prompt in all stories.").waitFor();
    await report.getByRole("button", { name: "Open “Trim”" }).click();
    await row(other.page, "Trim").getByText("findRegex").waitFor();
    assert.ok(
      await row(other.page, "Trim")
        .getByRole("button", { name: "Show contents" })
        .evaluate((button) => button === document.activeElement),
    );
    await other.close();
  });

  test("a chat-completion preset makes the prompts of a session from the next message on, until it is unset", async () => {
    const preset = await createPreset("openai", "Own order", {
      prompts: [{ identifier: "main", content: "Tell it in my order." }],
      prompt_order: [],
    });
    await createPreset("theme", "Only looks", {});
    const path = await createSession();
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Presets");
    const mine = row(page, "Own order");
    await mine.getByRole("button", { name: "Use in this story" }).click();
    await mine.getByText("in this story", { exact: true }).waitFor();
    await checkAccessibility(page, "a preset that is in use");
    assert.equal(await row(page, "Only looks").getByRole("button", { name: "Use in this story" }).count(), 0);
    assert.equal((await readSession(path)).presetId, preset.id);
    await page.keyboard.press("Escape");
    model.queueReply(["Good evening."]);
    await sendMessage(page, "Who is there?");
    await waitForReply(page);
    assert.match(JSON.stringify(model.requests.at(-1).messages), /Tell it in my order/);
    await chooseFromPageMenu(page, "Presets");
    await mine.getByRole("button", { name: "Stop using in this story" }).click();
    await mine.getByRole("button", { name: "Use in this story", exact: true }).waitFor();
    assert.equal((await readSession(path)).presetId, null);
    await close();
  });

  test("S4-52: own regex scripts are edited here; scripts of others are shown and switched off in a session", async () => {
    const regex_scripts = [{ scriptName: "Quiet", findRegex: "/harbour/g", replaceString: "pier", placement: [1] }];
    const character = await clotho.api("POST", "/api/characters", {
      name: "Rin",
      firstMessage: "Hello.",
      metadata: { extensions: { regex_scripts } },
    });
    const preset = await createPreset("openai", "Plain order", { prompts: [], prompt_order: [] });
    const path = await createSession({ characterIds: [character.id] });
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { presetId: preset.id });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Presets");
    await presetDialog(page).getByRole("button", { name: "New script" }).click();
    await presetDialog(page).getByRole("textbox", { name: "Name" }).fill("No ships");
    await presetDialog(page).getByRole("textbox", { name: "Find regex" }).fill("/ships?/g");
    await presetDialog(page).getByRole("textbox", { name: "Replace with" }).fill("boats");
    await presetDialog(page).getByRole("checkbox", { name: "AI output" }).uncheck();
    await presetDialog(page).getByRole("button", { name: "Save" }).click();
    await row(page, "No ships").waitFor();
    const [kept] = await presetsNamed("No ships");
    assert.deepEqual(
      [kept.kind, kept.body.findRegex, kept.body.placement, kept.body.promptOnly],
      ["regex", "/ships?/g", [1], true],
    );

    const others = presetDialog(page).getByRole("group", { name: "Scripts of the card and the preset" });
    await others.getByText("Show scripts").click();
    await others.getByText("/harbour/g").waitFor();
    await checkAccessibility(page, "the scripts of a story");
    await page.keyboard.press("Escape");
    const send = async (text) => {
      const before = model.requests.length;
      model.queueReply(["Yes."]);
      await sendMessage(page, text);
      await waitUntil(() => model.requests.length > before, "the model is asked");
      await waitForReply(page);
      return JSON.stringify(model.requests.at(-1).messages);
    };
    assert.match(await send("Ships in the harbour?"), /Ships in the pier\?/);
    assert.match(await send("A ship in the harbour?"), /A boats in the pier\?/);
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    await why.getByText("No ships yours changed one text").waitFor();
    await why.getByText("Quiet from the card changed 2 texts").waitFor();
    await checkAccessibility(page, "why, with scripts");
    await page.keyboard.press("Escape");

    await chooseFromPageMenu(page, "Presets");
    await others.getByRole("checkbox", { name: "1 script of the card" }).click();
    await waitUntil(async () => (await readSession(path)).regexScripts.card === false, "the story knows");
    await row(page, "No ships").getByRole("button", { name: "Edit" }).click();
    await row(page, "No ships").getByRole("textbox", { name: "Replace with" }).fill("rafts");
    await row(page, "No ships").getByRole("button", { name: "Save" }).click();
    await waitUntil(
      async () => (await presetsNamed("No ships"))[0].body.replaceString === "rafts",
      "the script is another",
    );
    // A question about the typed text would appear.
    await row(page, "No ships").getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await presetDialog(page).waitFor({ state: "detached" });
    assert.match(await send("More ships in the harbour?"), /More rafts in the harbour\?/);
    await close();
  });

  test("an empty list says how presets are imported, and a failed read can be repeated", async () => {
    const server = await startClotho();
    extraServers.push(server);
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    await page.goto(server.base);
    await page.getByRole("button", { name: "Presets", exact: true }).waitFor();
    await page.route("**/api/presets**", (route) => route.abort());
    await page.getByRole("button", { name: "Presets", exact: true }).click();
    await presetDialog(page).getByText("The presets could not be loaded.").waitFor();
    await page.unroute("**/api/presets**");
    await presetDialog(page).getByRole("button", { name: "Try again" }).click();
    await presetDialog(page).getByText("There is no preset yet.").waitFor();
    await checkAccessibility(page, "no presets");
    await close();
  });

  test("presets work on a phone, by touch, in Chinese and in dark mode; long names and a thousand parts fit", async () => {
    const endless = "0123456789".repeat(19);
    await createPreset("context", endless, {
      [endless]: endless.repeat(5),
      list: Array.from({ length: 1000 }, (_, n) => n),
    });
    const { page, close } = await openPage(browser, {
      locale: "zh-CN",
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      colorScheme: "dark",
    });
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "预设", exact: true }).tap();
    const dialog = presetDialog(page, "预设");
    const one = dialog.getByRole("article", { name: endless });
    await one.getByRole("button", { name: "查看内容" }).tap();
    await one.getByText("1000 项").tap();
    await one.getByRole("button", { name: "再显示一些，还有 900 项" }).tap();
    await one.getByRole("button", { name: "再显示一些，还有 800 项" }).waitFor();
    assert.ok(
      await dialog.evaluate(
        (box) => box.scrollWidth <= box.clientWidth && document.documentElement.scrollWidth <= innerWidth,
      ),
      "nothing is wider than the screen",
    );
    await checkAccessibility(page, "the presets on a phone");
    await close();
  });

  test("the samplers of a preset without prompts are used in a story", async () => {
    await createPreset("textgen", "Cold", { temp: 0.4, dry_multiplier: 0.8, genamt: 200 });
    const path = await createSession({ params: { temperature: 1.5 } });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Presets");
    await row(page, "Cold").getByRole("button", { name: "Use its samplers in this story" }).click();
    await page.getByText("This story has the samplers of “Cold” now.").waitFor();
    assert.deepEqual((await readSession(path)).params, { temperature: 0.4, dry_multiplier: 0.8, max_tokens: 200 });
    await close();
  });
});
