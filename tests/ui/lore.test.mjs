// Tests against the real server: lorebooks, and parts of a session that are saved as lore entries.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
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
  chooseFiles,
  messageById,
  openSeededBranch,
} from "./support/setup.mjs";

const book = (/** @type {string} */ name, /** @type {object[]} */ entries = []) =>
  clotho.api("POST", "/api/lorebooks", { name, entries });
/** Returns the lorebooks with this name, with their entries. @returns {Promise<any[]>} */
const booksNamed = async (/** @type {string} */ name) => {
  const books = (await clotho.api("GET", "/api/lorebooks?limit=500")).items.filter((one) => one.name === name);
  return Promise.all(books.map(({ id }) => clotho.api("GET", `/api/lorebooks/${id}`)));
};
const saveLoreForm = (/** @type {import("playwright-core").Page} */ page) =>
  page.getByRole("dialog", { name: "Save as lorebook entry" });

describe("saving as lore", () => {
  test("S4-61: a fragment becomes an entry of a new lorebook, stays in the stash, and the entry opens from the notice", async () => {
    const { path, ids, page, close } = await openSeededBranch(
      {},
      "The Keeper of Saint Orme lights “the Grey Lamp” again.",
    );
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Delete, with everything after it");
    await chooseFromPageMenu(page, "Stash");
    await page
      .getByRole("article", { name: "To the harbour." })
      .getByRole("button", { name: "Save as lorebook entry" })
      .click();
    const dialog = saveLoreForm(page);
    const text = dialog.getByRole("textbox", { name: "Content" });
    await text.waitFor();
    assert.match(
      await text.inputValue(),
      /^You: To the harbour\.\n\n.+: The Keeper of Saint Orme lights “the Grey Lamp” again\.$/,
    );
    assert.deepEqual(await dialog.getByRole("list", { name: "Suggested keys" }).getByRole("button").allInnerTexts(), [
      "Rin",
      "Grey Lamp",
      "Keeper of Saint Orme",
    ]);
    await dialog.getByRole("button", { name: "Add the key “Keeper of Saint Orme”" }).click();
    await dialog.getByRole("textbox", { name: "Add key" }).fill("lamp, 灯");
    await dialog.getByRole("textbox", { name: "Add key" }).press("Enter");
    await dialog.getByRole("button", { name: "Remove the key “lamp”" }).click();
    await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("The lamp");
    await dialog.getByRole("checkbox", { name: /^Constant/ }).check();
    await dialog.getByRole("combobox", { name: "Lorebook" }).selectOption({ label: "New lorebook…" });
    await dialog.getByRole("textbox", { name: "Name of the new lorebook" }).fill("Coast of lamps");
    await checkAccessibility(page, "saving as lore");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved as a lorebook entry.").waitFor();
    const [kept] = await booksNamed("Coast of lamps");
    const [entry] = kept.entries;
    assert.deepEqual(
      [kept.entryCount, entry.comment, entry.key, entry.constant, entry.disable, entry.addMemo],
      [1, "The lamp", ["Keeper of Saint Orme", "灯"], true, false, true],
    );
    assert.match(entry.content, /^You: To the harbour\./);
    assert.equal((await clotho.api("GET", `${chatPath(path)}/stash`)).items.length, 1, "the part itself stays");
    await page.locator(".notice").getByRole("button", { name: "Open" }).click();
    const opened = page.getByRole("dialog", { name: "Coast of lamps" });
    assert.equal(await opened.getByRole("textbox", { name: "Name", exact: true }).inputValue(), "The lamp");
    await close();
  });

  test("S4-61: the first click on Save includes a key that was typed without Enter", async () => {
    const { ids, page, close } = await openSeededBranch();
    await book("Keys");
    await chooseFromMessageMenu(page, messageById(page, ids[3]), "Save as lorebook entry");
    const dialog = saveLoreForm(page);
    await dialog.getByRole("combobox", { name: "Lorebook" }).selectOption({ label: "Keys" });
    await dialog.getByRole("textbox", { name: "Add key" }).fill("ebb");
    const save = dialog.getByRole("button", { name: "Save", exact: true });
    await save.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await save.boundingBox();
    await page.mouse.move(x + width / 2, y + height - 2);
    await page.mouse.down();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await page.mouse.up();
    await page.getByText("Saved as a lorebook entry.").waitFor();
    assert.deepEqual(
      (await booksNamed("Keys"))[0].entries.map(({ key }) => key),
      [["ebb"]],
    );
    await close();
  });

  test("S4-61: selected messages, and one message from its menu, are added to a lorebook; Escape does not lose the text", async () => {
    const { ids, page, close } = await openSeededBranch();
    await book("Weather", [{ comment: "Rain", key: ["rain"], content: "It rains." }]);
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("s");
    await messageById(page, ids[3]).locator("article").focus();
    await page.keyboard.press("s");
    await page.locator(".chosen").getByRole("button", { name: "Save as lorebook entry" }).click();
    const dialog = saveLoreForm(page);
    await dialog.getByRole("combobox", { name: "Lorebook" }).selectOption({ label: "Weather" });
    const text = dialog.getByRole("textbox", { name: "Content" });
    assert.match(await text.inputValue(), /: Snow\.\n\n.*: Masts in the dusk\.$/);
    await text.fill("Snow, then masts.");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keep editing" }).click();
    assert.equal(await text.inputValue(), "Snow, then masts.");
    await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("Snow");
    // A key that was typed without Enter counts as well.
    await dialog.getByRole("textbox", { name: "Add key" }).fill("snow");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved as a lorebook entry.").waitFor();
    await waitUntil(async () => (await page.locator(".chosen").count()) === 0, "nothing is chosen any more");
    await chooseFromMessageMenu(page, messageById(page, ids[0]), "Save as lorebook entry");
    await text.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("k");
    await text.waitFor();
    assert.equal(await text.inputValue(), "You: To the north.");
    assert.equal(
      await dialog.getByRole("combobox").locator("option:checked").innerText(),
      "Weather",
      "the last one is chosen already",
    );
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    const [{ entries }] = await booksNamed("Weather");
    assert.deepEqual(entries.map(({ comment, key, content }) => [comment, key, content]).slice(0, 2), [
      ["Rain", ["rain"], "It rains."],
      ["Snow", ["snow"], "Snow, then masts."],
    ]);
    assert.equal(entries.length, 3);
    await close();
  });

  test("S4-61: an unsaved entry survives a reload until it is saved or cancelled", async () => {
    const { ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[0]), "Save as lorebook entry");
    const dialog = saveLoreForm(page);
    const text = dialog.getByRole("textbox", { name: "Content" });
    await text.fill("North lies the ice.");
    await dialog.getByRole("textbox", { name: "Add key" }).fill("ice");
    await dialog.getByRole("textbox", { name: "Add key" }).press("Enter");
    await page.reload();
    await messageById(page, ids[0]).waitFor();
    await chooseFromMessageMenu(page, messageById(page, ids[0]), "Save as lorebook entry");
    await text.waitFor();
    assert.equal(await text.inputValue(), "North lies the ice.");
    await dialog.getByRole("button", { name: "Remove the key “ice”" }).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await chooseFromMessageMenu(page, messageById(page, ids[0]), "Save as lorebook entry");
    await text.waitFor();
    assert.equal(await text.inputValue(), "You: To the north.");
    await close();
  });
});

