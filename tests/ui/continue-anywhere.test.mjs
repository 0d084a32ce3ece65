// Tests in Chromium against the real server: continuing from any message of a long session, and a server without
// rearranging.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import {
  browser,
  chatPath,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  readBranch,
  messageById,
  model,
  createSession,
  openSession,
  extraServers,
  sendMessage,
  readSession,
  messageTexts,
  messageButton,
  clickMessageButton,
} from "./support/setup.mjs";

/** Creates a session with messages below its greeting. @returns {Promise<{path: string, ids: string[]}>} the greeting first */
async function createChain(messages) {
  const path = await createSession();
  const ids = [(await readSession(path)).activeLeafId];
  for (let n = 1; n <= messages; n += 1) {
    const body = { parentId: ids.at(-1), role: n % 2 ? "user" : "assistant", content: `Message ${n}.` };
    ids.push((await clotho.api("POST", `${chatPath(path)}/message`, body)).node.id);
  }
  return { path, ids };
}

describe("continuing from any message", () => {
  test("S4-02: of forty messages the third is selected, and the session continues below it; the other thirty-seven stay", async () => {
    const { path, ids } = await createChain(40);
    const { page, close } = await openSession(path);
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Message 40.", "the end of the story is shown");
    const third = messageById(page, ids[3]);
    for (let tries = 0; (await third.count()) === 0 && tries < 20; tries += 1)
      await page.locator(".message").first().scrollIntoViewIfNeeded();
    await clickMessageButton(third, "Rewind to here");
    await waitUntil(
      async () => (await readSession(path)).activeLeafId === ids[3],
      "the story stands at the third message",
    );
    model.queueReply(["A bridge."]);
    await sendMessage(page, "Another way.");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "A bridge.", "the reply came");
    const now = await readBranch(path);
    assert.deepEqual(now.map((node) => node.id).slice(0, 4), ids.slice(0, 4), "the first three and the greeting");
    assert.deepEqual(now.map((node) => node.content).slice(4), ["Another way.", "A bridge."], "and what is new");
    assert.equal((await messageTexts(page)).length, 6);
    const old = await clotho.api("GET", `${chatPath(path)}/projection?leaf=${ids[40]}`);
    assert.deepEqual(
      old.items.map((node) => node.id),
      ids,
    );
    await close();
  });
});

describe("usage", () => {
  test("S4-54: the usage on the page equals the sum of the session's replies", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    for (const text of ["A bridge.", "A tower."]) {
      model.queueReply([text]);
      await sendMessage(page, "What is there?");
      await waitUntil(async () => (await messageTexts(page)).at(-1) === text, "the reply came");
    }
    await chooseFromPageMenu(page, "Usage");
    const dialog = page.getByRole("dialog");
    await dialog.locator("dt", { hasText: "Replies" }).waitFor();
    const shown = await dialog.locator("dd").allInnerTexts();
    const replies = (await readBranch(path)).filter((node) => node.metadata?.latencyMs !== undefined);
    const sum = (pick) => String(replies.reduce((all, node) => all + (pick(node.metadata) ?? 0), 0));
    assert.equal(shown[0], "2");
    assert.deepEqual(shown.slice(0, 3), [
      String(replies.length),
      sum((known) => known.tokenCount?.prompt),
      sum((known) => known.tokenCount?.completion),
    ]);
    assert.equal(shown[4], "no price is known");
    await checkAccessibility(page, "what it took");
    await close();
  });
});

