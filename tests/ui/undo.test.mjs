// Tests against the real server: what undo reverts, where the focus is afterwards, and the notices about it.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  browser,
  chatPath,
  chooseFromMessageMenu,
  chooseFromPageMenu,
  clotho,
  composer,
  focusedMessageId,
  seedBranch,
  lastMessage,
  messageById,
  model,
  createSession,
  openSession,
  openSeededBranch,
  waitForReply,
  sendMessage,
  readSession,
  messageTexts,
} from "./support/setup.mjs";

const headOf = async (path) => (await readSession(path)).activeLeafId;

describe("undo after moves of HEAD", () => {
  test("S4-17 domain 2.15: right after going back, undo returns and redo goes back again; neither reverts a step", async () => {
    // The state of a message is read again when the session returns to it. If the message is undone meanwhile, the
    // answer is 404.
    const { path, ids, page, close } = await openSeededBranch({
      expected: /404 \(Not Found\) \S+\/node\/[\w-]+\/world$/,
    });
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(async () => (await headOf(path)) === ids[1], "the story went back");
    await page.keyboard.press("Control+z");
    await page.getByText("Back to where you were.").waitFor();
    await waitUntil(async () => (await messageTexts(page)).length === 5, "the line is as long as it was");
    assert.equal(await headOf(path), ids[3]);
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("Control+y");
    await page.getByText("Moved there again.").waitFor();
    assert.equal(await headOf(path), ids[1]);
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click();
    await waitUntil(async () => (await headOf(path)) === ids[3], "the notice leads back too");
    assert.equal(
      (await clotho.api("GET", `${chatPath(path)}/branches`)).items.length,
      1,
      "every message stands where it stood",
    );
    await messageById(page, ids[3]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: a message.").waitFor();
    await waitUntil(async () => (await messageTexts(page)).length === 4, "then the newest step is next");
    await close();
  });

  test("S4-17: several moves are undone one by one, also those between versions", async () => {
    const { path, ids } = await seedBranch();
    const other = await clotho.api("POST", `${chatPath(path)}/node/${ids[1]}/edit`, {
      content: "Ice.",
      generate: false,
    });
    const { page, close } = await openSession(path);
    const begin = await headOf(path);
    assert.equal(begin, other.node.id);
    await lastMessage(page).locator("article").focus();
    await page.keyboard.press("Alt+ArrowLeft");
    await waitUntil(async () => (await headOf(path)) === ids[3], "the first version, and what followed it");
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(async () => (await headOf(path)) === ids[0], "the story went back");
    await waitForEnd(page, "To the north.");
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await headOf(path)) === ids[3], "one move");
    await page.getByText("Back to where you were.").waitFor();
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await headOf(path)) === begin, "and the other");
    await close();
  });

  test("S4-17: keys faster than the page undo the same moves", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    let open = () => {};
    const held = new Promise((resolve) => (open = resolve));
    await page.route("**/projection*", (route) => held.then(() => route.continue()));
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(
      async () => (await headOf(path)) === ids[1],
      "the story went back, and the page does not show it yet",
    );
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("b");
    open();
    await waitUntil(async () => (await headOf(path)) === ids[0], "it went back once more");
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await headOf(path)) === ids[1], "the second move is taken back");
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await headOf(path)) === ids[3], "then the first");
    await close();
  });

  test("S4-17: moves can be undone after a reload and a visit to another session, until anyone does a step", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    const goBack = async (id) => {
      await messageById(page, id).locator("article").focus();
      await page.keyboard.press("b");
      await waitUntil(async () => (await headOf(path)) === id, "the story went back");
    };
    const undo = async (id) => {
      await messageById(page, id).locator("article").focus();
      await page.keyboard.press("Control+z");
    };
    await goBack(ids[1]);
    await page.reload();
    await undo(ids[1]);
    await page.getByText("Back to where you were.").waitFor();
    assert.equal(await headOf(path), ids[3]);
    await page.goto(clotho.base + (await createSession()));
    await waitForReply(page);
    await page.goto(clotho.base + path);
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("Control+y");
    await waitUntil(async () => (await headOf(path)) === ids[1], "and forward again");
    await page.goto(clotho.base);
    await clotho.api("PUT", `${chatPath(path)}/node/${ids[0]}/state`, { isEnabled: false });
    await page.goto(clotho.base + path);
    await undo(ids[1]);
    await page.getByText("Undone: a message setting.").waitFor();
    assert.equal(await headOf(path), ids[1], "what was done since is next");
    await close();
  });

  test("S4-17: a move can be undone after a reload before the server has answered", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    // The server executes the request, and its answer never arrives.
    await page.route("**/active_leaf", (route) => void route.fetch(), { times: 1 });
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(async () => (await headOf(path)) === ids[1], "the story went back, and the page was never told");
    await page.reload();
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await page.getByText("Back to where you were.").waitFor();
    assert.equal(await headOf(path), ids[3]);
    await close();
  });

  test("S4-17: after a move and a step, undo reverts the step and not the move", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(async () => (await headOf(path)) === ids[1], "the story went back");
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("x");
    await page.locator(".message.disabled").waitFor();
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: a message setting.").waitFor();
    await page.locator(".message.disabled").waitFor({ state: "detached" });
    assert.equal(await headOf(path), ids[1], "the reader stands where they went");
    await close();
  });
});

