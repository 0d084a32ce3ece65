// The page against the real server: what Undo takes back, where the keyboard is then, and what the page says of it.
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

describe("undo after moving", () => {
  test("S4-17 domain 2.15: right after going back it leads to where one was, redo goes back again, and no step is taken back by either", async () => {
    // The world of a message is read once more when the story comes back to it; where the message is taken back meanwhile it is gone.
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

  test("S4-17: several moves are taken back one by one, also those from version to version", async () => {
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
    await replyless(page, "To the north.");
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await headOf(path)) === ids[3], "one move");
    await page.getByText("Back to where you were.").waitFor();
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("Control+z");
    await waitUntil(async () => (await headOf(path)) === begin, "and the other");
    await close();
  });

  test("S4-17: keys that are quicker than the page lead the same way back", async () => {
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

  test("S4-17: the way back outlasts a reload and a look at another story, until somebody does a step", async () => {
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

  test("S4-17: the way back is there too for who loads the page anew before the server has answered", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    // The server does it; its answer never comes.
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

  test("S4-17: who moved and then did something takes that back, not the way there", async () => {
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

/** Waits until a message ends the line. */
const replyless = (page, text) =>
  waitUntil(async () => (await messageTexts(page)).at(-1) === text, `the line ends with “${text}”`);

describe("the keyboard after a deletion", () => {
  test("S4-17: it is at the message above, so that Ctrl+Z brings back what was deleted", async () => {
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

describe("the keyboard after many messages were marked", () => {
  test("S4-20 S4-17: it is at one of them, and Ctrl+Z takes the marks back, there and in the empty field", async () => {
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
    // Not the one of an earlier step, which takes back nothing later.
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

describe("words that undo gives back", () => {
  test("S4-17: of several messages that are taken back the field has the one that comes next, and redo leaves the next one's", async () => {
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

describe("what the page says", () => {
  test("S4-17: a newer word takes the place of the older one for good", async () => {
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

  test("S4-44 domain 2.15: what a notice offers is its own step, and nothing else once the story has gone on", async () => {
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

  test("S4-17 domain 2.16: where something was thrown away for good, undo says that it ends there", async () => {
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

  test("S4-17 S4-50: settings of the story are called by their names", async () => {
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

  test("S4-17: a copy that is taken back is not called a move", async () => {
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