describe("sessions in the library", () => {
  test("a copy has the whole tree and its own name, and changes independently", async () => {
    const server = await startClotho(`[[providers]]\nid = "mock"\nbase_url = "${model.url}"\nmodels = ["m"]\n`);
    extraServers.push(server);
    const { page, close } = await openPage(browser);
    const character = await server.api("POST", "/api/characters", {
      name: "Rin",
      firstMessage: "The map is not finished.",
    });
    const made = await server.api("POST", "/api/sessions", {
      characterIds: [character.id],
      title: "Over the pass",
      model: "mock/m",
      plugins: [],
    });
    model.queueReply(["Snow."]);
    model.queueReply(["Fog."]);
    await page.goto(`${server.base}/s/${made.id}`);
    await sendMessage(page, "To the north.");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "the reply came");
    await page.getByRole("button", { name: "Regenerate" }).last().click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Fog.", "another one came");
    await page.getByRole("link", { name: "Clotho" }).click();
    const row = (name) => page.locator(".session").filter({ has: page.getByText(name, { exact: true }) });
    await row("Over the pass").getByText("2 branches").waitFor();
    const manage = page.getByRole("button", { name: "Manage “Over the pass”" });
    await manage.click();
    await page.getByRole("button", { name: "Usage" }).click();
    const took = page.getByRole("dialog", { name: "Usage" });
    await took.locator("div", { hasText: "Replies" }).locator("dd").getByText("2", { exact: true }).waitFor();
    await checkAccessibility(page, "what a story of the library took");
    await page.keyboard.press("Escape");
    await took.waitFor({ state: "detached" });
    await manage.click();
    await page.getByRole("button", { name: "Duplicate" }).click();
    await page.getByText("“Over the pass (copy)” is duplicated with all branches.").waitFor();
    await row("Over the pass (copy)").getByText("2 branches").waitFor();
    await checkAccessibility(page, "a library with a copy");
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await waitUntil(
      async () => (await messageTexts(page)).join() === "The map is not finished.,To the north.,Fog.",
      "it is there",
    );
    model.queueReply(["A bridge."]);
    await sendMessage(page, "Over it.");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "A bridge.", "and goes on");
    assert.equal(
      (await server.api("GET", `/api/sessions/${made.id}`)).counts.nodes,
      4,
      "the other one stays as it was",
    );
    await close();
  });
});

describe("a server without rearranging", () => {
  test("S2-19: no button, menu or key offers what the server refuses; versions and going back work", async () => {
    const server = await startClotho("[tree]\nedits = false\n");
    extraServers.push(server);
    const { page, close } = await openPage(browser);
    const character = await server.api("POST", "/api/characters", {
      name: "Rin",
      firstMessage: "The map is not finished.",
    });
    const made = await server.api("POST", "/api/sessions", { characterIds: [character.id], plugins: [] });
    const { node } = await server.api("POST", `/api/chat/${made.id}/message`, {
      parentId: made.activeLeafId,
      role: "user",
      content: "To the north.",
    });
    await server.api("POST", `/api/chat/${made.id}/message`, {
      parentId: node.id,
      role: "assistant",
      content: "Snow.",
    });
    await page.goto(`${server.base}/s/${made.id}`);
    const message = messageById(page, node.id);
    await message.locator("article").focus();
    await page.keyboard.press("Delete");
    await messageButton(message, "More").click();
    const menu = page.locator(".menu:popover-open");
    await menu.getByRole("button", { name: "Bookmark (checkpoint)", exact: true }).waitFor();
    const offered = await menu.getByRole("button").allInnerTexts();
    assert.ok(
      offered.length > 0 && offered.every((words) => !/delete|everything after|summar|merge/i.test(words)),
      offered.join(" | "),
    );
    await page.keyboard.press("Escape");
    await clickMessageButton(message, "Rewind to here");
    await waitUntil(async () => (await messageTexts(page)).length === 2, "going back is there");
    const { items } = await server.api("GET", `/api/chat/${made.id}/stash`);
    assert.deepEqual(items, [], "the key for deleting did nothing");
    await close();
  });
});

describe("how models get tools", () => {
  test("the settings mark models without native tool calls", async () => {
    const provider = (/** @type {string} */ id, /** @type {string} */ how) =>
      `[[providers]]\nid = "${id}"\nbase_url = "${model.url}"\nmodels = ["m"]\n${how}\n`;
    const server = await startClotho(
      [provider("own", ""), provider("told", 'tools = "words"'), provider("bare", 'tools = "none"')].join("\n"),
    );
    extraServers.push(server);
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    const models = page.getByRole("region", { name: "Connect a model" });
    await models.getByRole("listitem").filter({ hasText: "told/m" }).waitFor();
    const said = (await models.locator(".model-list li").allInnerTexts()).map((one) => one.replace(/\s+/g, " ")).sort();
    assert.deepEqual(said, ["bare/m no tool calls", "own/m", "told/m text tool calls"]);
    await checkAccessibility(page, "models and tools");
    await close();
  });
});
