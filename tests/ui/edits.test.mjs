// Tests against the real server: copies, summaries, merges, edits of many messages, and the history of values.
import assert from "node:assert/strict";
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
  readBranch,
  messageById,
  model,
  createSession,
  openSession,
  openSeededBranch,
  sendMessage,
  readSession,
  messageTexts,
  messageButton,
} from "./support/setup.mjs";

const nodeOf = (path, id) => clotho.api("GET", `${chatPath(path)}/node/${id}`);
const edit = (path, ...operations) => clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations });
const set = (path, id, at, value) =>
  clotho.api("POST", `${chatPath(path)}/node/${id}/world`, { operations: [{ op: "set", path: at, value }] });
const write = async (path, parentId, content, role = "user") =>
  (await clotho.api("POST", `${chatPath(path)}/message`, { parentId, role, content })).node.id;

describe("copies", () => {
  test("domain 2.10: a message with its descendants is copied within the session; the original stays, and the copy is marked", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[2]), "Copy, with everything after it");
    await page.getByText("Choose the message to place the copy below:").waitFor();
    await checkAccessibility(page, "a place for a copy");
    await messageById(page, ids[0]).getByRole("button", { name: "Place below this message" }).click();
    await page.getByText("Copied, with everything after it.").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Go to message" }).click();
    await waitUntil(
      async () => (await messageTexts(page)).join("|").endsWith("To the north.|To the harbour.|Masts in the dusk."),
      "the copy is read",
    );
    const copied = (await readBranch(path)).find((node) => node.content === "To the harbour.");
    assert.equal(copied.parentId, ids[0]);
    assert.equal(copied.metadata.provenance.nodeId, ids[2]);
    assert.equal((await nodeOf(path, ids[2])).parentId, ids[1], "the original stays");
    assert.equal(await page.getByText("Copied from elsewhere in this story.").count(), 1, "it is said once");
    await checkAccessibility(page, "a copy");
    await messageById(page, copied.id).getByRole("button", { name: "Show the original" }).click();
    await page.getByText("You are viewing another branch.").waitFor();
    await messageById(page, ids[2]).waitFor();
    await close();
  });

  test("domain 2.10: a fragment is copied into another session by keys, and the effect on its state is reported", async () => {
    const { path, ids } = await seedBranch();
    await set(path, ids[3], "/lamp", "lit");
    await edit(path, { op: "prune", nodeId: ids[2] });
    const other = await createSession({ title: "Over the ice" });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Stash");
    await page
      .getByRole("dialog", { name: "Stash" })
      .getByRole("button", { name: "Put a copy below a message…" })
      .click();
    await page.getByText("Choose the message to place the copy below:").waitFor();
    await page.getByRole("button", { name: "In another story…" }).click();
    const dialog = page.getByRole("dialog", { name: "In another story…" });
    await dialog.getByRole("article", { name: "Over the ice" }).waitFor();
    await checkAccessibility(page, "the other stories");
    await dialog.getByRole("article", { name: "Over the ice" }).getByRole("button", { name: "Choose" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(clotho.base + other);
    await page.getByText("Choose the message to place the copy below:").waitFor();
    await page.locator(".message.last article").focus();
    await page.keyboard.press("p");
    await page.getByText("Copied, with everything after it.").waitFor();
    await page.locator(".notice").getByRole("button", { name: "Go to message" }).click();
    await waitUntil(
      async () =>
        (await messageTexts(page)).join("|") === "The map is not finished.|To the harbour.|Masts in the dusk.",
      "it is read there",
    );
    const there = await readBranch(other);
    assert.equal(there[1].metadata.provenance.nodeId, ids[2]);
    await page.getByText("Copied from another story.").waitFor();
    assert.equal((await clotho.api("GET", `${chatPath(path)}/stash`)).items.length, 1, "the piece stays in the stash");
    const head = (await readSession(other)).activeLeafId;
    assert.equal((await clotho.api("GET", `${chatPath(other)}/node/${head}/world`)).world.vars.lamp, "lit");
    await close();
  });
});

