import { startClotho } from "./support/server.mjs";
import { launch, reader } from "./support/browser.mjs";
import { files, folderOf } from "./support/root.mjs";
const server = await startClotho(); const browser = await launch();
const dry = process.argv[2] === "dry";
for (const [tag, opt] of [["en", {}], ["zh", { locale: "zh-CN", viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }]]) {
  const { page } = await reader(browser, opt);
  const shot = (n) => page.screenshot({ path: `/tmp/drop_${tag}_${n}.png` });
  await page.goto(server.base);
  await page.locator(".card.new").first().waitFor(); await page.waitForTimeout(800);
  if (tag === "en") { await page.locator("button.card.new", { hasText: "Years" }).scrollIntoViewIfNeeded(); await shot("welcome"); }
  const root = await folderOf(files());
  const asked = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: tag === "en" ? "Bring in a folder of SillyTavern" : "读入 SillyTavern 的文件夹" }).first().click();
  await (await asked).setFiles(root);
  await page.getByRole("dialog").waitFor(); await page.waitForTimeout(400); await shot("ask");
  await page.getByRole("dialog").getByRole("button", { name: tag === "en" ? "Bring it in" : "读进来" }).click();
  await page.locator("dialog.report").waitFor(); await page.waitForTimeout(500); await shot("report");
  await page.locator("dialog.report select").last().selectOption("said"); await page.waitForTimeout(300); await shot("said");
  await page.keyboard.press("Escape"); await page.waitForTimeout(300);
  await page.locator(".incoming").scrollIntoViewIfNeeded(); await shot("row");
}
await browser.close(); await server.close(); process.exit(0);
