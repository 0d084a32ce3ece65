// Tests against the real server: the query language, errors in queries, and the order of results.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import { chatPath, checkAccessibility, clotho, composer, seedBranch, openSession } from "./support/setup.mjs";

const indexed = (word, count) =>
  waitUntil(
    async () => (await clotho.api("GET", `/api/search?q=${word}`)).items.length === count,
    `the index has ${word}`,
  );

/** Types a query. Returns the texts that were found. */
async function openSearch(path, options = {}) {
  const { page, close } = await openSession(path, options);
  await composer(page).waitFor();
  await page.keyboard.press("Control+k");
  const box = page.getByRole("combobox", { name: "Search all stories" });
  const shown = () => page.getByRole("option").locator(":scope > span").allInnerTexts();
  const finds = (expected) =>
    waitUntil(async () => JSON.stringify(await shown()) === JSON.stringify(expected), `it finds ${expected}`);
  return { page, close, box, finds };
}

describe("the query language", () => {
  test("domain 8: words are combined, completed and matched with typos; matches are marked, and an invalid query says where", async () => {
    const { path, ids } = await seedBranch("Ochre lanterns.");
    await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[3], content: "Ochre masts." });
    await indexed("ochre", 2);
    const { page, close, box, finds } = await openSearch(path, { expected: /Failed to load resource/ });
    await box.fill("ochre lantern");
    await finds(["Ochre lanterns."]);
    assert.deepEqual(await page.getByRole("option").locator("mark").allInnerTexts(), ["Ochre", "lanterns"]);
    await box.fill("och* -lanterns");
    await finds(["Ochre masts."]);
    await box.fill("ochre (lantren~ OR nothing)");
    await finds(["Ochre lanterns."]);
    // As the user types, a word is found before it is complete, and a note says so.
    await box.fill("ochre lanter");
    await finds(["Ochre lanterns."]);
    await page.getByText("Showing words with this beginning.").waitFor();
    await box.fill('"ochre lanter');
    await finds(["Ochre lanterns."]);
    await box.fill("ochre zanter");
    await page.getByText("Nothing found").waitFor();
    await box.fill("z");
    await page.getByText("Nothing found").waitFor({ state: "detached" });
    await box.fill("雾");
    await page.getByText("Nothing found").waitFor();
    await box.fill('"');
    await page.getByText("Enter a word to search for.").waitFor();
    await box.fill("ochre role:king");
    await page.getByText('There is no role "king"').waitFor();
    assert.deepEqual(await page.locator(".asked mark").allInnerTexts(), ["king"]);
    assert.equal(await page.locator(".asked").innerText(), "ochre role:king");
    await checkAccessibility(page, "a search that is none");
    await close();
  });

  test("filters limit the search to a role and to recent days, and the order can be chosen", async () => {
    const { path, ids } = await seedBranch("Umber masts.");
    await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[3], content: "Umber umber umber." });
    await indexed("umber", 2);
    const { page, close, box, finds } = await openSearch(path);
    await box.fill("umber");
    await finds(["Umber umber umber.", "Umber masts."]);
    await page.getByRole("button", { name: "Oldest first" }).click();
    await finds(["Umber masts.", "Umber umber umber."]);
    await page.getByRole("button", { name: "Last day" }).click();
    await finds(["Umber masts.", "Umber umber umber."]);
    await page.getByRole("button", { name: "Replies" }).click();
    await finds(["Umber masts."]);
    await page.getByRole("button", { name: "Your messages" }).click();
    await finds(["Umber umber umber."]);
    await checkAccessibility(page, "a search with chips");
    await close();
  });
});
