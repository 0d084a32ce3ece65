// Tests against the real server: all options of a lore entry in its form, and trying a text on a lorebook.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test } from "./support/browser.mjs";
import { browser, checkAccessibility, clotho } from "./support/setup.mjs";

const entry = { uid: 0, key: ["lamp"], content: "The lamp never goes out.", comment: "The lamp" };

/** Creates a lorebook and opens it. */
async function openBook(/** @type {string} */ name, /** @type {object[]} */ entries, options = {}) {
  const book = await clotho.api("POST", "/api/lorebooks", { name, entries });
  const opened = await openPage(browser, options);
  await opened.page.goto(clotho.base);
  await opened.page.getByRole("button", { name: "Lorebooks" }).click();
  await opened.page.getByRole("article", { name }).getByRole("button", { name: "Open" }).click();
  return { book, ...opened };
}

const storedEntry = async (/** @type {string} */ id) =>
  (await clotho.api("GET", `/api/lorebooks/${id}`)).entries.find((/** @type {any} */ one) => one.uid === 0);

describe("the options of a lore entry", () => {
  test("every option is saved under its World Info name, and the others stay absent", async () => {
    const { book, page, close } = await openBook("Options", [entry]);
    const before = await storedEntry(book.id);
    await page.getByRole("button", { name: "Edit “The lamp”" }).click();
    const form = page.getByRole("dialog");
    await form.getByText("Position, filters and timing").click();
    const open = (/** @type {string} */ title) => form.locator("summary", { hasText: title }).last().click();
    await open("Insertion");
    await form.getByRole("combobox", { name: "Position" }).selectOption({ label: "@D: at a depth in the chat" });
    await form.getByRole("spinbutton", { name: /^Depth/ }).fill("2");
    await form.getByRole("combobox", { name: "Role" }).selectOption({ label: "User" });
    await form.getByRole("spinbutton", { name: /^Order/ }).fill("50");
    await form.getByRole("spinbutton", { name: "Trigger %" }).fill("80");
    await open("Optional filter");
    await form.getByRole("combobox", { name: "Logic" }).selectOption({ label: "AND ALL" });
    await form.getByRole("group", { name: "Secondary keys" }).getByRole("textbox").fill("oil, wick");
    await form.getByRole("group", { name: "Secondary keys" }).getByRole("textbox").press("Enter");
    await open("Timed effects");
    await form.getByRole("spinbutton", { name: /^Sticky/ }).fill("3");
    await open("Filters and automation");
    await form.getByRole("textbox", { name: /^Characters/ }).fill("Rin, Mira");
    await form.getByRole("checkbox", { name: "Continue" }).check();
    await form.getByRole("textbox", { name: /^Condition on variables/ }).fill("affinity >= 20");
    await checkAccessibility(page, "the options of a lore entry");
    await form.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("article", { name: "The lamp" }).waitFor();
    const changed = {
      position: 4,
      depth: 2,
      role: 1,
      order: 50,
      probability: 80,
      useProbability: true,
      selective: true,
      selectiveLogic: 3,
      keysecondary: ["oil", "wick"],
      sticky: 3,
      characterFilter: { isExclude: false, names: ["Rin", "Mira"], tags: [] },
      triggers: ["continue"],
      when: "affinity >= 20",
    };
    const now = await storedEntry(book.id);
    for (const [field, value] of Object.entries(changed)) assert.deepEqual(now[field], value, field);
    for (const field of ["scanDepth", "caseSensitive", "group", "cooldown", "excludeRecursion", "matchScenario"])
      assert.deepEqual(now[field], before[field], field);
    await close();
  });

  test("a number out of range goes back, and closing asks before it loses an option", async () => {
    const { book, page, close } = await openBook("Range", [entry]);
    await page.getByRole("button", { name: "Edit “The lamp”" }).click();
    const form = page.getByRole("dialog", { name: "Range" });
    await form.getByText("Position, filters and timing").click();
    await form.locator("summary", { hasText: "Insertion" }).last().click();
    const order = form.getByRole("spinbutton", { name: /^Order/ });
    await order.fill("");
    await order.blur();
    assert.equal(await order.inputValue(), "100");
    await form.getByRole("spinbutton", { name: "Trigger %" }).fill("150");
    await form.getByRole("spinbutton", { name: "Trigger %" }).blur();
    assert.notEqual(await form.getByRole("spinbutton", { name: "Trigger %" }).inputValue(), "150");
    await order.fill("7");
    await page.keyboard.press("Escape");
    await page.getByText("Your text is not saved.").waitFor();
    assert.equal((await storedEntry(book.id)).order ?? 100, 100);
    await close();
  });

  test("a text shows which entries it activates, and why the others stay out", async () => {
    const gate = { uid: 1, key: ["gate"], content: "The gate is shut.", comment: "The gate", when: "affinity >= 20" };
    const { page, close } = await openBook("Trial", [entry, gate]);
    const form = page.getByRole("dialog");
    await form.getByText("Try a text").click();
    await form.getByRole("textbox", { name: "Text" }).fill("She lights the lamp at the gate.");
    await form.getByRole("button", { name: "Try this text" }).click();
    await form.getByText("triggered by a key: lamp").waitFor();
    await form.getByText(/condition not met/).waitFor();
    await close();
  });
});
