// Tests against the real server: fragments in the stash, their origins and targets.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import {
  chatPath,
  checkAccessibility,
  chooseFromMessageMenu,
  chooseFromPageMenu,
  clotho,
  composer,
  seedBranch,
  messageById,
  openSession,
  openSeededBranch,
  readSession,
  messageTexts,
} from "./support/setup.mjs";

describe("restoring from the stash", () => {
  test("S4-19: restoring or placing a fragment leads there, also when the session has continued elsewhere", async () => {
    const { path, ids } = await seedBranch();
    await clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations: [{ op: "prune", nodeId: ids[2] }] });
    await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[1], content: "To the hills." });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Stash");
    await page.getByRole("button", { name: "Put back in place" }).click();
    await page.getByText("Put back in place.").waitFor();
    assert.equal((await messageTexts(page)).at(-1), "To the hills.", "the story stays where it is");
    await page.locator(".notice").getByRole("button", { name: "Go to message" }).click();
    await waitUntil(
      async () => (await messageTexts(page)).at(-1) === "Masts in the dusk.",
      "the line is the one that came back",
    );
    assert.equal((await readSession(path)).activeLeafId, ids[3], "the story goes on at its end");
    await chooseFromMessageMenu(page, messageById(page, ids[3]), "Move, with everything after it");
    await messageById(page, ids[0]).getByRole("button", { name: "Place below this message" }).click();
    await page.getByText("Moved, with everything after it.").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Go to message" }).click();
    await waitUntil(
      async () => (await messageTexts(page)).slice(1).join("|") === "To the north.|Masts in the dusk.",
      "it is on screen",
    );
    await close();
  });

  test("S4-18: a fragment that cannot be restored says why", async () => {
    const { path, ids } = await seedBranch();
    const prune = (nodeId) =>
      clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations: [{ op: "prune", nodeId }] });
    await prune(ids[3]);
    await prune(ids[2]);
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Stash");
    const dialog = page.getByRole("dialog", { name: "Stash" });
    const masts = dialog.getByRole("article", { name: "Masts in the dusk." });
    await masts.getByText("The message before it is not in the story now.").waitFor();
    assert.equal(await masts.getByRole("button", { name: "Put back in place" }).count(), 0);
    await checkAccessibility(page, "a fragment that cannot go back");
    await dialog
      .getByRole("article", { name: "To the harbour." })
      .getByRole("button", { name: "Put back in place" })
      .click();
    await dialog.waitFor({ state: "detached" });
    await chooseFromPageMenu(page, "Stash");
    await masts.getByRole("button", { name: "Put back in place" }).click();
    await waitUntil(
      async () =>
        (await messageTexts(page)).length === 5 ||
        (await clotho.api("GET", `${chatPath(path)}/stash`)).items.length === 0,
      "both are back",
    );
    await close();
  });
});

describe("the content of the stash", () => {
  test("S4-18: a text of several lines has an ellipsis after the first, a text of one line has none", async () => {
    const { path, ids } = await seedBranch("Masts in the dusk.\n\nA bell.");
    const prune = (nodeId) =>
      clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations: [{ op: "prune", nodeId }] });
    await prune(ids[3]);
    await prune(ids[2]);
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Stash");
    await page.locator(".fragment h3").first().waitFor();
    assert.deepEqual(await page.locator(".fragment h3").allInnerTexts(), ["To the harbour.", "Masts in the dusk. …"]);
    await close();
  });
});

