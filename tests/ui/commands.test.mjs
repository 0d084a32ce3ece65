// Tests of the command list: it finds commands by their names in other programs, in two languages, while the user
// types.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import { checkAccessibility, messageById, openSeededBranch } from "./support/setup.mjs";

/** Terms of other programs and of Git, and the commands that they find, by their English and Chinese names. */
const WORDS = [
  ["reroll", "Regenerate", "重新生成"],
  ["swipe", "Regenerate", "重新生成"],
  ["重roll", "Regenerate", "重新生成"],
  ["续写", "Continue", "续写"],
  ["继续", "Continue", "续写"],
  ["AI 帮答", "Impersonate", "AI 帮答（Impersonate）"],
  ["代我发言", "Impersonate", "AI 帮答（Impersonate）"],
  ["impersonate", "Impersonate", "AI 帮答（Impersonate）"],
  ["world info", "Lorebooks", "世界书"],
  ["知识书", "Lorebooks", "世界书"],
  ["compendium", "Lorebooks", "世界书"],
  ["author's note", "Author's note", "作者注释"],
  ["jailbreak", "Presets", "预设"],
  ["采样器", "Presets", "预设"],
  ["正则", "Presets", "预设"],
  ["用户设定", "Personas", "用户设定"],
  ["用户角色", "Personas", "用户设定"],
  ["checkpoint", "Bookmark (checkpoint)", "书签（检查点）"],
  ["检查点", "Bookmark (checkpoint)", "书签（检查点）"],
  ["fork", "Branches", "分支"],
  ["summarize", "Summarise up to here", "总结到这里为止"],
  ["connection profile", "Change model", "更换模型"],
  ["API密钥", "Connect a model", "连接模型"],
  ["dark mode", "Switch light and dark", "切换浅色与深色"],
  ["conversation", "Stories", "故事集"],
  ["词符", "Usage", "用量"],
  ["贮藏", "Stash", "暂存区"],
  ["reset", "Rewind to here", "回退到这里"],
];

describe("the command list", () => {
  for (const [language, locale, none] of /** @type {const} */ ([
    ["English", "en-GB", "Nothing found."],
    ["Chinese", "zh-CN", "没有找到。"],
  ])) {
    test(`in ${language} the list finds commands by terms of other programs and of Git, in both languages, and says when there are none`, async () => {
      const { ids, page, close } = await openSeededBranch({ locale });
      await messageById(page, ids[1]).locator("article").focus();
      await page.keyboard.press("Control+Shift+p");
      const field = page.getByRole("combobox");
      const names = page.getByRole("option").locator("span");
      for (const [word, english, chinese] of WORDS) {
        await field.fill(`>${word}`);
        await names.getByText(language === "English" ? english : chinese, { exact: true }).waitFor();
      }
      for (const word of ["qwertz", "voice", "群聊"]) {
        await field.fill(`>${word}`);
        await page.getByRole("dialog").getByRole("status").getByText(none, { exact: true }).waitFor();
        assert.equal(await page.getByRole("option").count(), 0);
      }
      assert.equal(await field.getAttribute("aria-expanded"), "false");
      await checkAccessibility(page, "no such command");
      await close();
    });
  }

  test("commands found by their own name come before commands found by another name, which is shown", async () => {
    const { page, close } = await openSeededBranch();
    await page.keyboard.press("Control+Shift+p");
    const field = page.getByRole("combobox");
    await field.fill(">continue");
    await waitUntil(
      async () => (await page.getByRole("option").first().locator("span").innerText()) === "Continue",
      "its own name comes first",
    );
    assert.equal(await page.getByRole("option").first().locator("small").count(), 0);
    await field.fill(">jailbreak");
    await page
      .getByRole("option", { name: "Presets" })
      .locator("small")
      .getByText("jailbreak", { exact: true })
      .waitFor();
    await checkAccessibility(page, "commands with their other names");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Presets" }).waitFor();
    await close();
  });

  test("replacing the whole text still searches commands; without the sign it searches messages", async () => {
    const { page, close } = await openSeededBranch();
    await page.keyboard.press("Control+Shift+p");
    const commands = page.getByRole("dialog", { name: "Commands and shortcuts" });
    await commands.getByRole("combobox").waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("lorebook");
    await commands.getByRole("option").locator("span").getByText("Lorebooks", { exact: true }).waitFor();
    await page.keyboard.press("Backspace");
    await commands.getByRole("option").locator("span").getByText("Lorebooks", { exact: true }).waitFor();
    assert.equal(await commands.getByRole("combobox").inputValue(), "loreboo");
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await page.keyboard.type("harbour");
    const search = page.getByRole("dialog", { name: "Search all stories" });
    await search.locator("mark").getByText("harbour").first().waitFor();
    await page.keyboard.press("Home");
    await page.keyboard.type(">");
    await commands.getByText("Nothing found.", { exact: true }).waitFor();
    await page.keyboard.press("Home");
    await page.keyboard.press("Delete");
    await search.locator("mark").getByText("harbour").first().waitFor();
    await close();
  });
});