/** Waits until a message is the end of the branch. */
const waitForEnd = (page, text) =>
  waitUntil(async () => (await messageTexts(page)).at(-1) === text, `the line ends with “${text}”`);

describe("focus after deleting", () => {
  test("S4-17: focus is on the message above, so that Ctrl+Z restores what was deleted", async () => {
    const { ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Delete, with everything after it");
    await waitUntil(async () => (await messageTexts(page)).length === 3, "it is gone");
    await waitUntil(async () => (await focusedMessageId(page)) === ids[1], "the keyboard is at the message above");
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await messageTexts(page)).length === 5, "it is back");
    await messageById(page, ids[3]).locator("article").focus();
    await page.keyboard.press("Delete");
    await waitUntil(async () => (await focusedMessageId(page)) === ids[2], "by a key as well");
    await close();
  });
});

describe("focus after marking many messages", () => {
  test("S4-20 S4-17: focus is on one of the messages, and Ctrl+Z reverts the marks, there and in the empty field", async () => {
    const { ids, page, close } = await openSeededBranch();
    const leaveOut = async () => {
      await chooseFromMessageMenu(page, messageById(page, ids[0]), "Select messages");
      await messageById(page, ids[1]).getByRole("checkbox").click();
      await page.locator(".peek").getByRole("button", { name: "Exclude from prompt" }).click();
      await waitUntil(async () => (await page.locator(".message.disabled").count()) === 2, "both are left out");
      await page.getByText("Applied to all of them.").waitFor();
      await waitUntil(async () => (await focusedMessageId(page)) === ids[1], "the keyboard is at the last of them");
    };
    const back = () =>
      waitUntil(async () => (await page.locator(".message.disabled").count()) === 0, "they are read again");
    await leaveOut();
    await page.keyboard.press("Control+z");
    await back();
    await leaveOut();
    await composer(page).focus();
    await page.keyboard.press("Control+z");
    await back();
    await page.keyboard.press("Control+y");
    await waitUntil(async () => (await page.locator(".message.disabled").count()) === 2, "redo from the field");
    // Not the notice of an earlier step, which would revert nothing later.
    await page.locator(".notice").filter({ hasText: "Redone" }).getByRole("button", { name: "Undo" }).click();
    await back();
    await leaveOut();
    await composer(page).pressSequentially("Wait");
    for (let i = 0; i < 4; i += 1) await page.keyboard.press("Backspace");
    await page.keyboard.press("Control+z");
    await waitUntil(
      async () => (await composer(page).inputValue()) !== "",
      "a field that was emptied by hand has its own words back",
    );
    assert.equal(await page.locator(".message.disabled").count(), 2, "and the story stays as it is");
    await close();
  });
});

