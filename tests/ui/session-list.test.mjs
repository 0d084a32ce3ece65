// Tests against the real server: the list of stories with search, order, folders, tags, pins and several stories at once.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test } from "./support/browser.mjs";
import { browser, checkAccessibility, chooseFromPageMenu, clotho } from "./support/setup.mjs";

/** @param {import("playwright-core").Page} page */
const titles = (page) => page.locator(".session strong").allInnerTexts();

/** @param {import("playwright-core").Page} page @param {string[]} expected */
async function waitForTitles(page, expected) {
  await page.waitForFunction(
    (wanted) =>
      JSON.stringify([...document.querySelectorAll(".session strong")].map((one) => one.textContent)) === wanted,
    JSON.stringify(expected),
  );
}

describe("the list of stories", () => {
  test("stories are found, sorted, tagged, pinned, put into folders and changed together", async () => {
    const one = await clotho.api("POST", "/api/characters", { name: "Ariadne", firstMessage: "Hello." });
    const other = await clotho.api("POST", "/api/characters", { name: "Belinda", firstMessage: "Hello." });
    const begin = (/** @type {string} */ title, /** @type {{ id: string }} */ { id }) =>
      clotho.api("POST", "/api/sessions", { characterIds: [id], title });
    const zebra = await begin("Zebra café", one);
    await begin("Apple yard", one);
    await begin("Mango tree", other);
    await clotho.api("PATCH", `/api/sessions/${zebra.id}`, { tags: ["fruitless"] });
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.locator(".stories-tools select").waitFor();

    // Search ignores case and accents.
    const search = page.getByRole("searchbox", { name: "Search by title" });
    await search.fill("CAFE");
    await waitForTitles(page, ["Zebra café"]);
    await search.fill("qqq");
    await page.getByText("No matching stories.").waitFor();
    await checkAccessibility(page, "a search without stories");
    await page.getByRole("button", { name: "Show all" }).click();

    // A tag filters.
    await page.getByRole("button", { name: "fruitless" }).click();
    await waitForTitles(page, ["Zebra café"]);
    await page.getByRole("button", { name: "fruitless" }).click();

    // The order is by title, and pins stand above it.
    await page.getByRole("combobox", { name: "Sort" }).selectOption("title");
    await page.waitForFunction(() => {
      const all = [...document.querySelectorAll(".session strong")].map((one) => one.textContent ?? "");
      const [apple, mango, zebra] = ["Apple yard", "Mango tree", "Zebra café"].map((title) => all.indexOf(title));
      return apple >= 0 && apple < mango && mango < zebra;
    });
    await page.getByRole("button", { name: "Manage “Zebra café”" }).click();
    await page.getByRole("button", { name: "Pin", exact: true }).click();
    await page.waitForFunction(() => document.querySelector(".session strong")?.textContent === "Zebra café");

    // Several stories go into a folder, which opens.
    await page.getByRole("button", { name: "Select", exact: true }).click();
    await page.getByRole("checkbox", { name: "Select “Apple yard”" }).check();
    await page.getByRole("checkbox", { name: "Select “Mango tree”" }).check();
    await checkAccessibility(page, "selected stories");
    await page.getByRole("button", { name: "Folder and tags…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: "Folder" }).selectOption("other");
    await dialog.getByRole("textbox", { name: "Name of the folder" }).fill("Orchard");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const folder = page.locator("details.story-folder", { hasText: "Orchard" });
    await folder.locator("summary").click();
    await folder.getByText("Mango tree").waitFor();
    assert.deepEqual(
      (await titles(page)).filter((title) => title === "Mango tree"),
      ["Mango tree"],
    );

    // The chats of a character are in one place.
    await page.goto(`${clotho.base}/s/${zebra.id}`);
    await chooseFromPageMenu(page, "Chats of this character");
    await page.getByRole("button", { name: "Chats of Ariadne" }).waitFor();
    await waitForTitles(page, ["Zebra café", "Apple yard"]);
    await close();
  });
});
