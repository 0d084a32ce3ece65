// Tests in Chromium against the real server: rating, disabling, exporting, deleting, moving and naming messages.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  HP,
  LOAD_ERROR,
  barValue,
  playUntilHurt,
  browser,
  chatPath,
  checkAccessibility,
  chooseFromMessageMenu,
  chooseFromPageMenu,
  clotho,
  composer,
  focusedMessageId,
  seedBranch,
  lastMessage,
  readBranch,
  messageById,
  model,
  createSession,
  openSession,
  openSeededBranch,
  waitForReply,
  sendMessage,
  readSession,
  messageTexts,
  clickMessageButton,
} from "./support/setup.mjs";

const nodeOf = (path, id) => clotho.api("GET", `${chatPath(path)}/node/${id}`);

describe("the menu of a message", () => {
  test("S4-55: stars are set by mouse, touch and keys, and removed again", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[1]), "4 stars");
    await messageById(page, ids[1]).getByRole("img", { name: "4 of 5 stars" }).waitFor();
    assert.equal((await nodeOf(path, ids[1])).metadata.rating, 4);
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("2");
    await messageById(page, ids[1]).getByRole("img", { name: "2 of 5 stars" }).waitFor();
    await page.keyboard.press("m");
    const button = () =>
      page.evaluate(() => document.activeElement?.textContent || document.activeElement?.getAttribute("aria-label"));
    await page.keyboard.press("End");
    assert.equal(await button(), "Delete permanently");
    await page.keyboard.press("ArrowDown");
    assert.match(await button(), /^1 star/, "it goes round");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Home");
    assert.match(await button(), /^1 star/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await messageById(page, ids[1]).getByRole("img").waitFor({ state: "detached" });
    assert.equal((await nodeOf(path, ids[1])).metadata.rating ?? null, null);
    assert.equal(await focusedMessageId(page), ids[1], "the focus is back at the message");
    await close();
    const phone = await openPage(browser, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await phone.page.goto(clotho.base + path);
    await messageById(phone.page, ids[0]).locator("article").tap();
    await messageById(phone.page, ids[0]).getByRole("button", { name: "More" }).tap();
    const menu = phone.page.locator(".menu:popover-open");
    const box = await menu.boundingBox();
    assert.ok(
      box && box.x >= 0 && box.y >= 0 && box.x + box.width <= 390 && box.y + box.height <= 844,
      "the menu is on the screen",
    );
    await menu.getByRole("button", { name: "5 stars" }).tap();
    await messageById(phone.page, ids[0]).getByRole("img", { name: "5 of 5 stars" }).waitFor();
    await phone.close();
  });

  test("S4-22: a muted message no longer changes the state, and unmuting restores its effect", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const hurt = await barValue(page, HP);
    await chooseFromMessageMenu(page, lastMessage(page), "Ignore its state changes");
    await lastMessage(page).getByText("Its state changes are ignored.").waitFor();
    await waitUntil(async () => (await barValue(page, HP)) === 20, "the wound is gone");
    const chip = lastMessage(page).locator(".changes .chip", { hasText: "Hit points" });
    await chip.getByText("ignored").waitFor();
    assert.equal(await chip.locator("s").innerText(), `−${20 - hurt}`, "what it cost is struck out");
    assert.equal(await lastMessage(page).locator(".chip.down").count(), 0);
    await checkAccessibility(page, "ignored");
    await chooseFromMessageMenu(page, lastMessage(page), "Apply its state changes");
    await waitUntil(async () => (await barValue(page, HP)) === hurt, "the wound is back");
    await chip.getByText("ignored").waitFor({ state: "detached" });
    await lastMessage(page).locator(".chip.down", { hasText: "Hit points" }).waitFor();
    assert.equal(await lastMessage(page).getByText("Its state changes are ignored.").count(), 0);
    await close();
  });

  test("S4-21: a disabled message is dimmed, shows a crossed-out eye and stays readable", async () => {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      const { ids, page, close } = await openSeededBranch({ colorScheme });
      await clickMessageButton(messageById(page, ids[1]), "Exclude from prompt");
      const off = page.locator(`.message.disabled:has([data-node="${ids[1]}"])`);
      await off.locator(".left-out svg").waitFor();
      assert.ok(Number(await off.locator(".prose").evaluate((prose) => getComputedStyle(prose).opacity)) < 1);
      await checkAccessibility(page, "left out");
      await messageById(page, ids[3]).locator("article").focus();
      await page.keyboard.press("m");
      await page.locator(".menu:popover-open").waitFor();
      await checkAccessibility(page, "the menu");
      await close();
    }
  });

  test("S4-20 S4-01: several messages are selected, a range with Shift, and disabled in one step", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[0]), "Select messages");
    await page.getByText("One message is selected.").waitFor();
    await messageById(page, ids[2])
      .getByRole("checkbox")
      .click({ modifiers: ["Shift"] });
    await page.getByText("3 messages are selected.").waitFor();
    await checkAccessibility(page, "choosing");
    await messageById(page, ids[1]).getByRole("checkbox").click();
    await page.getByText("2 messages are selected.").waitFor();
    await page.locator(".peek").getByRole("button", { name: "Exclude from prompt" }).click();
    await waitUntil(async () => (await page.locator(".message.disabled").count()) === 2, "both are left out");
    await composer(page).waitFor();
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await nodeOf(path, id)).isEnabled)), [
      false,
      true,
      false,
      true,
    ]);
    model.queueReply(["Far."]);
    await sendMessage(page, "How far?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Far.", "the reply came");
    assert.doesNotMatch(JSON.stringify(model.requests.at(-1).messages), /To the north|To the harbour/);
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("s");
    await page.keyboard.press("Escape");
    await composer(page).waitFor();
    await page.locator(".topbar").getByRole("button", { name: "Undo" }).click();
    await waitUntil(async () => (await messageTexts(page)).length === 5, "first the message is taken back");
    await page.locator(".topbar").getByRole("button", { name: "Undo" }).click();
    await waitUntil(async () => (await page.locator(".message.disabled").count()) === 0, "then both marks at once");
    await close();
  });

  test("S4-04: a branch is exported as a file with what the model reads", async () => {
    const { path, ids } = await seedBranch();
    await clotho.api("PUT", `${chatPath(path)}/node/${ids[1]}/state`, { isEnabled: false });
    const { page, close } = await openSession(path);
    const coming = page.waitForEvent("download");
    await chooseFromPageMenu(page, "Export this branch");
    const file = await coming;
    assert.match(file.suggestedFilename(), /\.md$/);
    const text = await readFile(await file.path(), "utf8");
    assert.match(text, /To the harbour\./);
    assert.doesNotMatch(text, /Snow\./);
    await close();
  });

  test("S1-15 S4-25: a copied link shows its branch and moves HEAD only when the user makes it the current branch", async () => {
    const { path, ids } = await seedBranch();
    const other = await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[1], content: "To the hills." });
    const { page, close } = await openPage(browser, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${clotho.base}${path}/${ids[3]}`);
    await page.getByText("You are viewing another branch.").waitFor();
    await chooseFromMessageMenu(page, messageById(page, ids[3]), "Copy link");
    await page.getByText("Link copied.").waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(link, `${clotho.base}${path}/${ids[3]}`);
    await page.goto(clotho.base);
    await page.goto(link);
    await page.getByText("You are viewing another branch.").waitFor();
    assert.equal((await readSession(path)).activeLeafId, other.node.id);
    await chooseFromMessageMenu(page, messageById(page, ids[3]), "Make this the current branch");
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[3], "HEAD is there");
    await page.getByRole("textbox", { name: "Your message" }).waitFor();
    await page.waitForURL(clotho.base + path);
    assert.equal((await messageTexts(page)).at(-1), "Masts in the dusk.");
    await close();
  });
});

describe("the linear view", () => {
  test("S4-50: the linear view hides all branch controls, ignores the branch settings and deletes nothing", async () => {
    const { path, ids } = await seedBranch();
    await clotho.api("POST", `${chatPath(path)}/node/${ids[3]}/edit`, { content: "No masts." });
    await clotho.api("PUT", `${chatPath(path)}/node/${ids[1]}/state`, { isEnabled: false });
    const { page, close } = await openSession(path);
    await page.locator(".message.disabled").waitFor();
    await lastMessage(page).getByText("2/2").waitFor();
    await chooseFromPageMenu(page, "Show one branch only");
    await lastMessage(page).getByText("2/2").waitFor({ state: "detached" });
    assert.equal((await readSession(path)).mode, "linear");
    assert.equal(await page.locator(".message.disabled, .siblings, .left-out").count(), 0);
    assert.equal((await messageTexts(page)).length, 5, "what was left out is shown like the rest");
    for (const id of [ids[0], ids[1]]) {
      await messageById(page, id).locator("article").focus();
      const names = await messageById(page, id)
        .locator(".tools > button")
        .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
      assert.deepEqual(
        names.filter((name) => /Rewind|Regenerate|swipe|version|Exclude|Include/.test(name ?? "")),
        [],
      );
    }
    for (const key of ["Alt+ArrowLeft", "b", "x", "r", "n", "s", "Delete"]) {
      // Escape leaves the message if the notice has left by itself meanwhile.
      await messageById(page, ids[1]).locator("article").focus();
      await page.keyboard.press(key);
      await page.getByText("This story shows one branch only.").waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".notice").waitFor({ state: "detached" });
    }
    assert.equal((await messageTexts(page)).length, 5, "nothing was done");
    await clickMessageButton(messageById(page, ids[1]), "Edit");
    await page.getByRole("textbox", { name: "Edit" }).fill("Deep snow.");
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await waitUntil(async () => (await messageTexts(page))[2] === "Deep snow.", "the correction stands there");
    assert.equal((await messageTexts(page)).at(-1), "No masts.", "and what followed follows it");
    await page.reload();
    await waitForReply(page);
    assert.equal(await page.locator(".siblings").count(), 0, "the session remembers it");
    await lastMessage(page).locator("article").focus();
    await page.keyboard.press("b");
    await page.locator(".notice").getByRole("button", { name: "Show all branches" }).click();
    await lastMessage(page).getByText("2/2").waitFor();
    await messageById(page, (await readBranch(path)).find((node) => node.content === "Deep snow.")?.id ?? "")
      .getByText("2/2")
      .waitFor();
    assert.equal((await nodeOf(path, ids[1])).isEnabled, false, "the flags are as before");
    await close();
  });
});

describe("undo", () => {
  test("S4-17: a failed reply is deleted like any other message, and the message it answered stays", async () => {
    const path = await createSession({ model: "locked/m" });
    const { page, close } = await openSession(path);
    await sendMessage(page, "Where to?");
    await lastMessage(page).getByText("The model server refused the request.").waitFor();
    await chooseFromMessageMenu(page, lastMessage(page), "Delete, with everything after it");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Where to?", "it is gone");
    await page.getByRole("button", { name: "Generate a reply" }).waitFor();
    assert.equal((await clotho.api("GET", `${chatPath(path)}/stash`)).items.length, 1);
    await close();
  });

  test("S4-17 S4-48: deleting removes a message with its descendants; undo and redo work from the notice, by keys and by button", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Delete, with everything after it");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "it is gone, with what followed");
    assert.equal((await readSession(path)).activeLeafId, ids[1]);
    await page.getByText("Moved to the stash").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click();
    await waitUntil(async () => (await messageTexts(page)).length === 5, "it is back");
    await page.getByText("Undone: a deletion.").waitFor();
    assert.equal((await readSession(path)).activeLeafId, ids[3]);
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("Control+Shift+z");
    await waitUntil(async () => (await messageTexts(page)).length === 3, "taken again");
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await messageTexts(page)).length === 5, "and back");
    await page.locator(".topbar").getByRole("button", { name: "Redo" }).click();
    await waitUntil(async () => (await messageTexts(page)).length === 3, "by the button");
    await chooseFromPageMenu(page, "Undo");
    await waitUntil(async () => (await messageTexts(page)).length === 5, "and by the menu");
    await messageById(page, ids[2]).locator("article").focus();
    await page.keyboard.press("Delete");
    await waitUntil(async () => (await messageTexts(page)).length === 3, "deleted by a key");
    await close();
  });

  test("undo of a user message puts its text back into the field; in the field, Ctrl+Z undoes typing", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    model.queueReply(["Far away."]);
    await sendMessage(page, "Where is the sea?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Far away.", "the reply came");
    await composer(page).pressSequentially("ab");
    await page.keyboard.press("Control+z");
    assert.equal((await messageTexts(page)).length, 3, "the story has not moved");
    await composer(page).fill("");
    await page.locator(".topbar").getByRole("button", { name: "Undo" }).click();
    await waitUntil(async () => (await messageTexts(page)).length === 1, "message and reply are taken back");
    await waitUntil(
      async () => (await composer(page).inputValue()) === "Where is the sea?",
      "the words are in the field",
    );
    await page.locator(".topbar").getByRole("button", { name: "Redo" }).click();
    await waitUntil(async () => (await messageTexts(page)).length === 3, "they are back");
    await waitUntil(async () => (await composer(page).inputValue()) === "", "and the words are where they were");
    await close();
  });

  test("S4-44: a notice explains when there is nothing to undo or when a later step prevents it", async () => {
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    const path = await createSession();
    await page.goto(clotho.base + path);
    await waitForReply(page);
    await page.locator(".topbar").getByRole("button", { name: "Undo" }).click();
    await page.getByText("Nothing to undo.").waitFor();
    await page.locator(".topbar").getByRole("button", { name: "Redo" }).click();
    await page.getByText("Nothing to redo.").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await close();
  });
});

describe("the stash", () => {
  test("S4-18 S4-19 S4-58: a deleted fragment is listed, read, named, restored, and placed below another message", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Delete, with everything after it");
    await waitUntil(async () => (await messageTexts(page)).length === 3, "it is gone");
    await chooseFromPageMenu(page, "Stash");
    const dialog = page.getByRole("dialog", { name: "Stash" });
    const fragment = dialog.getByRole("article", { name: "To the harbour." });
    await fragment.getByText("2 messages").waitFor();
    await fragment.getByRole("button", { name: "Read" }).click();
    await fragment.getByText("Masts in the dusk.").waitFor();
    assert.deepEqual(await fragment.locator(".contents p").allInnerTexts(), ["To the harbour.", "Masts in the dusk."]);
    await checkAccessibility(page, "the stash");
    await fragment.getByRole("button", { name: "Rename" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("The harbour");
    await page.keyboard.press("Enter");
    const named = dialog.getByRole("article", { name: "The harbour" });
    await named.getByText("“To the harbour.”").or(named.getByText("To the harbour.")).first().waitFor();
    await named.getByRole("button", { name: "Put back in place" }).click();
    await dialog.waitFor({ state: "detached" });
    await waitUntil(
      async () => (await clotho.api("GET", `${chatPath(path)}/stash`)).items.length === 0,
      "the stash is empty",
    );
    await chooseFromMessageMenu(page, messageById(page, ids[1]), "Delete, with everything after it");
    await waitUntil(async () => (await messageTexts(page)).length === 2, "it is gone");
    await chooseFromPageMenu(page, "Stash");
    await dialog.getByRole("button", { name: "Put below a message…" }).click();
    await page.getByText("Choose the message to place it below:").waitFor();
    await page.locator(".message").first().getByRole("button", { name: "Place below this message" }).click();
    await page.getByText("Moved, with everything after it.").waitFor();
    const greeting = (await readSession(path)).activeLeafId;
    assert.ok(greeting);
    assert.equal((await nodeOf(path, ids[1])).parentId, (await readBranch(path))[0].id);
    await close();
  });

  test("S4-18 S4-58: a fragment in the stash is found by search and can be read there", async () => {
    const { path, ids } = await seedBranch("Masts, celadon in the dusk.");
    await clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations: [{ op: "prune", nodeId: ids[2] }] });
    await waitUntil(
      async () => (await clotho.api("GET", "/api/search?q=celadon")).items[0]?.stashed === true,
      "the index knows where it lies",
    );
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search all stories" }).fill("celadon");
    await page.getByRole("option").filter({ hasText: "in the stash" }).click();
    await page.getByRole("dialog", { name: "Stash" }).getByText("Masts, celadon in the dusk.").waitFor();
    assert.equal(new URL(page.url()).pathname, path);
    await close();
  });

  test("S4-19: a message is moved below another; Escape cancels; invalid targets are not offered", async () => {
    const { path, ids } = await seedBranch();
    const other = await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[1], content: "To the hills." });
    const { page, close } = await openSession(path);
    await chooseFromMessageMenu(page, messageById(page, other.node.id), "Move, with everything after it");
    await page.getByText("Choose the message to place it below:").waitFor();
    await page.keyboard.press("Escape");
    await composer(page).waitFor();
    const offered = () =>
      page
        .locator(".message")
        .evaluateAll((all) => all.map((one) => one.querySelector('[data-command="message.placeHere"]') !== null));
    await chooseFromMessageMenu(page, messageById(page, ids[0]), "Move, with everything after it");
    assert.deepEqual(await offered(), [false, false, false, false], "all but the one it follows hang below it");
    await messageById(page, other.node.id).locator("article").focus();
    await page.keyboard.press("p");
    await page.keyboard.press("Escape");
    await composer(page).waitFor();
    assert.equal(
      (await nodeOf(path, ids[0])).parentId,
      (await readBranch(path))[0].id,
      "and a key does not put it there",
    );
    await chooseFromMessageMenu(page, messageById(page, other.node.id), "Move, with everything after it");
    assert.deepEqual(await offered(), [true, true, false, false]);
    await messageById(page, ids[0]).getByRole("button", { name: "Place below this message" }).click();
    await waitUntil(async () => (await nodeOf(path, other.node.id)).parentId === ids[0], "it hangs there");
    await waitUntil(
      async () => (await messageTexts(page)).join("|").endsWith("To the north.|To the hills."),
      "the line shows it",
    );
    await close();
  });
});

describe("labels", () => {
  test("S4-09: a label is set, fixed or following, and removed again", async () => {
    const { ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[1]), "Bookmark (checkpoint)");
    await page.getByRole("textbox", { name: "Name" }).fill("Before the snow");
    assert.ok(
      await page.getByRole("radio", { name: /Bookmark/ }).isChecked(),
      "in the middle of a line it is a bookmark",
    );
    await checkAccessibility(page, "a name");
    await page.keyboard.press("Enter");
    await messageById(page, ids[1]).getByRole("button", { name: "Before the snow" }).waitFor();
    // The frame about the label may arrive before the request is answered.
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await messageById(page, ids[3]).locator("article").focus();
    await page.keyboard.press("n");
    await page.getByRole("textbox", { name: "Name" }).fill("Before the snow");
    await page.keyboard.press("Enter");
    assert.equal(
      (await page.getByRole("alert").innerText()).replace(/\s+/g, " "),
      "Another message already has the name “Before the snow”. Choose another name, or remove it there first. Go to message",
    );
    await checkAccessibility(page, "a name that is taken");
    await page.getByRole("textbox", { name: "Name" }).fill("The sea");
    assert.ok(
      await page.getByRole("radio", { name: /Branch name/ }).isChecked(),
      "at its end it is the name of the branch",
    );
    await page.keyboard.press("Enter");
    await messageById(page, ids[3]).getByRole("button", { name: "The sea" }).waitFor();
    model.queueReply(["Ships."]);
    await sendMessage(page, "What do I see?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Ships.", "the reply came");
    await lastMessage(page).getByRole("button", { name: "The sea" }).waitFor();
    await messageById(page, ids[1]).getByRole("button", { name: "Before the snow" }).click();
    await page.getByRole("button", { name: "Remove the name “Before the snow”" }).click();
    await page.getByRole("list", { name: "Names of this message" }).waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    assert.equal(await messageById(page, ids[1]).locator(".place-name").count(), 0);
    await close();
  });
});

describe("the trash", () => {
  test("S0-20: a session deleted in another window says so and can be restored where it is open", async () => {
    const path = await createSession({ title: "Under the ice" });
    const { page, close } = await openSession(path, { expected: /Failed to load resource|WebSocket/ });
    await clotho.api("DELETE", path.replace("/s/", "/api/sessions/"));
    await page.getByText("“Under the ice” is in the trash.").waitFor();
    await page.getByText("It was deleted. It is kept until").waitFor();
    assert.equal(await page.getByText("Connection lost.").count(), 0);
    await checkAccessibility(page, "a story in the trash");
    await page.reload();
    await page.locator(".blank").getByRole("button", { name: "Restore" }).click();
    await waitForReply(page);
    await composer(page).waitFor();
    await clotho.api("DELETE", path.replace("/s/", "/api/sessions/"));
    await page.locator(".blank").getByRole("button", { name: "Trash" }).click();
    await page
      .getByRole("dialog", { name: "Trash" })
      .getByRole("article", { name: "Under the ice" })
      .getByRole("button", { name: "Restore" })
      .click();
    await page.keyboard.press("Escape");
    await waitForReply(page);
    model.queueReply(["Still here."]);
    await sendMessage(page, "Are you there?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Still here.", "the story goes on");
    await close();
  });

  test("S0-20: a deleted session and character are restored from the notice and from the trash; permanent deletion asks twice", async () => {
    const path = await createSession({ title: "Over the ice" });
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    const row = page.getByRole("link", { name: /Over the ice/ });
    const remove = async () => {
      await page.getByRole("button", { name: "Manage “Over the ice”" }).click();
      await page.locator(".menu:popover-open").getByRole("button", { name: "Delete story" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete story" }).click();
      await row.waitFor({ state: "detached" });
    };
    await remove();
    await page.getByText("“Over the ice” is in the trash.").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Restore" }).click();
    await row.waitFor();
    await remove();
    await page.getByRole("button", { name: "Trash" }).click();
    const dialog = page.getByRole("dialog", { name: "Trash" });
    const item = dialog.getByRole("article", { name: "Over the ice" }).first();
    await item.getByText(/kept until/).waitFor();
    await checkAccessibility(page, "the trash");
    await item.getByRole("button", { name: "Delete permanently" }).click();
    await item.getByRole("button", { name: "Cancel" }).click();
    await item.getByRole("button", { name: "Restore" }).click();
    await page.keyboard.press("Escape");
    await row.waitFor();
    assert.equal((await readSession(path)).title, "Over the ice");
    await remove();
    await page.getByRole("button", { name: "Trash" }).click();
    await item.getByRole("button", { name: "Delete permanently" }).click();
    await item.getByRole("button", { name: "Yes, delete permanently" }).click();
    await page.getByText("“Over the ice” is deleted permanently.").waitFor();
    await dialog.getByRole("article", { name: "Over the ice" }).waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    const { id } = await clotho.api("POST", "/api/characters", { name: "Old Tam", description: "A ferryman." });
    await page.reload();
    await page.getByRole("button", { name: "Manage “Old Tam”" }).click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "Delete character" }).click();
    await page.getByText("“Old Tam” is in the trash.").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Restore" }).click();
    await page.getByRole("button", { name: "Manage “Old Tam”" }).waitFor();
    assert.equal((await clotho.api("GET", `/api/characters/${id}`)).name, "Old Tam");
    await close();
  });
});