describe("lorebooks", () => {
  const golden = (/** @type {string} */ name) => readFile(new URL(`../fixtures/golden/books/${name}`, import.meta.url));
  const shelf = (/** @type {import("playwright-core").Page} */ page) =>
    page.getByRole("dialog", { name: "Lorebooks", exact: true });

  /** Opens the lorebooks. @param {Parameters<typeof openPage>[1]} [options] */
  async function atShelf(options) {
    const opened = await openPage(browser, options);
    await opened.page.goto(clotho.base);
    await opened.page.getByRole("button", { name: "Lorebooks" }).click();
    await shelf(opened.page).waitFor();
    return opened;
  }

  test("a lorebook is created, renamed, exported, deleted and restored", async () => {
    const { page, close } = await atShelf();
    await shelf(page).getByRole("button", { name: "New lorebook" }).click();
    await shelf(page).getByRole("textbox", { name: "Name" }).fill("Harbours");
    await page.keyboard.press("Enter");
    const open = page.getByRole("dialog", { name: "Harbours" });
    await open.getByText("This lorebook has no entries yet.").waitFor();
    await open.getByRole("button", { name: "All lorebooks" }).click();
    const row = (name) => shelf(page).getByRole("article", { name, exact: true });
    await row("Harbours").getByText("0 entries").waitFor();
    assert.ok(
      await row("Harbours")
        .getByRole("button", { name: "Open" })
        .evaluate((button) => button === document.activeElement),
      "the keyboard is where it was",
    );
    await row("Harbours").getByRole("button", { name: "Rename" }).click();
    await row("Harbours").getByRole("textbox", { name: "Name" }).fill("Harbours of the north");
    await page.keyboard.press("Enter");
    await row("Harbours of the north").waitFor();
    await checkAccessibility(page, "the lorebooks");
    const coming = page.waitForEvent("download");
    await row("Harbours of the north").getByRole("button", { name: "Export as World Info" }).click();
    assert.deepEqual(JSON.parse(await readFile(await (await coming).path(), "utf8")), {
      name: "Harbours of the north",
      entries: {},
    });
    await row("Harbours of the north").getByRole("button", { name: "Delete" }).click();
    await row("Harbours of the north").waitFor({ state: "detached" });
    assert.ok(
      await shelf(page).evaluate((box) => box.contains(document.activeElement)),
      "the keyboard stays in the dialog",
    );
    await page.locator(".notice").getByRole("button", { name: "Restore" }).click();
    await row("Harbours of the north").waitFor();
    await row("Harbours of the north").getByRole("button", { name: "Delete" }).click();
    await row("Harbours of the north").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Trash" }).click();
    await page
      .getByRole("article", { name: "Harbours of the north" })
      .getByText(/^Lorebook · /)
      .waitFor();
    await close();
  });

  test("an entry is found among a thousand, edited, disabled, deleted and restored; its other fields stay", async () => {
    const many = Array.from({ length: 1000 }, (_, n) => ({
      uid: n,
      comment: `Place ${n}`,
      key: [`place ${n}`],
      content: n === 777 ? "Here stands the 灯塔." : "Nothing is known.",
      order: n,
      odd: { n },
    }));
    const { id } = await book("Gazetteer", many);
    const { page, close } = await atShelf();
    await shelf(page).getByRole("article", { name: "Gazetteer" }).getByRole("button", { name: "Open" }).click();
    const dialog = page.getByRole("dialog", { name: "Gazetteer" });
    await dialog.getByRole("status").getByText("1000 entries").waitFor();
    assert.equal(await dialog.getByRole("article").count(), 50, "not all are drawn at once");
    await dialog.getByRole("button", { name: "Show more" }).click();
    await dialog.getByRole("article", { name: "Place 99", exact: true }).waitFor();
    await dialog.getByRole("searchbox").fill("灯塔");
    await dialog.getByText("1 of 1000 entries").waitFor();
    await dialog.getByRole("checkbox", { name: "“Place 777” is enabled" }).uncheck();
    await waitUntil(
      async () => (await clotho.api("GET", `/api/lorebooks/${id}`)).entries[777].disable === true,
      "it is switched off",
    );
    await dialog.getByRole("button", { name: "Edit “Place 777”" }).click();
    await dialog.getByRole("textbox", { name: "Content" }).fill("Here stood the 灯塔.");
    await dialog.getByRole("button", { name: "Remove the key “place 777”" }).click();
    await page.keyboard.press("Escape");
    await page.getByText("Your text is not saved.").waitFor();
    await page.keyboard.press("Escape");
    await dialog.getByRole("textbox", { name: "Add key" }).fill("/灯{1,2}塔/i");
    await page.keyboard.press("Enter");
    await dialog.getByRole("checkbox", { name: /^Constant/ }).check();
    await checkAccessibility(page, "an entry");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    const row = dialog.getByRole("article", { name: "Place 777" });
    await row.getByText("Here stood the 灯塔.").waitFor();
    assert.equal(await dialog.getByRole("searchbox").inputValue(), "灯塔", "what was looked for is still there");
    assert.ok(
      await row
        .getByRole("button", { name: "Edit “Place 777”" })
        .evaluate((button) => button === document.activeElement),
    );
    await checkAccessibility(page, "the entries of a book");
    const now = async () => (await clotho.api("GET", `/api/lorebooks/${id}`)).entries;
    const { content, key, constant, disable, order, odd } = (await now())[777];
    assert.deepEqual(
      [content, key, constant, disable, order, odd],
      ["Here stood the 灯塔.", ["/灯{1,2}塔/i"], true, true, 777, { n: 777 }],
    );

    await dialog.getByRole("button", { name: "Delete “Place 777”" }).click();
    await dialog.getByText("0 of 999 entries").waitFor();
    assert.equal((await now()).length, 999);
    assert.ok(await dialog.evaluate((box) => box.contains(document.activeElement)), "the keyboard stays in the dialog");
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click();
    await row.waitFor();
    assert.equal((await now()).find(({ uid }) => uid === 777).odd.n, 777);
    await dialog.getByRole("searchbox").fill("");
    await dialog.getByRole("button", { name: "New entry" }).click();
    await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("The strait");
    await dialog.getByRole("textbox", { name: "Content" }).fill("Ice.");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByRole("article", { name: "The strait" }).waitFor();
    assert.equal((await now()).length, 1001);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await close();
  });

  test("entries changed or deleted elsewhere are not overwritten without a question; lists are read again when the user returns", async () => {
    const { id } = await book("Two hands", [
      { uid: 1, comment: "Harbour", key: ["harbour"], content: "Quiet.", order: 7 },
      { uid: 2, comment: "Wall", content: "Old." },
    ]);
    const elsewhere = (content) => clotho.api("PATCH", `/api/lorebooks/${id}/entries/1`, { entry: { content } });
    const entries = async () => (await clotho.api("GET", `/api/lorebooks/${id}`)).entries;
    const { page, close } = await atShelf({ expected: LOAD_ERROR });
    await shelf(page).getByRole("article", { name: "Two hands" }).getByRole("button", { name: "Open" }).click();
    const dialog = page.getByRole("dialog", { name: "Two hands" });
    const text = dialog.getByRole("textbox", { name: "Content" });
    await dialog.getByRole("article", { name: "Harbour" }).waitFor();
    await elsewhere("Loud.");
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await dialog.getByRole("article", { name: "Harbour" }).getByText("Loud.").waitFor();
    const begin = async (mine, theirs) => {
      await dialog.getByRole("button", { name: "Edit “Harbour”" }).click();
      await text.fill(mine);
      await elsewhere(theirs);
      await dialog.getByRole("button", { name: "Save", exact: true }).click();
      await dialog.getByRole("group", { name: "Saved entry" }).getByText(theirs).waitFor();
    };
    await begin("Mine.", "Theirs.");
    await checkAccessibility(page, "an entry that was changed meanwhile");
    assert.equal((await entries())[0].content, "Theirs.", "nothing is written before it is said");
    await dialog.getByRole("button", { name: "Use the saved entry" }).click();
    assert.equal(await text.inputValue(), "Theirs.");
    await dialog.getByRole("button", { name: "Back to my text" }).click();
    assert.equal(await text.inputValue(), "Mine.");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByRole("article", { name: "Harbour" }).getByText("Mine.").waitFor();
    await begin("Mine again.", "Theirs again.");
    await dialog.getByRole("button", { name: "Overwrite with mine" }).click();
    await dialog.getByRole("article", { name: "Harbour" }).getByText("Mine again.").waitFor();
    assert.deepEqual([(await entries())[0].content, (await entries())[0].order], ["Mine again.", 7]);

    await dialog.getByRole("button", { name: "Edit “Harbour”" }).click();
    await text.fill("Not lost.");
    await clotho.api("DELETE", `/api/lorebooks/${id}/entries/1`);
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByText("This entry was deleted elsewhere.").waitFor();
    assert.equal(await page.locator(".notice").count(), 0, "it is said once");
    await dialog.getByRole("button", { name: "Save as a new entry" }).click();
    await dialog.getByRole("article", { name: "Harbour" }).getByText("Not lost.").waitFor();
    assert.deepEqual(
      (await entries()).map(({ comment, content, order }) => [comment, content, order]),
      [
        ["Wall", "Old.", 100],
        ["Harbour", "Not lost.", 7],
      ],
    );
    await close();
  });

  test("of two tabs that save or delete the same entry, the second sees the change of the first before it overwrites", async () => {
    const { id } = await book("Two tabs", [{ uid: 1, comment: "Ferry", key: ["ferry"], content: "Slow.", order: 7 }]);
    const now = async () => (await clotho.api("GET", `/api/lorebooks/${id}`)).entries.map(({ content }) => content);
    const one = await atShelf();
    const other = await atShelf({ expected: LOAD_ERROR });
    const tabs = [one, other].map(({ page }) => ({ page, dialog: page.getByRole("dialog", { name: "Two tabs" }) }));
    const [first, second] = tabs;
    for (const { page, dialog } of tabs) {
      await shelf(page).getByRole("article", { name: "Two tabs" }).getByRole("button", { name: "Open" }).click();
      await dialog.getByRole("button", { name: "Edit “Ferry”" }).click();
    }
    const save = ({ dialog }) => dialog.getByRole("button", { name: "Save", exact: true }).click();
    await first.dialog.getByRole("textbox", { name: "Content" }).fill("Quick.");
    await second.dialog.getByRole("textbox", { name: "Content" }).fill("Sunk.");
    // The answer to the request of the other tab is held until the first tab has saved.
    await second.page.route(
      "**/entries/1",
      async (route) => {
        await save(first);
        await first.dialog.getByRole("article", { name: "Ferry" }).getByText("Quick.").waitFor();
        await route.continue();
      },
      { times: 1 },
    );
    await save(second);
    await second.dialog.getByRole("group", { name: "Saved entry" }).getByText("Quick.").waitFor();
    assert.deepEqual(await now(), ["Quick."]);
    await second.dialog.getByRole("button", { name: "Overwrite with mine" }).click();
    await second.dialog.getByRole("article", { name: "Ferry" }).getByText("Sunk.").waitFor();

    await clotho.api("PATCH", `/api/lorebooks/${id}/entries/1`, { entry: { content: "Afloat." } });
    await second.dialog.getByRole("button", { name: "Delete “Ferry”" }).click();
    await second.page.getByRole("alert").getByText("and was not deleted").waitFor();
    await second.dialog.getByRole("article", { name: "Ferry" }).getByText("Afloat.").waitFor();
    await second.dialog.getByRole("button", { name: "Delete “Ferry”" }).click();
    await second.dialog.getByText("This lorebook has no entries yet.").waitFor();
    await second.page.locator(".notice").getByRole("button", { name: "Undo" }).click();
    await second.dialog.getByRole("article", { name: "Ferry" }).getByText("Afloat.").waitFor();
    assert.deepEqual(await now(), ["Afloat."]);
    await one.close();
    await other.close();
  });

  test("an unsaved edit of an entry survives a reload, and is removed when it is cancelled", async () => {
    await book("Drafts", [{ uid: 1, comment: "Gull", key: ["gull"], content: "White." }]);
    const { page, close } = await atShelf();
    const row = shelf(page).getByRole("article", { name: "Drafts" });
    const dialog = page.getByRole("dialog", { name: "Drafts" });
    const text = dialog.getByRole("textbox", { name: "Content" });
    await row.getByRole("button", { name: "Open" }).click();
    await dialog.getByRole("button", { name: "Edit “Gull”" }).click();
    await text.fill("Grey.");
    await dialog.getByRole("textbox", { name: "Add key" }).fill("bird");
    await page.keyboard.press("Enter");
    await page.reload();
    await page.getByRole("button", { name: "Lorebooks" }).click();
    await row.getByText("Unsaved draft").waitFor();
    await row.getByRole("button", { name: "Open" }).click();
    await checkAccessibility(page, "a book with an entry that was begun");
    await dialog.getByRole("group", { name: "Unsaved draft" }).getByRole("button", { name: "Keep editing" }).click();
    assert.equal(await text.inputValue(), "Grey.");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByRole("article", { name: "Gull" }).getByText("Grey.").waitFor();
    await dialog.getByRole("article", { name: "Gull" }).getByText("bird").waitFor();
    assert.equal(await dialog.getByRole("group", { name: "Unsaved draft" }).count(), 0);
    await dialog.getByRole("button", { name: "New entry" }).click();
    await text.fill("Sand.");
    await page.reload();
    await page.getByRole("button", { name: "Lorebooks" }).click();
    await row.getByRole("button", { name: "Open" }).click();
    await dialog.getByRole("button", { name: "New entry" }).click();
    assert.equal(await text.inputValue(), "Sand.");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.getByRole("button", { name: "New entry" }).click();
    assert.equal(await text.inputValue(), "");
    await close();
  });

  test("lorebooks of other programs are imported by a button and by dropping, with a report; other files are refused", async () => {
    const { page, close } = await atShelf({ expected: LOAD_ERROR });
    const bring = (file) => chooseFiles(page, shelf(page).getByRole("button", { name: "Import lorebook" }), [file]);
    await bring({ name: "Old tales.lorebook", buffer: await golden("novel.json") });
    await page.locator(".notice").getByText("is imported.").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Import report" }).click();
    const report = page.getByRole("dialog", { name: "Import report" });
    await report
      .getByText(/entr(y|ies)/)
      .first()
      .waitFor();
    await report.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Lorebooks" }).click();
    // Counted once the list is loaded.
    await shelf(page).getByRole("article", { name: "Old tales" }).waitFor();
    const before = await shelf(page).getByRole("article").count();
    await page.evaluate(
      (text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], "Dropped.json"));
        document
          .querySelector("dialog .stash")
          ?.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true, bubbles: true }));
      },
      JSON.stringify({ entries: { 0: { uid: 0, key: ["a"], content: "b" } } }),
    );
    await shelf(page).getByRole("article", { name: "Dropped" }).waitFor();
    assert.equal(await shelf(page).getByRole("article").count(), before + 1);
    await bring({ name: "none.json", buffer: Buffer.from("{}") });
    await page.getByRole("alert").getByText("it has no entries", { exact: false }).waitFor();
    await close();
  });

  test("a failed read is reported and can be repeated", async () => {
    await book("Reefs", [{ comment: "The reef", content: "Sharp." }]);
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Lorebooks" }).waitFor();
    await page.route("**/api/lorebooks**", (route) => route.abort());
    await page.getByRole("button", { name: "Lorebooks" }).click();
    await shelf(page).getByText("Some entries could not be read.").waitFor();
    await page.unroute("**/api/lorebooks**");
    await shelf(page).getByRole("button", { name: "Try again" }).click();
    await page.route("**/entries**", (route) => route.abort());
    await shelf(page).getByRole("article", { name: "Reefs" }).getByRole("button", { name: "Open" }).click();
    const reefs = page.getByRole("dialog", { name: "Reefs" });
    await reefs.getByText("Some entries could not be read.").waitFor();
    await page.unroute("**/entries**");
    await reefs.getByRole("button", { name: "Try again" }).click();
    await reefs.getByRole("article", { name: "The reef" }).waitFor();
    assert.equal(await reefs.getByText("Some entries could not be read.").count(), 0);
    await close();
  });

  test("lorebooks work on a phone, by touch, in Chinese and in dark mode", async () => {
    const endless = "0123456789".repeat(60);
    await book("潮汐", [
      { comment: "灯塔", key: ["灯塔", "灯"], content: "灯塔在最北边的岬角上。".repeat(40), constant: true },
      { comment: endless, key: [endless], content: endless },
    ]);
    const { page, close } = await openPage(browser, {
      locale: "zh-CN",
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      colorScheme: "dark",
    });
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "世界书" }).tap();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("article", { name: "潮汐" }).getByRole("button", { name: "打开" }).tap();
    await dialog.getByRole("article", { name: endless }).waitFor();
    const fits = () =>
      dialog.evaluate(
        (box) => box.scrollWidth <= box.clientWidth && document.documentElement.scrollWidth <= innerWidth,
      );
    assert.ok(await fits(), "nothing in the list is wider than the screen");
    await dialog.getByRole("button", { name: `编辑“${endless}”` }).tap();
    await dialog.getByRole("textbox", { name: "内容" }).waitFor();
    assert.ok(await fits(), "nothing in the form is wider than the screen");
    await dialog.getByRole("button", { name: "取消" }).tap();
    await dialog.getByRole("button", { name: "编辑“灯塔”" }).tap();
    await dialog.getByRole("textbox", { name: "内容" }).waitFor();
    await checkAccessibility(page, "an entry on a phone");
    assert.doesNotMatch(await dialog.innerText(), /[a-z]{4,}/);
    await close();
  });
});
