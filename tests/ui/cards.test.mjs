// Tests against the real server: cards of other programs are imported, changed and exported.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { LOAD_ERROR, browser, checkAccessibility, clotho, chooseFiles } from "./support/setup.mjs";

const golden = (/** @type {string} */ name) => readFile(new URL(`../fixtures/golden/cards/${name}`, import.meta.url));

/** Chooses files on the first page. @param {import("playwright-core").Page} page */
const chooseCards = (page, label, files) => chooseFiles(page, page.getByRole("button", { name: label }), files);

/** Returns the characters with this name. @returns {Promise<any[]>} */
const charactersNamed = async (/** @type {string} */ name) =>
  (await clotho.api("GET", "/api/characters?limit=500")).items.filter((one) => one.name === name);

describe("cards of other programs", () => {
  test("S0-05: a card is imported with its picture and its report, changed, and exported again", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await chooseCards(page, "Import character card", [
      { name: "keeper.png", buffer: await golden("png-unicode-book.png") },
    ]);
    await page.getByText("灯塔守 🦦 is imported.").waitFor();
    await page.getByRole("button", { name: "Import report" }).click();
    const report = page.getByRole("dialog", { name: "Import report" });
    await report.getByText("3 entries").waitFor();
    await report.getByRole("region", { name: "Pocket Atlas" }).getByText("keeper.png").waitFor();
    await checkAccessibility(page, "the report of a card");
    await report.getByRole("button", { name: "Close" }).click();

    const [{ id, avatar }] = await charactersNamed("灯塔守 🦦");
    const shown = page.locator("button.card", { hasText: "灯塔守" }).locator("img");
    await shown.scrollIntoViewIfNeeded();
    await waitUntil(
      () => shown.evaluate((img) => /** @type {HTMLImageElement} */ (img).naturalWidth > 0),
      "its picture is drawn",
    );
    assert.equal(await shown.getAttribute("src"), `${avatar}&size=96`);

    await page.getByRole("button", { name: "Manage “灯塔守 🦦”" }).click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "Edit character" }).click();
    const form = page.getByRole("dialog", { name: "Edit character" });
    await form.getByRole("button", { name: "Add greeting" }).click();
    await form.getByRole("textbox", { name: "Greeting 2" }).fill("Snow again.");
    await form.getByRole("button", { name: "Add greeting" }).click();
    await form.getByRole("textbox", { name: "Greeting 3" }).fill("Fog again.");
    await form.getByRole("button", { name: "Move greeting 3 up" }).click();
    assert.equal(await form.getByRole("textbox", { name: "Greeting 2" }).inputValue(), "Fog again.");
    await form.getByRole("textbox", { name: "Tags" }).fill("sea, 灯塔");
    await form
      .getByLabel("Picture: PNG, JPEG, WebP or GIF")
      .setInputFiles({ name: "a.png", mimeType: "image/png", buffer: await golden("png-chara-v1.png") });
    await checkAccessibility(page, "changing a character");
    await form.getByRole("button", { name: "Save" }).click();
    await form.waitFor({ state: "detached" });
    const changed = await clotho.api("GET", `/api/characters/${id}`);
    assert.deepEqual(
      [changed.alternateGreetings, changed.tags],
      [
        ["Fog again.", "Snow again."],
        ["sea", "灯塔"],
      ],
    );
    assert.notEqual(changed.avatar, avatar);
    assert.equal(changed.metadata.creator, "Zoë", "what the page does not show stays");

    await page.getByRole("button", { name: "Manage “灯塔守 🦦”" }).click();
    const coming = page.waitForEvent("download");
    await page.locator(".menu:popover-open").getByRole("button", { name: "Export as JSON" }).click();
    const card = JSON.parse(await readFile(await (await coming).path(), "utf8"));
    assert.deepEqual(
      [card.spec, card.data.alternate_greetings, card.data.creator],
      ["chara_card_v3", ["Fog again.", "Snow again."], "Zoë"],
    );
    await close();
  });

  test("a card is dropped on the page; a file that is no card is refused with a hint, in both languages", async () => {
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Import character card" }).waitFor();
    const base64 = (await golden("v2-private.json")).toString("base64");
    await page.evaluate((base64) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], "private.json"));
      dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
    }, base64);
    await page.getByText("Private is imported.").waitFor();
    assert.equal((await charactersNamed("Private")).length, 1);
    await chooseCards(page, "Import character card", [
      { name: "empty.png", buffer: await golden("png-other-text.png") },
    ]);
    const failed = page.getByRole("alert").filter({ hasText: "empty.png" });
    await failed.getByText("The image contains no card.").waitFor();
    await failed.getByText("Export the card again as PNG", { exact: false }).waitFor();
    await checkAccessibility(page, "a picture without a card");
    await close();
    const chinese = await openPage(browser, { expected: LOAD_ERROR, locale: "zh-CN" });
    await chinese.page.goto(clotho.base);
    await chooseCards(chinese.page, "导入角色卡", [{ name: "full.json", buffer: await golden("v2-full.json") }]);
    await chinese.page.getByRole("button", { name: "导入报告" }).click();
    await chinese.page.getByRole("dialog").getByText("1 个作用于提示词的正则脚本：可以在故事里关掉").waitFor();
    await chinese.close();
  });

  test("an empty file, a picture without its end and a server without an answer are named in the user's language", async () => {
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR, locale: "zh-CN" });
    await page.goto(clotho.base);
    const cut = (await golden("png-chara-v1.png")).subarray(0, 60);
    for (const [name, buffer, words] of /** @type {const} */ ([
      ["empty.png", Buffer.alloc(0), "文件是空的。"],
      ["cut.png", cut, "图片不完整，请重新下载。"],
    ])) {
      await chooseCards(page, "导入角色卡", [{ name, buffer }]);
      const failed = page.getByRole("alert").filter({ hasText: name });
      await failed.getByText(words).waitFor();
      const said = (await failed.innerText()).replace(name, "");
      assert.doesNotMatch(said, /[a-z]{3}/i, "no English between the Chinese");
    }
    const down = page.locator(".models .problem").filter({ hasText: "down" });
    await down.waitFor();
    assert.equal((await down.innerText()).trim(), "down 无法列出模型： 连不上模型服务器：连接被拒绝。");
    await close();
  });
});
