// The page against the real server: the words of an edit that was not saved, whatever happens to the message.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { reader, test, until } from "./support/browser.mjs";
import { REFUSED, browser, chat, check, clotho, composer, focused, grown, messageOf, replyIsThere, session, texts, use } from "./support/stage.mjs";

const field = (page) => page.getByRole("textbox", { name: "Edit", exact: true });
const edit = (path, ...operations) => clotho.api("PUT", `${chat(path)}/tree/edit`, { operations });
const kept = (page) => page.locator(".notice").getByText("Your text is kept.");

/** Begins to write a message anew. */
async function begin(page, id, text) {
  await use(messageOf(page, id), "Edit");
  await field(page).fill(text);
}

describe("an edit that was not saved", () => {
  test("S4-17: its words are kept when the reader goes back above it, and are there again when the message is edited again", async () => {
    const { path, ids } = await grown();
    const { page, close } = await reader(browser);
    await page.goto(clotho.base + path);
    await replyIsThere(page);
    await begin(page, ids[2], "To the harbour, by night.");
    await messageOf(page, ids[0]).locator("article").focus();
    await page.keyboard.press("b");
    await until(async () => (await texts(page)).length === 2, "the line ends there");
    await kept(page).waitFor();
    await check(page, "words that are kept");
    await messageOf(page, ids[0]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await until(async () => (await texts(page)).length === 5, "the message is back");
    assert.equal(await field(page).count(), 0, "no editor takes the keyboard");
    await use(messageOf(page, ids[2]), "Edit");
    assert.equal(await field(page).inputValue(), "To the harbour, by night.");
    await page.reload();
    await replyIsThere(page);
    await use(messageOf(page, ids[2]), "Edit");
    assert.equal(await field(page).inputValue(), "To the harbour, by night.", "after a reload as well");
    await page.getByRole("button", { name: "Save and get a reply" }).click();
    await until(async () => (await texts(page))[3] === "To the harbour, by night.", "it is saved");
    await until(async () => (await texts(page)).length === 5, "the reply came");
    assert.equal(await page.getByText("Your text is kept.").count(), 0, "what was saved needs no keeping");
    await clotho.api("PUT", `${chat(path)}/active_leaf`, { nodeId: ids[3], exact: true });
    await messageOf(page, ids[2]).waitFor();
    await use(messageOf(page, ids[2]), "Edit");
    assert.equal(await field(page).inputValue(), "To the harbour.", "nothing is left over");
    await close();
  });

  test("S4-17: who gives it up gets the message's own words the next time", async () => {
    const { path, ids } = await grown();
    const { page, close } = await reader(browser);
    await page.goto(clotho.base + path);
    await begin(page, ids[2], "Nowhere.");
    await page.keyboard.press("Escape");
    await until(async () => (await focused(page)) === ids[2], "the keyboard is at the message");
    await use(messageOf(page, ids[2]), "Edit");
    assert.equal(await field(page).inputValue(), "To the harbour.");
    await close();
  });

  test("S4-17 domain 2.16: when another window deletes or destroys the message, its words go into the field, below what stands there", async () => {
    for (const gone of /** @type {const} */ (["prune", "purge"])) {
      const { path, ids } = await grown();
      const { page, close } = await reader(browser, { expected: REFUSED });
      await page.goto(clotho.base + path);
      await replyIsThere(page);
      await composer(page).fill("And then?");
      await begin(page, ids[2], "To the harbour, by night.");
      await edit(path, { op: gone, nodeId: ids[2], ...(gone === "purge" && { confirm: true }) });
      await kept(page).waitFor();
      assert.equal((await session(path)).activeLeafId, ids[1]);
      await page.locator(".notice").getByRole("button", { name: "Put it into the field" }).click();
      await until(async () => (await composer(page).inputValue()) === "And then?\n\nTo the harbour, by night.", "both are in the field");
      await close();
    }
  });
});
