// Tests in Chromium against the real server: versions of a card, and the use of a changed card in a story.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { browser, checkAccessibility, clotho, createSession, openSession, readSession } from "./support/setup.mjs";

const makeCharacter = (name) =>
  clotho.api("POST", "/api/characters", { name, description: "A pilot.", firstMessage: "Hello." });
const usedVersion = async (path) => (await readSession(path)).cards[0].version;

/** The menu of a character. Its story has the same name. */
const manageButton = (page, name) =>
  page.getByRole("region", { name: "New story" }).getByRole("button", { name: `Manage “${name}”` });

/** Changes the description of a character on the first page. */
async function editDescription(page, name, text) {
  await manageButton(page, name).click();
  await page.locator(".menu:popover-open").getByRole("button", { name: "Edit character" }).click();
  const form = page.getByRole("dialog", { name: "Edit character" });
  await form.getByRole("textbox", { name: "Description" }).fill(text);
  await form.getByRole("button", { name: "Save" }).click();
  await form.waitFor({ state: "detached" });
}

describe("versions of a card", () => {
  test("a changed card is used in all its stories after a yes, and an older version is restored", async () => {
    const { id } = await makeCharacter("Ver Sion");
    const path = await createSession({ characterIds: [id] });
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await editDescription(page, "Ver Sion", "A smuggler.");
    const question = page.getByRole("dialog", { name: "Use the changed card of Ver Sion?" });
    await question.waitFor();
    await checkAccessibility(page, "the question about a changed card");
    await question.getByRole("button", { name: "In the story with this character" }).click();
    await question.waitFor({ state: "detached" });
    assert.equal(await usedVersion(path), 2);
    await manageButton(page, "Ver Sion").click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "Versions of this card" }).click();
    const versions = page.getByRole("dialog", { name: "Versions of Ver Sion" });
    await versions.getByRole("button", { name: /^Version 1/ }).click();
    await versions.getByText("A pilot.").waitFor();
    await versions.getByText("A smuggler.").waitFor();
    await checkAccessibility(page, "the versions of a card");
    await versions.getByRole("button", { name: "Restore this version" }).click();
    await question.getByRole("button", { name: "In no story" }).click();
    assert.equal((await clotho.api("GET", `/api/characters/${id}`)).description, "A pilot.");
    assert.equal(await usedVersion(path), 2);
    await close();
  });

  test("a story whose card has a newer version offers it", async () => {
    const { id } = await makeCharacter("Ver Newer");
    const path = await createSession({ characterIds: [id] });
    await clotho.api("PATCH", `/api/characters/${id}`, { description: "A smuggler." });
    const { page, close } = await openSession(path);
    await page.getByText("The card of Ver Newer has changed since this story used it.").waitFor();
    await page.getByRole("button", { name: "Use the changed card" }).click();
    await waitUntil(async () => (await usedVersion(path)) === 2, "the story uses the changed card");
    await close();
  });
});
