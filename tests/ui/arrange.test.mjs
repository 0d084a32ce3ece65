// The page against the real server: what a reader changes of messages that are there, in Chromium.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { reader, test, until } from "./support/browser.mjs";
import { HP, bar, bleed, browser, chat, check, choose, chooseFromPage, clotho, focused, grown, last, line, messageOf, replyIsThere, session, texts, use } from "./support/stage.mjs";

const nodeOf = (path, id) => clotho.api("GET", `${chat(path)}/node/${id}`);

describe("the menu of a message", () => {
  test("S4-55: stars by mouse, by touch and by keys, and taken back", async () => {
    const { path, ids } = await grown();
    const { page, close } = await reader(browser);
    await page.goto(clotho.base + path);
    await choose(page, messageOf(page, ids[1]), "4 stars");
    await messageOf(page, ids[1]).getByRole("img", { name: "4 of 5 stars" }).waitFor();
    assert.equal((await nodeOf(path, ids[1])).metadata.rating, 4);
    await messageOf(page, ids[1]).locator("article").focus();
    await page.keyboard.press("2");
    await messageOf(page, ids[1]).getByRole("img", { name: "2 of 5 stars" }).waitFor();
    await page.keyboard.press("m");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await messageOf(page, ids[1]).getByRole("img").waitFor({ state: "detached" });
    assert.equal((await nodeOf(path, ids[1])).metadata.rating ?? null, null);
    assert.equal(await focused(page), ids[1], "the focus is back at the message");
    await close();
    const phone = await reader(browser, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await phone.page.goto(clotho.base + path);
    await messageOf(phone.page, ids[0]).locator("article").tap();
    await messageOf(phone.page, ids[0]).getByRole("button", { name: "More" }).tap();
    const menu = phone.page.locator(".menu:popover-open");
    const box = await menu.boundingBox();
    assert.ok(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= 390 && box.y + box.height <= 844, "the menu is on the screen");
    await menu.getByRole("button", { name: "5 stars" }).tap();
    await messageOf(phone.page, ids[0]).getByRole("img", { name: "5 of 5 stars" }).waitFor();
    await phone.close();
  });

  test("S4-22: what a message did to the world stops counting, and counts again; words say so, and the world follows", async () => {
    const { page, close } = await reader(browser);
    await bleed(page);
    const hurt = await bar(page, HP);
    await choose(page, last(page), "Do not count what it did to the world");
    await last(page).getByText("What it did to the world does not count.").waitFor();
    await until(async () => (await bar(page, HP)) === 20, "the wound is gone");
    await choose(page, last(page), "Count what it did to the world again");
    await until(async () => (await bar(page, HP)) === hurt, "the wound is back");
    assert.equal(await last(page).getByText("What it did to the world does not count.").count(), 0);
    await close();
  });

  test("S4-21: a message left out is translucent and carries a struck eye, and everybody can still read it", async () => {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      const { path, ids } = await grown();
      const { page, close } = await reader(browser, { colorScheme });
      await page.goto(clotho.base + path);
      await use(messageOf(page, ids[1]), "Leave out of what the model reads");
      const off = page.locator(`.message.disabled:has([data-node="${ids[1]}"])`);
      await off.locator(".left-out svg").waitFor();
      assert.ok(Number(await off.locator(".prose").evaluate((prose) => getComputedStyle(prose).opacity)) < 1);
      await check(page, "left out");
      await messageOf(page, ids[3]).locator("article").focus();
      await page.keyboard.press("m");
      await page.locator(".menu:popover-open").waitFor();
      await check(page, "the menu");
      await close();
    }
  });

  test("S1-15 S4-25: a copied link shows its line and moves nothing until it is made the current one", async () => {
    const { path, ids } = await grown();
    const other = await clotho.api("POST", `${chat(path)}/message`, { parentId: ids[1], content: "To the hills." });
    const { page, close } = await reader(browser, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${clotho.base}${path}/${ids[3]}`);
    await page.getByText("You are looking at another timeline.").waitFor();
    await choose(page, messageOf(page, ids[3]), "Copy a link to it");
    await page.getByText("The link is copied.").waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(link, `${clotho.base}${path}/${ids[3]}`);
    await page.goto(clotho.base);
    await page.goto(link);
    await page.getByText("You are looking at another timeline.").waitFor();
    assert.equal((await session(path)).activeLeafId, other.node.id);
    await choose(page, messageOf(page, ids[3]), "Make this the current line");
    await until(async () => (await session(path)).activeLeafId === ids[3], "HEAD is there");
    await page.getByRole("textbox", { name: "Your message" }).waitFor();
    assert.equal(new URL(page.url()).pathname, path);
    assert.equal((await texts(page)).at(-1), "Masts in the dusk.");
    await close();
  });
});

describe("one line only", () => {
  test("S4-50: the switch hides every control of branches and ignores the flags, and erases nothing", async () => {
    const { path, ids } = await grown();
    await clotho.api("POST", `${chat(path)}/node/${ids[3]}/edit`, { content: "No masts." });
    await clotho.api("PUT", `${chat(path)}/node/${ids[1]}/state`, { isEnabled: false });
    const { page, close } = await reader(browser);
    await page.goto(clotho.base + path);
    await page.locator(".message.disabled").waitFor();
    await last(page).getByText("2/2").waitFor();
    await chooseFromPage(page, "Show one line only");
    await last(page).getByText("2/2").waitFor({ state: "detached" });
    assert.equal((await session(path)).mode, "linear");
    assert.equal(await page.locator(".message.disabled, .siblings, .left-out").count(), 0);
    assert.equal((await texts(page)).length, 5, "what was left out is shown like the rest");
    for (const id of [ids[0], ids[1]]) {
      await messageOf(page, id).locator("article").focus();
      const names = await messageOf(page, id).locator(".tools > button").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
      assert.deepEqual(names.filter((name) => /Go back|Roll again|version|Leave out|read it again/.test(name ?? "")), []);
    }
    await page.keyboard.press("Alt+ArrowLeft");
    await use(messageOf(page, ids[1]), "Edit");
    await page.getByRole("textbox", { name: "Edit" }).fill("Deep snow.");
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await until(async () => (await texts(page))[2] === "Deep snow.", "the correction stands there");
    assert.equal((await texts(page)).at(-1), "No masts.", "and what followed follows it");
    await page.reload();
    await replyIsThere(page);
    assert.equal(await page.locator(".siblings").count(), 0, "the session remembers it");
    await chooseFromPage(page, "Show all timelines");
    await last(page).getByText("2/2").waitFor();
    await messageOf(page, (await line(path)).find((node) => node.content === "Deep snow.")?.id ?? "").getByText("2/2").waitFor();
    assert.equal((await nodeOf(path, ids[1])).isEnabled, false, "the flags are as before");
    await close();
  });
});