describe("copies between sessions with other plugins", () => {
  test("domain 2.10: values that the plugins of the target session do not accept are named", async () => {
    const { path, ids } = await seedBranch();
    await set(path, ids[3], "/keep", { hp: "many" });
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const there = new URL(page.url()).pathname;
    await page.goto(clotho.base + path);
    await chooseFromMessageMenu(page, messageById(page, ids[3]), "Copy, with everything after it");
    await page.getByRole("button", { name: "In another story…" }).click();
    await page
      .getByRole("dialog", { name: "In another story…" })
      .getByRole("article", { name: "The Lantern Keep" })
      .first()
      .getByRole("button", { name: "Choose" })
      .click();
    await page.waitForURL(clotho.base + there);
    await page.locator("[data-path='/keep/hp']").waitFor();
    await page.locator(".message.last article").focus();
    await page.keyboard.press("p");
    await page
      .locator(".notice")
      .getByText(/The plugins of this story rejected one of its state changes:/)
      .waitFor();
    await close();
  });
});

describe("summaries", () => {
  test("S4-23 S4-30: a model drafts a summary, the user edits and accepts it; it links to the originals, and one undo removes it", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await chooseFromMessageMenu(page, messageById(page, ids[1]), "Summarise up to here");
    const dialog = page.getByRole("dialog", { name: "Summarise" });
    await dialog.getByRole("combobox", { name: "From" }).selectOption(ids[0]);
    await dialog.getByText("2 messages").waitFor();
    const held = model.queueHeldReply(["They went ", "north."]);
    await dialog.getByRole("button", { name: "Generate summary" }).click();
    held.next();
    const field = dialog.getByRole("textbox", { name: "Summary" });
    await waitUntil(async () => (await field.inputValue()) === "They went ", "the first words are in the field");
    held.open();
    await dialog.getByRole("button", { name: "Generate summary" }).waitFor();
    assert.equal(await field.inputValue(), "They went north.");
    await checkAccessibility(page, "a summary");
    await field.fill("They went north, into the snow.");
    await dialog.getByRole("button", { name: "Save summary" }).click();
    await page.getByText("The summary is saved.").waitFor();
    const summary = (await readBranch(path)).find((node) => node.kind === "summary");
    assert.deepEqual(summary.metadata.summarizedFrom, ids.slice(0, 2));
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await nodeOf(path, id)).isEnabled)), [
      false,
      false,
      true,
      true,
    ]);
    const shown = messageById(page, summary.id);
    await shown.getByText("It summarises 2 messages above it.").waitFor();
    await checkAccessibility(page, "a summary in its place");
    model.queueReply(["Far."]);
    await sendMessage(page, "How far?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Far.", "the reply came");
    const sent = JSON.stringify(model.requests.at(-1).messages);
    assert.match(sent, /They went north, into the snow/);
    assert.doesNotMatch(sent, /To the north\./);
    await shown.getByRole("button", { name: "Show the original" }).click();
    await waitUntil(
      async () => page.evaluate((id) => document.activeElement?.getAttribute("data-node") === id, ids[0]),
      "the first original has the keyboard, and is folded away no longer",
    );
    await page.locator(".topbar").getByRole("button", { name: "Undo" }).click();
    await waitUntil(
      async () => (await messageTexts(page)).at(-1) === "Masts in the dusk.",
      "the message is taken back",
    );
    await page.locator(".topbar").getByRole("button", { name: "Undo" }).click();
    await waitUntil(async () => (await page.locator(".message.disabled").count()) === 0, "and the summary in one step");
    await waitUntil(async () => (await page.locator(".message.summary").count()) === 0, "it is gone");
    await close();
  });
});