describe("text that undo restores", () => {
  test("S4-17: after undoing several messages, the field has the text of the next one, and redo leaves that of the one after it", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    for (const [i, [asked, answer]] of [
      ["First?", "One."],
      ["Second?", "Two."],
      ["Third?", "Three."],
    ].entries()) {
      model.queueReply([answer]);
      await sendMessage(page, asked);
      await waitUntil(
        async () => (await messageTexts(page)).length === 3 + 2 * i && (await messageTexts(page)).at(-1) === answer,
        "the reply came",
      );
      // Until the reply is complete, Enter does not send.
      await waitForReply(page);
    }
    const undo = page.locator(".topbar").getByRole("button", { name: "Undo" });
    const redo = page.locator(".topbar").getByRole("button", { name: "Redo" });
    const field = (text) =>
      waitUntil(async () => (await composer(page).inputValue()) === text, `the field has “${text}”`);
    for (const text of ["Third?", "Second?", "First?"]) {
      await undo.click();
      await field(text);
    }
    await redo.click();
    await field("Second?");
    await redo.click();
    await field("Third?");
    await undo.click();
    await field("Second?");
    await composer(page).fill("My own words");
    await undo.click();
    await waitUntil(async () => (await messageTexts(page)).length === 1, "the first message is taken back");
    assert.equal(await composer(page).inputValue(), "My own words", "what the reader wrote stays");
    await close();
  });
});

describe("notices", () => {
  test("S4-17: a newer notice replaces an older one", async () => {
    const { ids, page, close } = await openSeededBranch({ permissions: ["clipboard-read", "clipboard-write"] });
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Delete, with everything after it");
    await page.getByText("Moved to the stash").waitFor();
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("c");
    await page.getByText("Copied.").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Close" }).click();
    await page.locator(".notice").waitFor({ state: "detached" });
    assert.equal(await page.getByText("Moved to the stash").count(), 0, "no older one comes up from below");
    await close();
  });

  test("S4-44 domain 2.15: the button of a notice undoes its own step only, and nothing after the session has changed", async () => {
    const { path, ids, page, close } = await openSeededBranch({ expected: /Failed to load resource/ });
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Delete, with everything after it");
    await page.getByText("Moved to the stash").waitFor();
    await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[1], content: "To the hills." });
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "To the hills.", "another window went on");
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click();
    await page.getByText("The story has changed since.").waitFor();
    assert.equal((await messageTexts(page)).at(-1), "To the hills.", "what was written since stays");
    assert.equal((await clotho.api("GET", `${chatPath(path)}/stash`)).items.length, 1, "and so does the deletion");
    await close();
  });

  test("S4-17 domain 2.16: after a purge, undo says that it ends there", async () => {
    const { path, ids } = await seedBranch();
    const { page, close } = await openPage(browser, { expected: /Failed to load resource/ });
    const answer = { error: { code: "nothing_to_undo", message: "nothing to undo", details: { reason: "purged" } } };
    await page.route("**/undo", (route) => route.fulfill({ status: 409, json: answer }));
    await page.goto(clotho.base + path);
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await page.getByText("Undo ends here. A permanent deletion cannot be undone.").waitFor();
    await close();
  });

  test("S4-17 S4-50: settings of the session are named when they are undone", async () => {
    const { path, page, close } = await openSeededBranch();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title: "Over the ice" });
    await page.locator(".topbar .title").getByText("Over the ice").waitFor();
    await chooseFromPageMenu(page, "Show one branch only");
    await page.getByText("Only one branch is shown. The others are kept.").waitFor();
    const press = (name) => page.locator(".topbar").getByRole("button", { name }).click();
    await press("Undo");
    await page.getByText("Undone: showing one branch only.").waitFor();
    await waitUntil(async () => (await readSession(path)).mode === "tree", "all timelines are there");
    await press("Undo");
    await page.getByText("Undone: a new title.").waitFor();
    await press("Redo");
    await page.getByText("Redone: a new title.").waitFor();
    await press("Redo");
    await page.getByText("Redone: showing one branch only.").waitFor();
    await waitUntil(async () => (await readSession(path)).mode === "linear", "one line again");
    await close();
  });

  test("S4-17: undoing a copy is not called a move", async () => {
    const { path, ids } = await seedBranch();
    await clotho.api("PUT", `${chatPath(path)}/tree/edit`, {
      operations: [{ op: "graft", nodeId: ids[2], targetId: ids[0], mode: "copy" }],
    });
    const { page, close } = await openSession(path);
    await page.locator(".topbar").getByRole("button", { name: "Undo" }).click();
    await page.getByText("Undone: a copy or move.").waitFor();
    await close();
  });
});
