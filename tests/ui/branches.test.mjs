// Tests against the real server: listing, naming and comparing branches, and other ways to request a reply.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import {
  HP,
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
  messageById,
  model,
  createSession,
  openSession,
  openSeededBranch,
  extraServers,
  sendMessage,
  readSession,
  messageTexts,
  messageButton,
  clickMessageButton,
} from "./support/setup.mjs";

describe("branches", () => {
  /** Creates a session with a second branch from its first reply. */
  async function forked() {
    const { path, ids } = await seedBranch();
    const other = await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[1], content: "To the hills." });
    return { path, ids, other: other.node.id };
  }

  test("S0-41 S4-09: every branch is listed by its label or newest text; a label is set and renamed, and HEAD moves to the branch", async () => {
    const { path, ids, other } = await forked();
    await clotho.api("PUT", `${chatPath(path)}/tree/edit`, {
      operations: [{ op: "label", nodeId: ids[3], name: "The sea", following: true }],
    });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Branches");
    const dialog = page.getByRole("dialog", { name: "Branches" });
    await dialog.getByRole("article", { name: "To the hills." }).getByText("current").waitFor();
    const sea = dialog.getByRole("article", { name: "The sea" });
    await sea.getByText("Masts in the dusk.").waitFor();
    await checkAccessibility(page, "branches");
    await sea.getByRole("button", { name: "The sea" }).click();
    await page.getByRole("button", { name: "Rename “The sea”" }).click();
    await page.getByRole("textbox", { name: "Rename “The sea”" }).fill("The harbour");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Rename “The harbour”" }).waitFor();
    await page.keyboard.press("Escape");
    await chooseFromPageMenu(page, "Branches");
    await dialog
      .getByRole("article", { name: "The harbour" })
      .getByRole("button", { name: "Switch to this branch" })
      .click();
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[3], "HEAD is there");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Masts in the dusk.", "and the page shows it");
    await messageById(page, ids[3]).getByRole("button", { name: "The harbour" }).waitFor();
    assert.notEqual(other, ids[3]);
    await close();
  });

  test("S4-09: a long newest text is cut with an ellipsis, a short one is not", async () => {
    const long = `The ferry ${"sways and ".repeat(30)}lands.`;
    const { page, close } = await openSeededBranch({}, long);
    await chooseFromPageMenu(page, "Branches");
    const name = await page.getByRole("dialog", { name: "Branches" }).locator(".branch h3").innerText();
    assert.match(name, /^The ferry sways and .* (sways|and)…$/);
    assert.ok(name.length <= 121);
    await page.keyboard.press("Escape");
    await chooseFromMessageMenu(page, lastMessage(page), "Move, with everything after it");
    assert.match(await page.locator(".peek q").innerText(), /^The ferry .*…$/);
    await page.keyboard.press("Escape");
    await chooseFromMessageMenu(page, lastMessage(page), "Delete, with everything after it");
    await chooseFromPageMenu(page, "Branches");
    assert.equal(await page.locator(".branch h3").innerText(), "To the harbour.");
    await page.keyboard.press("Escape");
    await chooseFromPageMenu(page, "Stash");
    assert.match(await page.locator(".fragment h3").innerText(), /^The ferry .*…$/);
    await close();
  });

  test("S4-09: branches with the same beginning are numbered and show their fork, length and age", async () => {
    const { path, ids } = await forked();
    for (const below of [ids[0], ids[1]]) {
      const { node } = await clotho.api("POST", `${chatPath(path)}/message`, { parentId: below, content: "I wait." });
      await clotho.api("POST", `${chatPath(path)}/message`, {
        parentId: node.id,
        role: "assistant",
        content: "Masts in the dusk.",
      });
    }
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Branches");
    const dialog = page.getByRole("dialog", { name: "Branches" });
    const row = (name) => dialog.getByRole("article", { name, exact: true });
    await row("Masts in the dusk.").getByText("current", { exact: true }).waitFor();
    await row("Masts in the dusk. (2)").getByText("branched off after “To the north.”").waitFor();
    await row("Masts in the dusk. (3)").getByText("branched off after “Snow.”").waitFor();
    await row("To the hills.").getByText("branched off after “Snow.”").waitFor();
    await row("Masts in the dusk. (2)").getByText("2 turns").waitFor();
    await checkAccessibility(page, "branches that begin alike");
    await dialog.getByRole("checkbox", { name: "Compare “Masts in the dusk.”", exact: true }).check();
    await dialog.getByRole("checkbox", { name: "Compare “Masts in the dusk. (3)”" }).check();
    await dialog.getByRole("button", { name: "Compare", exact: true }).click();
    const comparison = page.getByRole("dialog", { name: "Compare" });
    await comparison.getByText("branched off after “Snow.”").waitFor();
    await comparison.getByRole("region", { name: "Branch 2" }).getByText("2 messages").waitFor();
    await comparison.getByRole("button", { name: "Merge" }).click();
    const merging = page.getByRole("dialog", { name: "Merge" });
    await merging.getByText("branched off after “Snow.”").waitFor();
    const offered = await merging.getByRole("combobox", { name: "From" }).locator("option").allInnerTexts();
    assert.deepEqual(
      offered.map((text) => text.replace(/\d\d:\d\d/, "TIME")),
      ["1. You, TIME: To the harbour.", "2. Rin, TIME: Masts in the dusk."],
    );
    await close();
  });

  test("S4-06: two branches are selected and compared side by side from their fork", async () => {
    const { path, ids } = await forked();
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Branches");
    const pick = (name) => page.getByRole("checkbox", { name: `Compare “${name}”` });
    await pick("To the hills.").check();
    assert.ok(await page.getByRole("button", { name: "Compare", exact: true }).isDisabled());
    await pick("Masts in the dusk.").check();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    const side = (n) => page.getByRole("region", { name: `Branch ${n}` });
    await side(1).getByText("To the hills.").waitFor();
    assert.deepEqual(await side(1).locator(".contents p").allInnerTexts(), ["To the hills."]);
    assert.deepEqual(await side(2).locator(".contents p").allInnerTexts(), ["To the harbour.", "Masts in the dusk."]);
    await page.getByText("The states are the same.").waitFor();
    await checkAccessibility(page, "a comparison");
    await side(2).getByRole("button", { name: "Switch to this branch" }).click();
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[3], "HEAD is there");
    await close();
  });

  test("S4-06: differences of the state use the names from the schema, also for a branch that is only viewed", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const path = new URL(page.url()).pathname;
    const hurt = (await readSession(path)).activeLeafId;
    await page.locator(".message").first().locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(async () => (await readSession(path)).activeLeafId !== hurt, "the story went back");
    await page.goto(`${clotho.base}${path}/${hurt}`);
    await page.getByText("You are viewing another branch.").waitFor();
    await page.locator(".peek").getByRole("button", { name: "Compare" }).click();
    const row = page.getByRole("row", { name: /Hit points/ });
    await row.waitFor();
    assert.equal(await row.getByRole("cell").first().innerText(), "20");
    assert.match(await row.getByRole("cell").nth(2).innerText(), /^changed −\d+$/);
    assert.equal(await row.getByRole("rowheader").getAttribute("title"), HP);
    await close();
  });

  test("S4-06: a value that exists on one branch only has its name and is marked as added or removed", async () => {
    const { path, ids } = await seedBranch();
    await clotho.api("POST", `${chatPath(path)}/node/${ids[3]}/world`, {
      operations: [{ op: "set", path: "/oldLamp/oilLeft", value: 3 }],
    });
    const lit = (await readSession(path)).activeLeafId;
    const { node } = await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: ids[1],
      content: "To the hills.",
    });
    const { page, close } = await openPage(browser);
    const compare = async (from) => {
      await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: from, exact: true });
      await page.goto(`${clotho.base}${path}/${from === lit ? node.id : lit}`);
      await page.locator(".peek").getByRole("button", { name: "Compare" }).click();
      const row = page.getByRole("row", { name: /Old lamp/ });
      await row.waitFor();
      return [
        await row.getByRole("rowheader").getAttribute("title"),
        ...(await row.getByRole("cell").allInnerTexts()).slice(0, 3),
      ];
    };
    const [path1, ...removed] = await compare(lit);
    assert.match(path1, /^\/oldLamp/);
    assert.deepEqual(removed.slice(1), ["missing", "removed"]);
    const [, ...added] = await compare(node.id);
    assert.deepEqual([added[0], added[2]], ["missing", "added"]);
    await checkAccessibility(page, "a comparison of worlds");
    await close();
  });
});

