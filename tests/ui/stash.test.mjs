// The page against the real server: what lies in the stash, where it came from, where it can go.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { reader, test, until } from "./support/browser.mjs";
import { browser, chat, check, choose, chooseFromPage, clotho, composer, grown, messageOf, replyIsThere, session, texts } from "./support/stage.mjs";

describe("what comes out of the stash", () => {
  test("S4-19: who puts it back or puts it elsewhere is led there, also when the story has gone on another way", async () => {
    const { path, ids } = await grown();
    await clotho.api("PUT", `${chat(path)}/tree/edit`, { operations: [{ op: "prune", nodeId: ids[2] }] });
    await clotho.api("POST", `${chat(path)}/message`, { parentId: ids[1], content: "To the hills." });
    const { page, close } = await reader(browser);
    await page.goto(clotho.base + path);
    await chooseFromPage(page, "Stash");
    await page.getByRole("button", { name: "Put back where it was" }).click();
    await page.getByText("It is back where it was.").waitFor();
    assert.equal((await texts(page)).at(-1), "To the hills.", "the story stays where it is");
    await page.locator(".notice").getByRole("button", { name: "Go there" }).click();
    await until(async () => (await texts(page)).at(-1) === "Masts in the dusk.", "the line is the one that came back");
    assert.equal((await session(path)).activeLeafId, ids[3], "the story goes on at its end");
    await choose(page, messageOf(page, ids[3]), "Move it elsewhere, with what follows");
    await messageOf(page, ids[0]).getByRole("button", { name: "Put it below this" }).click();
    await page.getByText("It stands there now").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Go there" }).click();
    await until(async () => (await texts(page)).slice(1).join("|") === "To the north.|Masts in the dusk.", "it is on screen");
    await close();
  });

  test("S4-18: what cannot go back to where it was says why", async () => {
    const { path, ids } = await grown();
    const prune = (nodeId) => clotho.api("PUT", `${chat(path)}/tree/edit`, { operations: [{ op: "prune", nodeId }] });
    await prune(ids[3]);
    await prune(ids[2]);
    const { page, close } = await reader(browser);
    await page.goto(clotho.base + path);
    await replyIsThere(page);
    await chooseFromPage(page, "Stash");
    const dialog = page.getByRole("dialog", { name: "Stash" });
    const masts = dialog.getByRole("article", { name: "Masts in the dusk." });
    await masts.getByText("the message it followed is not in the story now").waitFor();
    assert.equal(await masts.getByRole("button", { name: "Put back where it was" }).count(), 0);
    await check(page, "a fragment that cannot go back");
    await dialog.getByRole("article", { name: "To the harbour." }).getByRole("button", { name: "Put back where it was" }).click();
    await dialog.waitFor({ state: "detached" });
    await chooseFromPage(page, "Stash");
    await masts.getByRole("button", { name: "Put back where it was" }).click();
    await until(async () => (await texts(page)).length === 5 || (await clotho.api("GET", `${chat(path)}/stash`)).items.length === 0, "both are back");
    await close();
  });
});

describe("searching", () => {
  test("S1-14 S4-55: a search is narrowed to stars, to a place in the tree and to one story", async () => {
    const { path, ids } = await grown("Cinnabar masts.");
    await clotho.api("PUT", `${chat(path)}/node/${ids[3]}/state`, { rating: 4 });
    await clotho.api("POST", `${chat(path)}/message`, { parentId: ids[1], content: "Cinnabar hills." });
    const other = await grown("Cinnabar elsewhere.");
    await until(async () => (await clotho.api("GET", "/api/search?q=cinnabar")).items.length === 3, "the index has them");
    const { page, close } = await reader(browser);
    await page.goto(clotho.base + path);
    await composer(page).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search all stories" }).fill("cinnabar");
    const found = (n) => until(async () => (await page.getByRole("option").filter({ hasText: /cinnabar/i }).count()) === n, `${n} were found`);
    await found(3);
    const press = (name) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
    await press("4 stars or more");
    await found(1);
    await page.getByRole("option").filter({ hasText: "Cinnabar masts." }).waitFor();
    await check(page, "a narrowed search");
    await press("5 stars or more");
    await page.getByText("Nothing found.").waitFor();
    await press("5 stars, press to take them back");
    await press("Only this story");
    await found(2);
    await press("On the current line");
    await found(1);
    await page.getByRole("option").filter({ hasText: "Cinnabar hills." }).waitFor();
    await page.goto(clotho.base + other.path);
    await composer(page).waitFor();
    await page.keyboard.press("Control+k");
    assert.equal(await page.getByRole("button", { name: "Only this story" }).getAttribute("aria-pressed"), "false", "the next search begins anew");
    await close();
  });
});