describe("folded summaries", () => {
  test("S4-23 domain 2.12: a summary folds its messages into one line that opens, by keys and for screen readers; search finds inside it; the next summary folds the first", async () => {
    const { path, ids } = await seedBranch();
    const {
      nodeIds: [summary],
    } = await edit(path, { op: "summarise", nodeIds: ids.slice(0, 2), content: "They went north." });
    const { page, close } = await openSession(path);
    const fold = (n) => page.getByRole("button", { name: `${n} messages, summarised` });
    const shown = (...wanted) =>
      waitUntil(
        async () => (await messageTexts(page)).slice(1).join("|") === wanted.join("|"),
        `the line is ${wanted.join("|")}`,
      );
    await fold(2).waitFor();
    await shown("They went north.", "To the harbour.", "Masts in the dusk.");
    assert.equal(await fold(2).getAttribute("aria-expanded"), "false");
    await checkAccessibility(page, "a folded run");
    await messageById(page, summary).locator("article").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await shown("To the north.", "Snow.", "They went north.", "To the harbour.", "Masts in the dusk.");
    assert.equal(await fold(2).getAttribute("aria-expanded"), "true");
    await checkAccessibility(page, "an open run");
    await page.keyboard.press("ArrowDown");
    await waitUntil(async () => (await focusedMessageId(page)) === ids[0], "the keyboard goes into it");
    await page.keyboard.press("x");
    await messageById(page, ids[0]).locator(".left-out").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "One message, summarised" }).click();
    await shown("To the north.", "They went north.", "To the harbour.", "Masts in the dusk.");
    await page.locator(".topbar").getByRole("button", { name: "Undo" }).click();
    await fold(2).waitFor();
    await shown("They went north.", "To the harbour.", "Masts in the dusk.");
    await page.goto(`${clotho.base}${path}/${ids[1]}`);
    await waitUntil(async () => (await focusedMessageId(page)) === ids[1], "a link leads into it");
    await page.goto(clotho.base + path);
    await edit(path, { op: "summarise", nodeIds: [summary, ids[2]], content: "North, then to the harbour." });
    await fold(4).waitFor();
    await shown("North, then to the harbour.", "Masts in the dusk.");
    await fold(4).click();
    await shown("They went north.", "To the harbour.", "North, then to the harbour.", "Masts in the dusk.");
    assert.equal(await fold(2).getAttribute("aria-expanded"), "false", "the first one is folded in it");
    await close();
  });

  test("S4-23: messages above a long folded run are loaded although there is nothing to scroll", async () => {
    const path = await createSession();
    let parent = (await readSession(path)).activeLeafId;
    const ids = [];
    for (let i = 0; i < 70; i += 1)
      ids.push((parent = await write(path, parent, `Step ${i + 1}.`, i % 2 === 0 ? "user" : "assistant")));
    await edit(path, { op: "summarise", nodeIds: ids.slice(2), content: "Many steps." });
    const { page, close } = await openSession(path);
    await page.getByRole("button", { name: "68 messages, summarised" }).waitFor();
    await waitUntil(
      async () => (await messageTexts(page)).join("|") === "The map is not finished.|Step 1.|Step 2.|Many steps.",
      "the story is read from its beginning",
    );
    await close();
  });
});

