// Tests against the real server: typed text is not lost without a question, and notices use plain words.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  browser,
  chatPath,
  checkAccessibility,
  chooseFromMessageMenu,
  chooseFromPageMenu,
  clotho,
  focusedMessageId,
  seedBranch,
  readBranch,
  messageById,
  openSession,
  openSeededBranch,
  messageTexts,
  messageButton,
} from "./support/setup.mjs";

const edit = (path, ...operations) => clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations });
const set = (path, id, value) =>
  clotho.api("POST", `${chatPath(path)}/node/${id}/world`, { operations: [{ op: "set", path: "/rope", value }] });
const notice = (page, text) => page.locator(".notice").getByText(text);

describe("addresses", () => {
  test("UI: an unknown address shows the library with a notice and is replaced; an API client gets 404", async () => {
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    const answer = await page.goto(`${clotho.base}/stories/of/old`);
    assert.equal(answer?.status(), 404);
    await page.getByText("There is nothing at this address.").waitFor();
    assert.equal(new URL(page.url()).pathname, "/");
    await page.reload();
    await page.getByRole("button", { name: "Menu", exact: true }).waitFor();
    assert.equal(await page.getByText("There is nothing at this address.").count(), 0);
    const refused = await fetch(`${clotho.base}/stories/of/old`);
    assert.deepEqual([refused.status, (await refused.json()).error.code], [404, "not_found"]);
    const asked = await fetch(`${clotho.base}/api/nothing`, { headers: { accept: "text/html" } });
    assert.equal((await asked.json()).error.code, "not_found");
    await close();
  });
});

describe("typed text in a dialog", () => {
  test("S4-17: an unfinished summary and character are not lost by Escape or a click outside without a question", async () => {
    const { ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[1]), "Summarise up to here");
    const text = page.getByRole("textbox", { name: "Summary" });
    await text.fill("They went north.");
    await page.keyboard.press("Escape");
    await page.getByText("Your text is not saved.").waitFor();
    await checkAccessibility(page, "the question before it is lost");
    await page.keyboard.press("Escape");
    assert.equal(await text.inputValue(), "They went north.", "a second Escape is no answer");
    await page.getByText("Your text is not saved.").waitFor({ state: "detached" });
    assert.ok(await text.evaluate((field) => field === document.activeElement), "the keyboard is where it was");
    await page.mouse.click(5, 5);
    await page.getByRole("button", { name: "Keep editing" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.goto(clotho.base);
    await page.getByRole("button", { name: /^New character/ }).click();
    await page.getByRole("textbox", { name: "Name" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^New character/ }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("Mara");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keep editing" }).click();
    assert.equal(await page.getByRole("textbox", { name: "Name" }).inputValue(), "Mara");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await close();
  });
});

describe("texts for users", () => {
  test("S4-06: a comparison explains per branch why a value is what it is, also after a manual change, and shows the difference", async () => {
    const { path, ids } = await seedBranch();
    await set(path, ids[3], 12);
    const { node } = await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: ids[1],
      content: "To the hills.",
    });
    await set(path, node.id, 33);
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Branches");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("checkbox").nth(1).waitFor();
    for (const box of await dialog.getByRole("checkbox").all()) await box.check();
    await dialog.getByRole("button", { name: "Compare", exact: true }).click();
    const row = dialog.getByRole("row").filter({ hasText: "Branch 1: manually" });
    await row.waitFor();
    const words = await row.innerText();
    assert.match(words, /Branch 2: manually/);
    assert.match(words, /[+−]21/);
    await close();
  });

  test("a search of exclusions only says what is missing, in both languages, and its field covers nothing", async () => {
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    await page.goto(clotho.base);
    await page.keyboard.press("Control+k");
    const field = page.getByRole("dialog").getByRole("combobox");
    for (const query of ["-wolf", '""']) {
      await field.fill(query);
      await page.getByText("Enter a word to search for.").waitFor();
    }
    const [input, chip] = [await field.boundingBox(), await page.locator(".filters .chip").first().boundingBox()];
    assert.ok(input && chip && chip.y >= input.y + input.height + 5, "there is room for the ring around the field");
    await page.keyboard.press("Escape");
    await chooseFromPageMenu(page, "中文");
    await page.keyboard.press("Control+k");
    await field.fill("-wolf");
    await page.getByText("请写一个要找的词").waitFor();
    assert.doesNotMatch(await page.getByRole("dialog").innerText(), /[a-z]{4,}/i);
    await close();
  });

  test("S4-19: a copy whose original is removed elsewhere is cancelled with a notice; Escape closes a menu without cancelling it", async () => {
    const { path, ids, page, close } = await openSeededBranch({ expected: LOAD_ERROR });
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Copy, with everything after it");
    await page.getByRole("button", { name: "Cancel copy" }).waitFor();
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.locator(".menu:popover-open").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".menu:popover-open").waitFor({ state: "detached" });
    assert.equal(
      await page.getByRole("button", { name: "Cancel copy" }).count(),
      1,
      "the copy still waits for its place",
    );
    await edit(path, { op: "prune", nodeId: ids[2] });
    await notice(page, "The message to move is no longer in the story.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Cancel copy" }).count(), 0);
    await close();
  });

  test("S4-17: undoing marks of several messages says how many", async () => {
    const { ids, page, close } = await openSeededBranch();
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("s");
    await messageById(page, ids[3]).locator("article").focus();
    await page.keyboard.press("s");
    await page.getByRole("button", { name: "Select all in between" }).click();
    await page.getByRole("button", { name: "Exclude from prompt", exact: true }).last().click();
    await notice(page, "Applied to all of them.").waitFor();
    await page.keyboard.press("Control+z");
    await notice(page, "Undone: a setting of 4 messages.").waitFor();
    await close();
  });

  test("S4-23: going back into a summarised run offers to enable its messages again", async () => {
    const { path, ids } = await seedBranch();
    await edit(path, { op: "summarise", nodeIds: ids.slice(0, 2), content: "They went north." });
    const { page, close } = await openSession(path);
    await page.getByRole("button", { name: "2 messages, summarised" }).click();
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("b");
    await notice(page, "Neither is in the prompt now.").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Include in prompt" }).click();
    await waitUntil(
      async () => (await readBranch(path)).filter(({ isEnabled }) => isEnabled === false).length === 0,
      "the model reads them",
    );
    await close();
  });

  test("S4-50 S4-23: summarised runs are folded in the linear view too", async () => {
    const { path, ids } = await seedBranch();
    await edit(path, { op: "summarise", nodeIds: ids.slice(0, 2), content: "They went north." });
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { mode: "linear" });
    const { page, close } = await openSession(path);
    await page.getByRole("button", { name: "2 messages, summarised" }).waitFor();
    assert.equal(await messageById(page, ids[0]).count(), 0);
    await close();
  });

  test("S4-17: focus stays in the branch when a message is deleted by a key from one of its buttons, and moves on from there", async () => {
    const { ids, page, close } = await openSeededBranch();
    await messageById(page, ids[3]).locator("article").focus();
    await messageButton(messageById(page, ids[3]), "Copy").focus();
    await page.keyboard.press("ArrowUp");
    assert.equal(await focusedMessageId(page), ids[2], "up from a button");
    await messageById(page, ids[3]).locator("article").focus();
    await messageButton(messageById(page, ids[3]), "Copy").focus();
    await page.keyboard.press("Delete");
    await notice(page, "Moved to the stash").waitFor();
    await waitUntil(async () => (await messageTexts(page)).length === 4, "it is gone");
    await waitUntil(async () => (await focusedMessageId(page)) === ids[2], "the message above has the keyboard");
    await close();
  });
});
