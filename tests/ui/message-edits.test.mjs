// Tests against the real server: unsaved edits of messages, whatever happens to the message.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  browser,
  chatPath,
  checkAccessibility,
  clotho,
  composer,
  focusedMessageId,
  seedBranch,
  lastMessage,
  readBranch,
  messageById,
  openSeededBranch,
  waitForReply,
  readSession,
  messageTexts,
  clickMessageButton,
} from "./support/setup.mjs";

const field = (page) => page.getByRole("textbox", { name: "Edit", exact: true });
const edit = (path, ...operations) => clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations });
const storedEdits = (page) => page.locator(".notice").getByText("Your text is kept.");

/** Starts to edit a message. */
async function startEdit(page, id, text) {
  await clickMessageButton(messageById(page, id), "Edit");
  await field(page).fill(text);
}

describe("the field of an edit", () => {
  test("the message keeps its place when the view follows the end of the branch", async () => {
    const { ids, page, close } = await openSeededBranch({ viewport: { width: 1280, height: 560 } });
    const top = () =>
      messageById(page, ids[2])
        .locator("article")
        .evaluate((article) => article.getBoundingClientRect().top);
    await page.locator(".scroller").evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await messageById(page, ids[2]).locator("article").hover();
    const before = await top();
    await messageById(page, ids[2]).getByRole("button", { name: "Edit", exact: true }).click();
    await field(page).waitFor();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.ok(Math.abs((await top()) - before) < 2, `it moved from ${before} to ${await top()}`);
    const [box, view] = await Promise.all([field(page).boundingBox(), page.locator(".scroller").first().boundingBox()]);
    assert.ok(box.y >= view.y, "the field is in view");
    await close();
  });
});