describe("many messages at once", () => {
  test("S4-20 S4-23: messages are selected by keys, by touch and as a range, then summarised, copied and muted", async () => {
    const { path, ids, page, close } = await openSeededBranch({ permissions: ["clipboard-read", "clipboard-write"] });
    await messageById(page, ids[0]).locator("article").focus();
    await page.keyboard.press("s");
    await messageById(page, ids[3]).locator("article").focus();
    await page.keyboard.press("s");
    await page.getByText("2 messages are selected.").waitFor();
    await page.getByRole("button", { name: "Select all in between" }).click();
    await page.getByText("4 messages are selected.").waitFor();
    await page.getByRole("button", { name: "Copy text" }).click();
    await page.getByText("Copied.").waitFor();
    assert.equal(
      await page.evaluate(() => navigator.clipboard.readText()),
      "You: To the north.\n\nRin: Snow.\n\nYou: To the harbour.\n\nRin: Masts in the dusk.",
    );
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("s");
    await messageById(page, ids[2]).locator("article").focus();
    await page.keyboard.press("s");
    await page.getByRole("button", { name: "Summarise", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Summarise" });
    assert.equal(await dialog.getByRole("combobox", { name: "From" }).inputValue(), ids[1]);
    assert.equal(await dialog.getByRole("combobox", { name: "To" }).inputValue(), ids[2]);
    await dialog.getByRole("textbox", { name: "Summary" }).fill("Snow, then the harbour.");
    await dialog.getByRole("button", { name: "Save summary" }).click();
    await page.getByRole("button", { name: "2 messages, summarised" }).waitFor();
    await composer(page).waitFor();
    await close();
    const phone = await openPage(browser, {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      colorScheme: "dark",
    });
    await phone.page.goto(clotho.base + path);
    const touch = async (id) => {
      await messageById(phone.page, id).locator("article").tap();
      await messageById(phone.page, id).getByRole("checkbox").tap();
    };
    await messageById(phone.page, ids[0]).locator("article").tap();
    await messageButton(messageById(phone.page, ids[0]), "More").tap();
    await phone.page.locator(".menu:popover-open").getByRole("button", { name: "Select messages" }).tap();
    await touch(ids[3]);
    await phone.page.getByRole("button", { name: "Select all in between" }).tap();
    await phone.page.getByText("5 messages are selected.").waitFor();
    await checkAccessibility(phone.page, "choosing on a phone");
    await phone.page.getByRole("button", { name: "Include in prompt" }).tap();
    await waitUntil(async () => (await readBranch(path)).every((node) => node.isEnabled), "all are read again");
    await phone.page.locator(".fold").waitFor({ state: "detached" });
    await phone.close();
  });

  test("S4-20 S4-22: several messages are muted in one step, the state follows, and undo unmutes them", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const hurt = await barValue(page, HP);
    await page.locator(".message.last article").focus();
    await page.keyboard.press("s");
    await page.getByRole("button", { name: "Ignore their state changes" }).click();
    await page.getByText("Applied to all of them.").waitFor();
    await page
      .locator(".notice")
      .getByText(/Hit points/)
      .waitFor();
    await waitUntil(async () => (await barValue(page, HP)) === 20, "the wound is gone");
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click();
    await waitUntil(async () => (await barValue(page, HP)) === hurt, "the wound is back");
    await close();
  });
});

describe("the original of a copy", () => {
  test("domain 2.10 2.16: a copy says when its original was purged, and the view does not move", async () => {
    const { path, ids } = await seedBranch();
    await edit(path, { op: "graft", nodeId: ids[2], targetId: ids[0], mode: "copy" });
    await edit(path, { op: "purge", nodeId: ids[1], confirm: true });
    const top = (await nodeOf(path, ids[0])).childrenIds[0];
    await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: top });
    const { page, close } = await openSession(path, { expected: LOAD_ERROR });
    await messageById(page, top).getByRole("button", { name: "Show the original" }).click();
    await page.getByText("The original was deleted permanently.").waitFor();
    assert.equal(new URL(page.url()).pathname, path);
    assert.equal(await page.locator(".peek").count(), 0);
    await close();
  });
});

