// Tests against the real server: the branch on screen is the branch of the server, and it looks like a chat.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  browser,
  chatPath,
  clotho,
  seedBranch,
  lastMessage,
  readBranch,
  messageById,
  model,
  createSession,
  openSession,
  waitForReply,
  sendMessage,
  readSession,
  messageTexts,
} from "./support/setup.mjs";

/** Returns pseudo-random numbers that are the same each time. @param {number} seed */
const randomNumbers = (seed) => (/** @type {number} */ below) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor((seed / 2147483648) * below);
};

/** Creates a tree of messages, each below a random message. @returns {Promise<string>} its address */
async function randomTree(seed, messages) {
  const draw = randomNumbers(seed);
  const path = await createSession();
  const nodes = [{ id: (await readSession(path)).activeLeafId, role: "assistant" }];
  for (let n = 1; n <= messages; n += 1) {
    const parent = nodes[draw(nodes.length)];
    const role = parent.role === "user" ? "assistant" : "user";
    const { node } = await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: parent.id,
      role,
      content: `Tree ${seed}, message ${n}.`,
    });
    nodes.push({ id: node.id, role });
  }
  await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: nodes[draw(nodes.length)].id, exact: true });
  return path;
}

describe("the branch on screen", () => {
  test("S0-44: the page shows exactly the branch of the server, in its order, for ten random trees", async () => {
    const { page, close } = await openPage(browser);
    for (let seed = 1; seed <= 10; seed += 1) {
      const path = await randomTree(seed, 14);
      const wanted = (await readBranch(path)).filter((node) => node.kind !== "root").map((node) => node.content);
      await page.goto(clotho.base + path);
      await lastMessage(page).waitFor();
      await waitUntil(async () => (await messageTexts(page)).length === wanted.length, `all of tree ${seed} is shown`);
      assert.deepEqual(await messageTexts(page), wanted, `tree ${seed}`);
    }
    await close();
  });

  test("S0-22: the page says that it is loading; a failure has a retry button that works", async () => {
    const { path } = await seedBranch();
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    let letGo = () => {};
    const held = new Promise((resolve) => (letGo = () => resolve(undefined)));
    let isFirst = true;
    await page.route(/\/projection/, async (route) => {
      if (!isFirst) return route.continue();
      isFirst = false;
      await held;
      await route.fulfill({
        status: 500,
        json: { error: { code: "internal", message: "something broke", hint: "", details: {} } },
      });
    });
    await page.goto(clotho.base + path);
    await page.locator(".chat .waiting").waitFor();
    letGo();
    await page.getByRole("button", { name: "Try again" }).click();
    await waitUntil(async () => (await messageTexts(page)).length === 5, "the story is there");
    await close();
  });

  test("S0-47: a message has an avatar, a name, a time, and Markdown that runs nothing", async () => {
    const { ids, page, close } = await openHostile();
    const message = messageById(page, ids[3]);
    assert.equal(await message.locator(".prose strong").innerText(), "tide");
    assert.equal(await message.locator(".who").innerText(), "Rin");
    assert.match(await message.locator("header time").innerText(), /^\d{1,2}:\d\d$/);
    assert.equal(await message.locator(".avatar").innerText(), "R");
    assert.equal(await messageById(page, ids[2]).locator(".avatar").count(), 1);
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).hacked), undefined);
    await close();
  });

  test("S2-20: a new user writes three messages and reads no word about trees", async () => {
    const { page, close } = await openSession(await createSession());
    for (const text of ["Hello.", "Where are we?", "Let us go."]) {
      model.queueReply([`To “${text}” an answer.`]);
      await sendMessage(page, text);
      await waitUntil(async () => (await messageTexts(page)).at(-1) === `To “${text}” an answer.`, "the reply came");
      await waitForReply(page);
    }
    const seen = await page.locator(".chat").innerText();
    assert.doesNotMatch(seen, /\b(tree|branch|node|leaf|fork|checkout|sibling|HEAD|projection)/i);
    assert.equal((await messageTexts(page)).length, 7);
    await close();
  });
});

async function openHostile() {
  const story = await seedBranch(
    'Wait for the **tide**. <script>window.hacked = 1</script><img src=x onerror="window.hacked=1">',
  );
  return { ...story, ...(await openSession(story.path, { expected: /Content Security Policy|content policy/ })) };
}