describe("an unsaved edit", () => {
  test("S4-17: an unsaved edit is kept when the user goes back above its message, and is there when the message is edited again", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await startEdit(page, ids[2], "To the harbour, by night.");
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(async () => (await messageTexts(page)).length === 2, "the line ends there");
    await storedEdits(page).waitFor();
    await checkAccessibility(page, "words that are kept");
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await messageTexts(page)).length === 5, "the message is back");
    assert.equal(await field(page).count(), 0, "no editor takes the keyboard");
    await clickMessageButton(messageById(page, ids[2]), "Edit");
    assert.equal(await field(page).inputValue(), "To the harbour, by night.");
    await page.reload();
    await waitForReply(page);
    await clickMessageButton(messageById(page, ids[2]), "Edit");
    assert.equal(await field(page).inputValue(), "To the harbour, by night.", "after a reload as well");
    await page.getByRole("button", { name: "Save and generate a reply" }).click();
    await waitUntil(async () => (await messageTexts(page))[3] === "To the harbour, by night.", "it is saved");
    await waitUntil(async () => (await messageTexts(page)).length === 5, "the reply came");
    assert.equal(await page.getByText("Your text is kept.").count(), 0, "what was saved needs no keeping");
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: ids[3], exact: true });
    await messageById(page, ids[2]).waitFor();
    await clickMessageButton(messageById(page, ids[2]), "Edit");
    assert.equal(await field(page).inputValue(), "To the harbour.", "nothing is left over");
    await close();
  });

  test("S4-17: a cancelled edit starts from the message's own text the next time", async () => {
    const { ids, page, close } = await openSeededBranch();
    await startEdit(page, ids[2], "Nowhere.");
    await page.keyboard.press("Escape");
    await waitUntil(async () => (await focusedMessageId(page)) === ids[2], "the keyboard is at the message");
    const offer = page.locator(".notice").filter({ hasText: "The message is unchanged." });
    await offer.waitFor();
    await clickMessageButton(messageById(page, ids[2]), "Edit");
    assert.equal(await field(page).inputValue(), "To the harbour.");
    await offer.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await field(page).waitFor({ state: "detached" });
    assert.equal(await offer.count(), 0, "nothing was typed, and nothing is offered");
    await close();
  });

  test("S4-17: an edit that was cancelled by mistake continues with the typed text", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await startEdit(page, ids[2], "Nowhere, for now.");
    await page.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await field(page).count(), 0);
    await checkAccessibility(page, "an edit that was given up");
    await page.locator(".notice").getByRole("button", { name: "Continue editing" }).click();
    assert.equal(await field(page).inputValue(), "Nowhere, for now.");
    await waitUntil(() => field(page).evaluate((one) => one === document.activeElement), "the keyboard is in it");
    await page.keyboard.press("Control+Enter");
    await waitUntil(
      async () => (await readBranch(path)).some(({ content }) => content === "Nowhere, for now."),
      "it is saved",
    );
    await close();
  });

  test("S4-17 domain 2.16: when another window deletes or purges the message, its unsaved text goes into the field, below the text there", async () => {
    for (const gone of /** @type {const} */ (["prune", "purge"])) {
      const { path, ids, page, close } = await openSeededBranch({ expected: LOAD_ERROR });
      await composer(page).fill("And then?");
      await startEdit(page, ids[2], "To the harbour, by night.");
      await edit(path, { op: gone, nodeId: ids[2], ...(gone === "purge" && { confirm: true }) });
      await (gone === "prune"
        ? storedEdits(page)
        : page.locator(".notice").getByText("Your text is no longer kept.")
      ).waitFor();
      assert.equal((await readSession(path)).activeLeafId, ids[1]);
      await page.locator(".notice").getByRole("button", { name: "Put it into the field" }).click();
      await waitUntil(
        async () => (await composer(page).inputValue()) === "And then?\n\nTo the harbour, by night.",
        "both are in the field",
      );
      await close();
    }
  });

  test("S4-17: each tab has its own edit, also after a reload; edits of a closed tab are offered, continued or dropped", async () => {
    const { path, ids } = await seedBranch();
    const { page, close } = await openPage(browser);
    const other = await page.context().newPage();
    for (const tab of [page, other]) {
      tab.setDefaultTimeout(20_000);
      await tab.goto(clotho.base + path);
      await waitForReply(tab);
    }
    await startEdit(page, ids[2], "To the harbour, by night.");
    await clickMessageButton(messageById(other, ids[2]), "Edit");
    assert.equal(await field(other).inputValue(), "To the harbour.", "the second tab begins with the message");
    await field(other).fill("To the mill.");
    for (const [tab, text] of [
      [page, "To the harbour, by night."],
      [other, "To the mill."],
    ]) {
      await tab.reload();
      await waitForReply(tab);
      await clickMessageButton(messageById(tab, ids[2]), "Edit");
      assert.equal(await field(tab).inputValue(), text);
    }
    await page.keyboard.press("Escape");
    await other.close();
    await clickMessageButton(messageById(page, ids[2]), "Edit");
    const offer = page.getByRole("group", { name: "Another tab is editing this message:" });
    await offer.getByText("To the mill.").waitFor();
    await checkAccessibility(page, "words of another tab");
    await offer.getByRole("button", { name: "Use this text" }).click();
    assert.equal(await field(page).inputValue(), "To the mill.");
    await page.keyboard.press("Control+z");
    assert.equal(await field(page).inputValue(), "To the harbour.", "what stood there comes back");
    await page.keyboard.press("Control+y");
    await page.keyboard.press("Escape");
    await clickMessageButton(messageById(page, ids[2]), "Edit");
    await offer.getByRole("button", { name: "Discard this text" }).click();
    await offer.waitFor({ state: "detached" });
    await page.reload();
    await waitForReply(page);
    await clickMessageButton(messageById(page, ids[2]), "Edit");
    assert.equal(await offer.count(), 0, "they are forgotten");
    await close();
  });

  test("S4-17: an edit taken over from another tab and saved is not offered again", async () => {
    const { path, ids } = await seedBranch();
    const { page, close } = await openPage(browser);
    const other = await page.context().newPage();
    await other.goto(clotho.base + path);
    await startEdit(other, ids[3], "Masts at dawn.");
    await other.close();
    await page.goto(clotho.base + path);
    await waitForReply(page);
    await clickMessageButton(messageById(page, ids[3]), "Edit");
    await page.getByRole("button", { name: "Use this text" }).click();
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Masts at dawn.", "they are saved");
    await lastMessage(page).locator("article").focus();
    await page.keyboard.press("Alt+ArrowLeft");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Masts in the dusk.", "the old version");
    await clickMessageButton(messageById(page, ids[3]), "Edit");
    assert.equal(await page.getByRole("button", { name: "Use this text" }).count(), 0);
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await page.locator(".edit").waitFor({ state: "detached" });
    assert.equal((await readBranch(path)).at(-1).siblings.count, 2, "the same words once more are no version");
    await close();
  });

  /** Holds the request that saves an edit. Returns the function that lets it go. */
  async function heldEdit() {
    const { ids, page, close } = await openSeededBranch();
    let answer = () => {};
    const held = new Promise((resolve) => (answer = () => resolve(undefined)));
    await page.route(/\/edit$/, async (route) => {
      await held;
      await route.continue();
    });
    await startEdit(page, ids[3], "Masts at dawn.");
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await waitUntil(async () => !(await field(page).isEditable()), "it is being saved");
    return { ids, page, close, answer };
  }

  test("S0-48: focus stays on another message that the user went to during the save, and no text is lost meanwhile", async () => {
    const { ids, page, close, answer } = await heldEdit();
    await messageById(page, ids[1]).locator("article").focus();
    answer();
    await page.locator(".edit").waitFor({ state: "detached" });
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Masts at dawn.", "it is read");
    await page.waitForLoadState("networkidle");
    assert.equal(await focusedMessageId(page), ids[1]);
    await close();
  });

  test("S4-17: an edit of another message that was started during the save continues", async () => {
    const { ids, page, close, answer } = await heldEdit();
    await startEdit(page, ids[1], "Snow, and");
    answer();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Masts at dawn.", "it is read");
    await page.waitForLoadState("networkidle");
    await page.keyboard.type(" a bell.");
    assert.equal(await field(page).inputValue(), "Snow, and a bell.");
    await close();
  });
});
