// The page against the real server: four hundred characters on the first page.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { reader, test, until } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import { browser, check, own } from "./support/stage.mjs";

const MANY = 400;
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** A server of its own with so many characters, the seventh of whom has a story. */
async function crowded() {
  const server = await startClotho();
  own.push(server);
  const add = (/** @type {number} */ n) =>
    server.api("POST", "/api/characters", { name: `Traveller ${n}`, description: `Carries the letter ${n} over the pass. `.repeat(1 + (n % 9)), firstMessage: "Well met.", tags: [n % 2 ? "odd" : "even", ...(n % 100 === 7 ? ["Rare"] : [])] });
  let seventh;
  for (let n = 1; n <= MANY; n += 20) {
    const made = await Promise.all(Array.from({ length: 20 }, (_, i) => add(n + i)));
    seventh ??= made[6];
  }
  await server.api("POST", "/api/sessions", { characterIds: [seventh.id], plugins: [] });
  return server;
}

describe("a full library", () => {
  test("of four hundred characters those in sight are in the page; all are found by words, tags and order", async () => {
    const server = await crowded();
    for (const [where, options] of /** @type {const} */ ([["a desk", {}], ["a phone", PHONE]])) {
      const { page, close } = await reader(browser, options);
      await page.goto(server.base);
      const cards = page.locator(".windowed > li");
      const names = () => page.locator(".windowed strong").allInnerTexts();
      const field = page.getByRole("searchbox", { name: "Find a character" });
      await field.waitFor();
      const told = page.locator(".shelf [role=status]");
      await until(async () => Number.parseInt(await told.innerText(), 10) >= MANY, "all are known");
      assert.ok(!(await names()).includes("Traveller 1"), "the newest come first");
      await page.getByRole("combobox", { name: "Order" }).selectOption("By name");
      await check(page, `a full library on ${where}`);
      assert.ok((await cards.count()) < 60, `${await cards.count()} cards`);
      const before = await page.locator(".library").evaluate((box) => box.scrollHeight);
      // Down to the last one, and what was above is no longer drawn.
      await until(async () => {
        await page.locator(".windowed").evaluate((box) => box.scrollIntoView({ block: "end" }));
        assert.ok((await cards.count()) < 60);
        return (await names()).at(-1) === "Traveller 400";
      }, "the last one is reached");
      assert.ok(!(await names()).includes("Traveller 1"));
      assert.ok(Math.abs((await page.locator(".library").evaluate((box) => box.scrollHeight)) - before) < 2, "the page keeps its length");
      await field.fill("letter 399");
      await until(async () => (await names()).join() === "Traveller 399", "found by the words of its text");
      await field.fill("");
      await page.getByRole("button", { name: "Rare", exact: true }).click();
      await until(async () => (await names()).join() === "Traveller 7,Traveller 107,Traveller 207,Traveller 307", "found by a tag");
      await page.getByRole("button", { name: "even", exact: true }).click();
      await page.getByText("No character is like that.").waitFor();
      await check(page, `nobody found on ${where}`);
      await page.getByRole("button", { name: "Show all" }).click();
      await page.getByRole("combobox", { name: "Order" }).selectOption("Last played first");
      await until(async () => (await names())[0] === "Traveller 7", "who was played last comes first");
      await page.reload();
      await until(async () => (await names())[0] === "Traveller 7", "the order is kept");
      await page.locator(".windowed button.card").first().click();
      await page.getByRole("dialog").waitFor();
      await close();
    }
  });
});
