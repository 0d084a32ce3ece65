// Tests against the real server: purged text is nowhere on screen and nowhere in the browser, in any tab.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  chatPath,
  chooseFromMessageMenu,
  clotho,
  composer,
  lastMessage,
  readBranch,
  messageById,
  model,
  createSession,
  openSession,
  openSeededBranch,
  sendMessage,
  waitForReply,
  readSession,
  messageTexts,
  clickMessageButton,
} from "./support/setup.mjs";

const edit = (path, ...operations) => clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations });
const purge = (path, nodeId) => edit(path, { op: "purge", nodeId, confirm: true });
const stored = (page) => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
/** Returns all text on the page, including folded and hidden parts. @param {import("playwright-core").Page} page */
const allTextOf = (page) => page.evaluate(() => document.body.innerHTML);
const isFree = (page, word) =>
  waitUntil(async () => !(await allTextOf(page)).includes(word), `nothing on the page says ${word}`);

describe("purged text", () => {
  test("S0-56 domain 2.16: an open search and an open comparison drop purged text at once", async () => {
    const { path, ids, page, close } = await openSeededBranch({ expected: LOAD_ERROR }, "Masts with marzipan.");
    const { node } = await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: ids[1],
      content: "To the hills.",
    });
    await messageById(page, node.id).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("marzipan");
    await page.getByRole("option").first().waitFor();
    await purge(path, ids[3]);
    await page.getByText("Nothing found.").waitFor();
    // The field still contains the query; nothing else contains the text.
    await page.getByRole("combobox").fill("other");
    await isFree(page, "marzipan");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "Branches", exact: true }).click();
    const dialog = page.getByRole("dialog");
    for (const name of ["To the harbour.", "To the hills."])
      await dialog.getByRole("checkbox", { name: `Compare “${name}”` }).check();
    await dialog.getByRole("button", { name: "Compare", exact: true }).click();
    await dialog.locator(".contents").getByText("To the harbour.").waitFor();
    await purge(path, ids[2]);
    await dialog.getByText("This message is not in the story.").waitFor();
    await isFree(page, "To the harbour.");
    await close();
  });

  test("S0-56 domain 2.16: an open trace and the announcement for screen readers drop purged text at once", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path, { expected: LOAD_ERROR });
    model.queueReply(["A secret marzipan."]);
    await sendMessage(page, "Tell me of truffles.");
    await waitForReply(page);
    await waitUntil(
      async () => ((await page.locator("p[aria-live]").textContent()) ?? "").includes("marzipan"),
      "the reply is read out",
    );
    model.queueReply(["As you wish."]);
    await sendMessage(page, "Go on.");
    await lastMessage(page).getByText("As you wish.").waitFor();
    await waitForReply(page);
    await lastMessage(page).locator("article").focus();
    await page.keyboard.press("w");
    await page.locator("dialog .sent pre").getByText("A secret marzipan.").waitFor({ state: "attached" });
    const gone = (await readBranch(path)).find(({ content }) => content === "Tell me of truffles.");
    await purge(path, gone.id);
    await isFree(page, "marzipan");
    await isFree(page, "truffles");
    assert.equal(await page.locator("p[aria-live]").textContent(), "");
    await close();
  });

  test("S0-56: a view of a branch that is purged elsewhere leads back to the session", async () => {
    const { path, ids, page, close } = await openSeededBranch({ expected: LOAD_ERROR }, "Masts with marzipan.");
    await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[1], content: "To the hills." });
    await waitUntil(
      async () => (await messageTexts(page)).at(-1) === "To the hills.",
      "the story has gone another way",
    );
    await page.goto(`${clotho.base}${path}/${ids[3]}`);
    await page.getByText("You are viewing another branch.").waitFor();
    await purge(path, ids[2]);
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "To the hills.", "the story is on screen");
    assert.ok(page.url().endsWith(path), page.url());
    assert.equal(await page.locator(".notice.error").count(), 0);
    await close();
  });
});

describe("an edit of a purged message", () => {
  const field = (page) => page.getByRole("textbox", { name: "Edit", exact: true });

  test("S4-17 domain 2.16: an unsaved edit is removed from the browser in every tab, with a notice", async () => {
    const { path, ids, page, close } = await openSeededBranch({ expected: LOAD_ERROR }, "Masts with marzipan.");
    await clickMessageButton(messageById(page, ids[3]), "Edit");
    await field(page).fill("Masts with marzipan, twice.");
    assert.match(await stored(page), /marzipan/);
    await edit(path, { op: "prune", nodeId: ids[3] });
    await page.getByText("Your text is kept.").waitFor();
    const [{ id: fragmentId }] = (await clotho.api("GET", `${chatPath(path)}/stash`)).items;
    await edit(path, { op: "purge", fragmentId, confirm: true });
    await page.getByText("deleted permanently. Your text is no longer kept.").waitFor();
    assert.equal(await page.getByText("Your text is kept.").count(), 0);
    assert.doesNotMatch(await stored(page), /marzipan/);
    await page.locator(".notice").getByRole("button", { name: "Put it into the field" }).click();
    assert.equal(await composer(page).inputValue(), "Masts with marzipan, twice.", "who wants it still has it");
    await close();
  });

  test("S4-17 domain 2.16: an unsaved edit is removed when the session is opened later; an edit of a stashed message stays", async () => {
    const { path, ids, page, close } = await openSeededBranch({ expected: LOAD_ERROR }, "Masts with marzipan.");
    for (const [i, text] of [
      [1, "Snow and truffles."],
      [3, "Masts with marzipan, twice."],
    ]) {
      await clickMessageButton(messageById(page, ids[i]), "Edit");
      await field(page).fill(text);
    }
    await page.goto(clotho.base);
    await page.getByRole("heading", { name: "New story" }).waitFor();
    await purge(path, ids[3]);
    await edit(path, { op: "prune", nodeId: ids[1] });
    await page.goto(clotho.base + path);
    await waitUntil(async () => !(await stored(page)).includes("marzipan"), "it is gone");
    assert.match(await stored(page), /truffles/);
    assert.equal((await readSession(path)).activeLeafId, ids[0], "nothing else happened");
    assert.equal((await clotho.api("GET", `${chatPath(path)}/stash`)).items.length, 1);
    await close();
  });
});