describe("Git terms", () => {
  test("S4-60: the command list finds checkout, branch, cherry-pick and other Git terms, and a page explains them", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    const finds = async (word, from, name) => {
      await messageById(page, from).locator("article").focus();
      await page.keyboard.press("Control+Shift+p");
      await page.getByRole("combobox").fill(`>${word}`);
      await page.getByRole("option").locator("span").getByText(name, { exact: true }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await finds("checkout", ids[1], "Rewind to here");
    await finds("checkout", ids[3], "Branches");
    await finds("branch", ids[3], "Bookmark (checkpoint)");
    await finds("cherry-pick", ids[3], "Move, with everything after it");
    await finds("cherry-pick", ids[3], "Copy, with everything after it");
    await finds("squash", ids[3], "Summarise up to here");
    await finds("stash", ids[3], "Delete, with everything after it");
    await finds("revert", ids[3], "Undo");
    for (const word of ["commit", "merge", "rebase", "tag", "blame"]) await finds(word, ids[3], "Git terms");
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("Control+Shift+p");
    await page.getByRole("combobox").fill(">checkout");
    await page.getByRole("option", { name: /Rewind to here/ }).click();
    await waitUntil(
      async () => (await readSession(path)).activeLeafId === ids[1],
      "it is done with the message that had the keyboard",
    );
    await waitUntil(async () => (await messageTexts(page)).length === 3, "the page has arrived there");
    await page.keyboard.press("Control+Shift+p");
    await page.getByRole("combobox").fill(">git");
    await page.getByRole("option", { name: "Git terms" }).click();
    await page
      .getByRole("row", { name: /cherry-pick, rebase/ })
      .getByText("Move, with everything after it")
      .waitFor();
    await checkAccessibility(page, "the words of Git");
    await close();
  });
});

describe("other ways to request a reply", () => {
  test("domain 5.8: continuing a reply creates a new one that begins with its text; the first one stays", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    model.queueReply(["The sea is"]);
    await sendMessage(page, "Where is the sea?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "The sea is", "the reply came");
    model.queueReply([" far away."]);
    await chooseFromMessageMenu(page, lastMessage(page), "Continue");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "The sea is far away.", "it goes on");
    await lastMessage(page).getByText("2/2").waitFor();
    await lastMessage(page).locator("article").focus();
    await page.keyboard.press("Alt+ArrowLeft");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "The sea is", "the first one stays");
    await close();
  });

  test("S2-16 domain 5.8: another model writes one reply, and the session keeps its own model", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    model.queueReply(["North."]);
    await sendMessage(page, "Where to?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "North.", "the reply came");
    await chooseFromMessageMenu(page, lastMessage(page), "Reply from another model");
    await page.getByRole("combobox", { name: "Model" }).selectOption("locked/m");
    await page.getByRole("dialog").getByRole("button", { name: "Regenerate" }).click();
    await lastMessage(page).getByText("The model server refused the request.").waitFor();
    assert.equal((await readSession(path)).model, "mock/m");
    await messageButton(lastMessage(page), "Previous swipe").click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "North.", "the first one is there");
    assert.notEqual(await focusedMessageId(page), null);
    await composer(page).waitFor();
    await clickMessageButton(lastMessage(page), "Copy");
    await close();
  });

  test("domain 5.8: a model drafts the next message into the field; stopping keeps the text and sends nothing", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    const held = model.queueHeldReply(["I walk ", "to the ", "sea."]);
    await page.getByRole("button", { name: "Impersonate" }).click();
    held.next();
    await waitUntil(async () => (await composer(page).inputValue()) === "I walk ", "the first words are in the field");
    held.next();
    await waitUntil(async () => (await composer(page).inputValue()) === "I walk to the ", "and more of them");
    await page.getByRole("button", { name: "Stop impersonating" }).click();
    await page.getByRole("button", { name: "Send" }).waitFor();
    assert.equal(await composer(page).inputValue(), "I walk to the ");
    held.open();
    await composer(page).fill("");
    model.queueReply(["I wait."]);
    await composer(page).press("Control+j");
    await waitUntil(async () => (await composer(page).inputValue()) === "I wait.", "a whole one");
    await page.getByRole("button", { name: "Send" }).waitFor();
    assert.equal((await messageTexts(page)).length, 1, "nothing was sent");
    await checkAccessibility(page, "a draft");
    await composer(page).fill("");
    const other = model.queueHeldReply(["Never ", "mind."]);
    await composer(page).press("Control+j");
    other.next();
    await waitUntil(async () => (await composer(page).inputValue()) === "Never ", "it begins");
    await composer(page).fill("My own words");
    other.open();
    await page.getByRole("button", { name: "Stop impersonating" }).waitFor({ state: "detached" });
    assert.equal(await composer(page).inputValue(), "My own words", "who writes has taken it over");
    await close();
  });

  test("domain 5.2: a reply that finishes while the user is elsewhere moves nothing and is marked as unread", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    const held = model.queueHeldReply(["A ship."]);
    await sendMessage(page, "What comes?");
    await waitUntil(async () => model.requests.length === 1, "it is being written");
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "the reader has gone back");
    held.open();
    await page.getByText("A reply was finished on another branch.").waitFor();
    assert.equal((await readSession(path)).activeLeafId, ids[1], "the story has not moved");
    await page.reload();
    await page.getByText("A reply was finished on another branch.").waitFor();
    await waitUntil(async () => (await page.title()).startsWith("(1) "), "the title says so too");
    await checkAccessibility(page, "an unread reply");
    await page.locator(".unread").getByRole("button", { name: "Show" }).click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "A ship.", "it is shown");
    await page.locator(".unread").waitFor({ state: "detached" });
    await waitUntil(async () => !(await page.title()).startsWith("("), "nothing waits any more");
    await close();
  });

  test("S4-07: a queued reply shows its position and is generated in its turn", async () => {
    const server = await startClotho(`
[limits]
generations_per_user = 1

[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["m"]
`);
    extraServers.push(server);
    const character = await server.api("POST", "/api/characters", {
      name: "Rin",
      description: "A cartographer.",
      firstMessage: "The map is not finished.",
    });
    const paths = [];
    for (let i = 0; i < 2; i += 1) {
      const { id } = await server.api("POST", "/api/sessions", {
        characterIds: [character.id],
        model: "mock/m",
        plugins: [],
      });
      paths.push(`/s/${id}`);
    }
    const { page, close } = await openPage(browser);
    const other = await page.context().newPage();
    await page.goto(server.base + paths[0]);
    await other.goto(server.base + paths[1]);
    const held = model.queueHeldReply(["First."]);
    await sendMessage(page, "One?");
    await waitUntil(async () => model.requests.length === 1, "the first is being written");
    await sendMessage(other, "Two?");
    await lastMessage(other).getByText("In the queue, place 1").waitFor();
    model.queueReply(["Second."]);
    held.open();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "First.", "the first is done");
    await waitUntil(async () => (await messageTexts(other)).at(-1) === "Second.", "and the other one had its turn");
    await close();
  });
});