describe("merges", () => {
  /** Creates two branches from the second message on. Each changes the lamp, and one also the rope. */
  async function parted() {
    const { path, ids } = await seedBranch();
    const { node: there } = await set(path, ids[3], "/lamp", "broken");
    await set(path, there.id, "/rope", 2);
    const theirs = (await readSession(path)).activeLeafId;
    const hills = await write(path, ids[1], "To the hills.");
    const { node: here } = await set(path, hills, "/lamp", "lit");
    return { path, ids, theirs, hills, ours: here.id };
  }

  test("S4-59 C9: changes of another branch are merged, the user resolves a conflict, and undo is offered", async () => {
    const { path, ids, theirs } = await parted();
    const { page, close } = await openSession(path, { expected: LOAD_ERROR });
    await chooseFromPageMenu(page, "Branches");
    await page.getByRole("checkbox", { name: "Compare “Masts in the dusk.”" }).check();
    await page.getByRole("dialog", { name: "Branches" }).getByRole("button", { name: "Merge" }).click();
    const dialog = page.getByRole("dialog", { name: "Merge" });
    await dialog.getByRole("combobox", { name: "From" }).selectOption(ids[3]);
    await dialog.getByText("1 message").waitFor();
    await dialog.getByRole("radio", { name: /State changes only/ }).check();
    const take = dialog.locator("form").getByRole("button", { name: "Merge" });
    await take.click();
    const lamp = dialog.getByRole("group", { name: "Lamp" });
    await lamp.getByText("This branch: Lit").waitFor();
    await lamp.getByText("Other branch: Broken").waitFor();
    await checkAccessibility(page, "a merge");
    await lamp.getByRole("radio", { name: /Other branch/ }).check();
    await take.click();
    await page.getByText("The branch is merged.").waitFor();
    await page
      .locator(".notice")
      .getByText(/Lamp Lit → Broken/)
      .waitFor();
    const head = await nodeOf(path, (await readSession(path)).activeLeafId);
    assert.equal(head.kind, "merge");
    assert.equal(head.metadata.mergedFrom, theirs);
    const { vars } = (await clotho.api("GET", `${chatPath(path)}/node/${head.id}/world`)).world;
    assert.deepEqual([vars.lamp, vars.rope], ["broken", 2]);
    await checkAccessibility(page, "what was brought over");
    await messageById(page, head.id).getByRole("button", { name: "Show the original" }).click();
    await page.getByText("You are viewing another branch.").waitFor();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Masts in the dusk.", "it is the other one");
    await close();
  });

  test("S4-59 C9: some messages are merged as copies, with a value of the user, from a branch that is viewed", async () => {
    const { path, ids, theirs } = await parted();
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR, colorScheme: "dark" });
    await page.goto(`${clotho.base}${path}/${theirs}`);
    await page.locator(".peek").getByRole("button", { name: "Merge" }).click();
    const dialog = page.getByRole("dialog", { name: "Merge" });
    await dialog.getByRole("combobox", { name: "From" }).selectOption(ids[3]);
    const take = dialog.locator("form").getByRole("button", { name: "Merge" });
    await take.click();
    await dialog.getByRole("group", { name: "Lamp" }).waitFor();
    await take.click();
    await waitUntil(
      async () =>
        (await messageTexts(page)).at(-1) === "Masts in the dusk." &&
        (await messageTexts(page)).includes("To the hills."),
      "the copy ends the line",
    );
    const nodes = await readBranch(path);
    assert.equal(nodes.at(-1).metadata.provenance.nodeId, ids[3]);
    const end = (await readSession(path)).activeLeafId;
    const { vars } = (await clotho.api("GET", `${chatPath(path)}/node/${end}/world`)).world;
    assert.deepEqual([vars.lamp, vars.rope], ["lit", 2], "the changes by hand after it came along");
    assert.equal(await page.getByText("Merged from another branch.").count(), 1);
    await close();
    const second = await parted();
    const again = await openPage(browser, { expected: LOAD_ERROR });
    await again.page.goto(`${clotho.base}${second.path}/${second.theirs}`);
    await again.page.locator(".peek").getByRole("button", { name: "Merge" }).click();
    const other = again.page.getByRole("dialog", { name: "Merge" });
    await other.getByRole("radio", { name: /State changes only/ }).check();
    await other.locator("form").getByRole("button", { name: "Merge" }).click();
    await other.getByRole("group", { name: "Lamp" }).getByRole("radio", { name: "Another value" }).check();
    await other.getByRole("textbox", { name: "Another value of Lamp" }).fill("dim");
    await again.page.keyboard.press("Enter");
    await again.page.getByText("The branch is merged.").waitFor();
    const head = (await readSession(second.path)).activeLeafId;
    assert.equal((await clotho.api("GET", `${chatPath(second.path)}/node/${head}/world`)).world.vars.lamp, "dim");
    await again.close();
  });
});