describe("searching", () => {
  test("S4-55: without words, the filters list all matches, newest first", async () => {
    const { path, ids } = await seedBranch("Indigo masts.");
    for (const [id, rating] of [
      [ids[1], 5],
      [ids[3], 4],
    ])
      await clotho.api("PUT", `${chatPath(path)}/node/${id}/state`, { rating });
    await waitUntil(
      async () => (await clotho.api("GET", "/api/search?q=indigo")).items.length === 1,
      "the index has it",
    );
    const { page, close } = await openSession(path);
    await composer(page).waitFor();
    await page.keyboard.press("Control+k");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Search all branches of all stories.").waitFor();
    await dialog.getByRole("button", { name: "Only this story" }).click();
    await waitUntil(async () => (await page.getByRole("option").count()) === 5, "all of this story");
    await dialog.getByRole("button", { name: "4 stars or more" }).click();
    await waitUntil(async () => (await page.getByRole("option").count()) === 2, "two have stars");
    assert.deepEqual(await page.getByRole("option").locator(":scope > span").allInnerTexts(), [
      "Indigo masts.",
      "Snow.",
    ]);
    await checkAccessibility(page, "a search without words");
    await close();
  });

  test("S1-14 S4-55: a search is limited to ratings, to a place in the tree and to one session", async () => {
    const { path, ids } = await seedBranch("Cinnabar masts.");
    await clotho.api("PUT", `${chatPath(path)}/node/${ids[3]}/state`, { rating: 4 });
    await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[1], content: "Cinnabar hills." });
    const other = await seedBranch("Cinnabar elsewhere.");
    await waitUntil(
      async () => (await clotho.api("GET", "/api/search?q=cinnabar")).items.length === 3,
      "the index has them",
    );
    const { page, close } = await openSession(path);
    await composer(page).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search all stories" }).fill("cinnabar");
    const found = (n) =>
      waitUntil(
        async () =>
          (await page
            .getByRole("option")
            .filter({ hasText: /cinnabar/i })
            .count()) === n,
        `${n} were found`,
      );
    await found(3);
    const press = (name) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
    await press("4 stars or more");
    await found(1);
    await page.getByRole("option").filter({ hasText: "Cinnabar masts." }).waitFor();
    await checkAccessibility(page, "a narrowed search");
    await press("5 stars or more");
    await page.getByText("Nothing found.").waitFor();
    await press("5 stars, press to remove");
    await press("Only this story");
    await found(2);
    await press("Current branch");
    await found(1);
    await page.getByRole("option").filter({ hasText: "Cinnabar hills." }).waitFor();
    await page.goto(clotho.base + other.path);
    await composer(page).waitFor();
    await page.keyboard.press("Control+k");
    assert.equal(
      await page.getByRole("button", { name: "Only this story" }).getAttribute("aria-pressed"),
      "false",
      "the next search begins anew",
    );
    await close();
  });
});

describe("purging", () => {
  const search = async (word) => (await clotho.api("GET", `/api/search?q=${word}`)).items.length;

  test("S4-18 domain 2.16: a fragment is purged from the stash: losses and remaining copies are listed, confirmation is twice, and undo is impossible", async () => {
    const { path, ids, page, close } = await openSeededBranch(
      { expected: /Failed to load resource/ },
      "Vermilion masts.",
    );
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Delete, with everything after it");
    await waitUntil(async () => (await messageTexts(page)).length === 3, "it is gone");
    await chooseFromPageMenu(page, "Stash");
    const dialog = page.getByRole("dialog", { name: "Stash" });
    const fragment = dialog.getByRole("article", { name: "To the harbour." });
    const ask = () => fragment.locator(".actions").first().getByRole("button", { name: "Delete permanently" }).click();
    await ask();
    const question = fragment.getByRole("group", { name: "Delete permanently" });
    await question.getByText("2 messages will be deleted").waitFor();
    await question.getByText("Not deleted: backups").waitFor();
    await checkAccessibility(page, "the question");
    const button = question.getByRole("button", { name: "Delete permanently" });
    assert.ok(await button.isDisabled(), "one click is not enough");
    await question.getByRole("button", { name: "Cancel" }).click();
    assert.equal((await clotho.api("GET", `${chatPath(path)}/stash`)).items.length, 1);
    await ask();
    await question.getByRole("checkbox", { name: "Yes, delete permanently." }).check();
    await button.click();
    await page.getByText("Deleted permanently.").waitFor();
    await dialog.getByText("The stash is empty.").waitFor();
    await page.keyboard.press("Escape");
    await waitUntil(async () => (await search("vermilion")) === 0, "the search has forgotten it");
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await page
      .locator(".notice")
      .getByText(/undone|nothing/i)
      .waitFor();
    assert.equal((await messageTexts(page)).length, 3, "undo does not bring it back");
    await close();
  });

  test("S4-17 domain 2.16: a message is purged from its menu; the purge is refused if the session changed since the question", async () => {
    const { path, ids } = await seedBranch();
    await clotho.api("POST", `${chatPath(path)}/node/${ids[3]}/edit`, { content: "No masts." });
    const { page, close } = await openSession(path, { expected: /Failed to load resource/ });
    const question = page.getByRole("dialog", { name: "Delete permanently" });
    const mean = async () => {
      await question.getByText("3 messages will be deleted").waitFor();
      await question.getByText("2 branches end in them.").waitFor();
      await question.getByRole("checkbox").check();
    };
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Delete permanently");
    await mean();
    await checkAccessibility(page, "the question");
    await clotho.api("PUT", `${chatPath(path)}/node/${ids[0]}/state`, { rating: 1 });
    await question.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByRole("alert").waitFor();
    await waitUntil(async () => !(await question.getByRole("checkbox").isChecked()), "the question is asked anew");
    assert.equal((await messageTexts(page)).length, 5, "nothing has gone");
    await mean();
    await question.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByText("Deleted permanently.").waitFor();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "the line ends above it");
    assert.equal((await clotho.api("GET", `${chatPath(path)}/stash`)).items.length, 0);
    assert.equal((await readSession(path)).activeLeafId, ids[1]);
    await close();
  });
});