describe("conflicts of a merge", () => {
  const HIT_POINTS = "/combat/hp";
  const add = (path, id, value, why) =>
    clotho.api("POST", `${chatPath(path)}/node/${id}/world`, {
      operations: [{ op: "add", path: HIT_POINTS, value, why }],
    });

  test("S4-59: an own value must match the schema, and a manually changed value is marked", async () => {
    const path = await createSession({ plugins: [{ id: "combat" }] });
    const start = (await readSession(path)).activeLeafId;
    const there = await write(path, start, "To the marsh.");
    const { node: bitten } = await add(path, there, -3, "the gap in the causeway");
    await set(path, bitten.id, HIT_POINTS, 7);
    const theirs = (await readSession(path)).activeLeafId;
    const here = await write(path, start, "To the hills.");
    await add(path, here, -5, "a fall");
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    await page.goto(`${clotho.base}${path}/${theirs}`);
    await page.locator(".peek").getByRole("button", { name: "Merge" }).click();
    const dialog = page.getByRole("dialog", { name: "Merge" });
    await dialog.getByRole("radio", { name: /State changes only/ }).check();
    const take = dialog.locator("form").getByRole("button", { name: "Merge" });
    await take.click();
    const group = dialog.getByRole("group", { name: "Hit points" });
    await group.getByText("Other branch: 7").waitFor();
    assert.match(await group.locator("label", { hasText: /^Other branch:/ }).innerText(), /7\s*manually$/);
    assert.match(await group.locator("label", { hasText: /^This branch:/ }).innerText(), /35\s*manually: a fall$/);
    await group.getByRole("radio", { name: "Another value" }).check();
    const own = group.getByRole("spinbutton", { name: "Another value of Hit points" });
    await waitUntil(
      async () => own.evaluate((field) => field === document.activeElement),
      "the keyboard is in the field",
    );
    await own.fill("999");
    await take.click();
    await group.getByText("Enter a whole number from 0 to 40.").waitFor();
    await checkAccessibility(page, "a value that does not fit");
    await own.fill("21");
    await group.getByText("Enter a whole number from 0 to 40.").waitFor({ state: "detached" });
    await take.click();
    await page.getByText("The branch is merged.").waitFor();
    const { activeLeafId } = await readSession(path);
    assert.equal((await clotho.api("GET", `${chatPath(path)}/node/${activeLeafId}/world`)).world.vars.combat.hp, 21);
    await close();
  });
});

describe("values along branches", () => {
  test("domain 3.1: a branch with a long beginning is named by whole words and an ellipsis", async () => {
    const { path, ids } = await seedBranch(
      "Masts in the dusk, and beyond them the breakwater where nobody had lit a lamp for years.",
    );
    await set(path, ids[3], "/rope", 5);
    const { page, close } = await openSession(path);
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    const aligned = await page
      .locator(".menu:popover-open button")
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).textAlign));
    assert.ok(
      aligned.length > 0 && aligned.every((one) => one === "start"),
      "labels that wrap begin where the others do",
    );
    await page.keyboard.press("Escape");
    await page.getByRole("complementary").getByRole("button", { name: "Variable chart" }).click();
    await page
      .getByRole("dialog", { name: "Variable chart" })
      .locator(".legend")
      .getByText("1. Masts in the dusk, and beyond them the breakwater where…")
      .waitFor();
    await close();
  });

  test("domain 3.1: a value is plotted along several branches, distinct without colour, and listed in a table", async () => {
    const { path, ids } = await seedBranch();
    await set(path, ids[1], "/rope", 5);
    const first = (await readSession(path)).activeLeafId;
    const low = await write(path, first, "To the hills.");
    await set(path, low, "/rope", 2);
    const left = (await readSession(path)).activeLeafId;
    const high = await write(path, first, "To the sea.");
    await set(path, high, "/rope", 9);
    const head = (await readSession(path)).activeLeafId;
    assert.notEqual(left, head);
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      const { page, close } = await openSession(path, { colorScheme });
      await page.getByRole("complementary").getByRole("button", { name: "Variable chart" }).click();
      const dialog = page.getByRole("dialog", { name: "Variable chart" });
      await dialog.getByRole("img", { name: /Rope/ }).waitFor();
      assert.match(
        (await dialog.getByRole("img").getAttribute("aria-label")) ?? "",
        /Branch 1: from – to 9\. Branch 2: from – to 2/,
      );
      const samples = dialog.locator("svg.sample g.series");
      const dashes = await samples.evaluateAll((all) => all.map((one) => getComputedStyle(one).strokeDasharray));
      assert.ok(dashes.length > 1 && new Set(dashes).size === dashes.length, "each has dashes of its own");
      const signs = await samples.locator(".sign").evaluateAll((all) => all.map((one) => one.getAttribute("d")));
      assert.equal(new Set(signs).size, signs.length, "and a sign of its own");
      const tones = await samples.evaluateAll((all) => all.map((one) => getComputedStyle(one).stroke));
      for (const tone of tones) assert.ok(await inks(dialog.locator(".chart canvas"), tone), `${tone} is drawn`);
      // Pointing at a turn shows the values there; dragging over a range zooms in.
      const { x, y, width, height } = /** @type {{x: number, y: number, width: number, height: number}} */ (
        await dialog.locator(".u-over").boundingBox()
      );
      await page.mouse.move(x + width - 2, y + height / 2);
      await dialog.locator(".chart-line").getByText("1. 9").waitFor();
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down();
      await page.mouse.move(x + width - 4, y + height / 2, { steps: 4 });
      await page.mouse.up();
      await dialog.getByRole("button", { name: "All turns" }).click();
      await dialog.getByRole("button", { name: "All turns" }).waitFor({ state: "detached" });
      await dialog.getByText("Show as table").click();
      const rows = await dialog.getByRole("row").allInnerTexts();
      assert.match(rows.at(-1) ?? "", /9\s+2/);
      await checkAccessibility(page, `a plot, ${colorScheme}`);
      await dialog.getByRole("checkbox", { name: /To the hills/ }).uncheck();
      await waitUntil(
        async () => !(await dialog.getByRole("img").getAttribute("aria-label"))?.includes("Branch 2"),
        "it is taken out",
      );
      await close();
    }
  });
});

/** Returns whether something is drawn in a colour. @param {import("playwright-core").Locator} canvas @param {string} tone as CSS says it */
const inks = (canvas, tone) =>
  canvas.evaluate((/** @type {HTMLCanvasElement} */ board, tone) => {
    const pen = /** @type {CanvasRenderingContext2D} */ (board.getContext("2d"));
    const { data } = pen.getImageData(0, 0, board.width, board.height);
    const wanted = (tone.match(/\d+/g) ?? []).slice(0, 3).map(Number);
    for (let i = 0; i < data.length; i += 4)
      if (wanted.every((value, c) => Math.abs(value - (data[i + c] ?? 0)) < 3)) return true;
    return false;
  }, tone);

describe("the linear view", () => {
  test("S4-50: the linear view offers none of these commands, and keeps their results", async () => {
    const { path, ids } = await seedBranch();
    await set(path, ids[3], "/rope", 5);
    await edit(path, { op: "summarise", nodeIds: ids.slice(0, 2), content: "They went north." });
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { mode: "linear" });
    const { page, close } = await openSession(path);
    await waitUntil(async () => (await messageTexts(page)).includes("They went north."), "the summary is read");
    await messageById(page, ids[2]).locator("article").focus();
    await page.keyboard.press("m");
    const menu = page.locator(".menu:popover-open");
    await menu.waitFor();
    assert.equal(await menu.getByRole("button", { name: /^(Move|Copy),|Summarise|Select/ }).count(), 0);
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("button", { name: "Variable chart" }).count(), 0);
    assert.equal(await page.locator(".provenance").count(), 0);
    await page.keyboard.press("Control+Shift+p");
    await page.getByRole("combobox").fill(">merge");
    await page.getByRole("option").first().waitFor();
    assert.equal(await page.getByRole("option").locator("span").getByText("Merge", { exact: true }).count(), 0);
    await close();
  });
});
