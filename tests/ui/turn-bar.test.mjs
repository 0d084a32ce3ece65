// Tests against the real server: the turn bar, and the versions of a message side by side.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  browser,
  chatPath,
  checkAccessibility,
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

const turnBar = (page) => page.getByRole("navigation", { name: "Turns" });
const chips = (page) => turnBar(page).getByRole("listitem").getByRole("button");
const current = (page) => turnBar(page).locator('[aria-current="step"]').getAttribute("aria-label");
const turnsOf = (path) => clotho.api("GET", `${chatPath(path)}/turns`);
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** Creates a message with four versions. Returns their texts. */
async function openFourVersions() {
  const { path, ids } = await seedBranch("Masts.");
  for (const content of ["Gulls.", "Fog, and a bell in it. ".repeat(20), "Rain."]) {
    await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[2], role: "assistant", content });
  }
  return { path, ids };
}

describe("the turn bar", () => {
  for (const [where, options] of /** @type {const} */ ([
    ["a desk", {}],
    ["a phone", PHONE],
  ])) {
    test(`S0-43: each turn has a chip, the last one marked; the second leads back there, later turns stay reachable, on ${where}`, async () => {
      const { path, ids, page, close } = await openSeededBranch(options);
      const wanted = (await turnsOf(path)).length;
      await waitUntil(async () => (await chips(page).count()) === wanted, "a chip for each turn");
      assert.equal(wanted, 3);
      assert.equal(await current(page), "Turn 2: To the harbour.");
      await checkAccessibility(page, `the way on ${where}`);
      await chips(page).nth(1).click();
      await waitUntil(
        async () => (await readSession(path)).activeLeafId === ids[1],
        "HEAD is at the end of the second turn",
      );
      await waitUntil(async () => (await current(page)) === "Turn 1: To the north.", "and its chip is marked");
      assert.equal((await messageTexts(page)).at(-1), "Snow.");
      assert.equal(await chips(page).nth(2).getAttribute("aria-label"), "Turn 2: To the harbour. (later)");
      await checkAccessibility(page, `the way ahead on ${where}`);
      await chips(page).nth(2).click();
      await waitUntil(async () => (await readSession(path)).activeLeafId === ids[3], "HEAD is at the end again");
      await chips(page).nth(1).click();
      await waitUntil(async () => (await readSession(path)).activeLeafId === ids[1], "and back once more");
      // Continuing in another way removes the turns ahead.
      model.queueReply(["Hills."]);
      await composer(page).fill("To the hills.");
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await waitUntil(async () => (await messageTexts(page)).at(-1) === "Hills.", "the story goes on");
      await waitForReply(page);
      await waitUntil(async () => (await current(page)) === "Turn 2: To the hills.", "the new turn is the current one");
      assert.equal(await chips(page).count(), 3);
      await close();
    });
  }

  test("S0-43: of two turns tapped in a row the second one wins, however late the first is answered", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await waitUntil(async () => (await chips(page).count()) === 3, "a chip for each turn");
    await chips(page).nth(1).click();
    await waitUntil(async () => (await current(page)) === "Turn 1: To the north.", "one has gone back");
    let letGo = () => {};
    const held = new Promise((resolve) => (letGo = () => resolve(undefined)));
    let asked = 0;
    await page.route("**/active_leaf", async (route) => {
      asked += 1;
      if (asked === 1) await held;
      await route.continue();
    });
    await chips(page).nth(2).click();
    await waitUntil(async () => asked === 1, "the server is asked");
    await chips(page).nth(1).click();
    letGo();
    await waitUntil(async () => asked === 2, "and asked again");
    await waitUntil(
      async () => (await readSession(path)).activeLeafId === ids[1],
      "HEAD is where the second tap leads",
    );
    await waitUntil(async () => (await current(page)) === "Turn 1: To the north.", "and so is the page");
    await close();
  });

  test("S0-43: the turn bar works by keys, can be hidden permanently, and is not shown in the linear view", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    await chips(page).nth(2).focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await waitUntil(
      () => page.evaluate(() => document.activeElement?.getAttribute("aria-label") === "The map is not finished."),
      "the first chip has the keyboard",
    );
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[1], "HEAD is there");
    await chooseFromPageMenu(page, "Show or hide the turn bar");
    await turnBar(page).waitFor({ state: "detached" });
    await page.reload();
    await lastMessage(page).waitFor();
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    assert.equal(await turnBar(page).count(), 0);
    await page.locator(".menu:popover-open").getByRole("button", { name: "Show or hide the turn bar" }).click();
    await turnBar(page).waitFor();
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { mode: "linear" });
    await turnBar(page).waitFor({ state: "detached" });
    await close();
  });

  /** Creates a session of eighty turns. */
  async function long() {
    const path = await createSession();
    let parentId = (await readSession(path)).activeLeafId;
    for (let i = 0; i < 160; i += 1) {
      parentId = (
        await clotho.api("POST", `${chatPath(path)}/message`, {
          parentId,
          role: i % 2 ? "assistant" : "user",
          content: `Line ${i}.`,
        })
      ).node.id;
    }
    return path;
  }

  test("S0-43: focus stays on its turn while earlier ones load, and the target turn is scrolled into view", async () => {
    const path = await long();
    const { page, close } = await openSession(path);
    const at = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    const number = async () => Number(/\d+/.exec((await at()) ?? "")?.[0]);
    await waitUntil(async () => (await current(page)) === "Turn 80: Line 158.", "one stands at the end");
    await chips(page).last().focus();
    await page.keyboard.press("Home");
    await waitUntil(async () => (await number()) < 60, "the first chip that is known");
    await page.keyboard.press("ArrowRight");
    const before = await number();
    await page.keyboard.press("Enter");
    await waitUntil(async () => ((await current(page)) ?? "").startsWith(`Turn ${before}:`), "one has gone back");
    await waitUntil(async () => (await number()) === before, "the keyboard is where it was");
    await page.keyboard.press("ArrowLeft");
    await waitUntil(async () => (await number()) === before - 1, "and goes on from there");
    await page.locator(".scroller").evaluate((box) => (box.scrollTop = 0));
    await waitUntil(
      () => page.locator(".scroller").evaluate((box) => box.scrollHeight - box.scrollTop > 2 * box.clientHeight),
      "one reads further up",
    );
    await chips(page).nth(1).waitFor();
    const name = `Turn ${before - 2}: `;
    await page.keyboard.press("ArrowLeft");
    await waitUntil(async () => (await at())?.startsWith(name), "two turns before");
    await page.keyboard.press("Enter");
    await waitUntil(async () => ((await current(page)) ?? "").startsWith(name), "one has gone back once more");
    await waitUntil(
      async () => (await messageTexts(page)).at(-1) === `Line ${2 * (before - 2) - 1}.`,
      "to the end of that turn",
    );
    await waitUntil(
      () => lastMessage(page).evaluate((message) => message.getBoundingClientRect().top < innerHeight),
      "which is in view",
    );
    await close();
  });

  test("S0-43: of a long branch only the visible chips are in the page", async () => {
    const path = await long();
    const { page, close } = await openSession(path);
    await chips(page).first().waitFor();
    const inSight = (name) =>
      turnBar(page)
        .getByRole("button", { name })
        .evaluate((chip) => {
          const { left, right } = chip.getBoundingClientRect();
          const list = /** @type {Element} */ (chip.closest("ol"));
          const row = /** @type {Element} */ (list.parentElement).getBoundingClientRect();
          return left >= row.left - 1 && right <= row.right + 1;
        });
    const now = "Turn 80: Line 158.";
    await waitUntil(() => inSight(now), "one sees where one stands");
    await page.setViewportSize({ width: 420, height: 700 });
    await waitUntil(() => inSight(now), "also when the window has become narrow");
    await page.setViewportSize({ width: 1280, height: 720 });
    const firstOf = async () => Number(/\d+/.exec((await chips(page).first().getAttribute("aria-label")) ?? "")?.[0]);
    const before = await firstOf();
    await turnBar(page).getByRole("button", { name: "Earlier…" }).click();
    await waitUntil(async () => (await firstOf()) < before - 20, "who asks for earlier turns is shown them");
    await waitUntil(async () => {
      // It may be gone, or wait for its answer.
      await turnBar(page)
        .getByRole("button", { name: "Earlier…" })
        .evaluateAll((found) => found[0]?.click());
      assert.ok((await chips(page).count()) <= 30, "few chips at every moment");
      return (await turnBar(page).getByRole("button", { name: "Earlier…" }).count()) === 0;
    }, "the line is known to its beginning");
    await turnBar(page)
      .locator("div")
      .evaluate((box) => (box.scrollLeft = box.scrollWidth));
    await waitUntil(async () => (await current(page)) === "Turn 80: Line 158.", "one stands where one stood");
    await turnBar(page)
      .locator("div")
      .evaluate((box) => (box.scrollLeft = 0));
    await turnBar(page).getByRole("button", { name: "Turn 1: Line 0." }).waitFor();
    assert.ok((await chips(page).count()) <= 30);
    assert.equal(await turnBar(page).locator('[tabindex="0"]').count(), 1, "keys reach what is drawn");
    await close();
  });
});

describe("versions side by side", () => {
  const fan = (page) => page.getByRole("region", { name: /^\d+ swipes of this message$/ });

  for (const [where, options] of /** @type {const} */ ([
    ["a desk", {}],
    ["a phone", PHONE],
  ])) {
    test(`S0-45: four replies are four cards with a title and an excerpt of three lines; a tap selects one and closes the list, on ${where}`, async () => {
      const { path, ids } = await openFourVersions();
      const { page, close } = await openSession(path, options);
      const [masts, gulls] = (await readBranch(path)).at(-1).siblings.ids;
      assert.equal(masts, ids[3]);
      await lastMessage(page)
        .getByRole("button", { name: /show all swipes/ })
        .click();
      const cards = fan(page).getByRole("button", { name: /^Swipe \d/ });
      await waitUntil(async () => (await cards.count()) === 4, "four cards");
      assert.equal(await fan(page).getByRole("heading").innerText(), "4 swipes of this message");
      await fan(page).getByText("Gulls.").waitFor();
      assert.deepEqual(await cards.locator("strong").allInnerTexts(), ["Swipe 1", "Swipe 2", "Swipe 3", "Swipe 4"]);
      const { lines, wide } = await cards
        .nth(2)
        .locator("span")
        .evaluate((box) => ({
          lines: box.clientHeight / parseFloat(getComputedStyle(box).lineHeight),
          wide: /** @type {Element} */ (box.parentElement).clientWidth,
        }));
      assert.ok(Math.round(lines) === 3 && wide >= 196, `${lines} lines, ${wide} wide`);
      await checkAccessibility(page, `versions on ${where}`);
      await cards.nth(1).click();
      await waitUntil(async () => (await readSession(path)).activeLeafId === gulls, "HEAD is the second one");
      await waitUntil(async () => (await messageTexts(page)).at(-1) === "Gulls.", "and it is read");
      await fan(page).locator('[aria-current="true"]').getByText("Swipe 2").waitFor();
      await fan(page).getByRole("button", { name: "Close the swipes" }).click();
      await fan(page).waitFor({ state: "detached" });
      assert.equal(await focusedMessageId(page), gulls, "the keyboard is at the message");
      await page.keyboard.press("v");
      await fan(page).waitFor();
      await page.keyboard.press("Escape");
      await fan(page).waitFor({ state: "detached" });
      await close();
    });
  }
});

describe("the parts of a chat", () => {
  test("S0-42: while a reply is generated nothing offers another one; afterwards it is offered again", async () => {
    const { page, close } = await openSeededBranch();
    await lastMessage(page).locator('[data-command="message.reroll"]').waitFor();
    const held = model.queueHeldReply(["Slowly. ", "Done."]);
    await sendMessage(page, "Take your time.");
    held.next();
    await lastMessage(page).locator(".live", { hasText: "Slowly." }).waitFor();
    assert.equal(await page.locator('[data-command="message.reroll"]:not([aria-disabled="true"])').count(), 0);
    await page.locator(".message.assistant article").nth(1).focus();
    await page.keyboard.press("r");
    held.open();
    await waitForReply(page);
    await lastMessage(page).locator('[data-command="message.reroll"]:not([aria-disabled])').waitFor();
    assert.equal(model.requests.length, 1, "the key asked for nothing either");
    await close();
  });

  test("S0-23: messages, the turn bar, versions, a running reply, the reroll button and a failure are on screen as on the server", async () => {
    const { path, ids, page, close } = await openSeededBranch({ expected: LOAD_ERROR });
    assert.deepEqual(
      await messageTexts(page),
      (await readBranch(path)).filter(({ kind }) => kind !== "root").map(({ content }) => content),
    );
    await waitUntil(async () => (await chips(page).count()) === 3, "the turns");
    await lastMessage(page).locator('[data-command="message.reroll"]').waitFor();
    await clotho.api("POST", `${chatPath(path)}/message`, { parentId: ids[2], role: "assistant", content: "Gulls." });
    await lastMessage(page).getByText("2/2").waitFor();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Gulls.", "the other reply");
    const held = model.queueHeldReply(["Snow again."]);
    const { activeLeafId } = await readSession(path);
    await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: activeLeafId,
      expectedLeafId: activeLeafId,
      content: "Back.",
      generate: true,
    });
    await page.getByRole("button", { name: "Stop generating" }).waitFor();
    await waitUntil(async () => (await chips(page).count()) === 4, "a turn more");
    assert.equal(
      await lastMessage(page).locator('[data-command="message.reroll"]:not([aria-disabled="true"])').count(),
      0,
    );
    held.open();
    await waitForReply(page);
    await page.getByRole("button", { name: "Stop generating" }).waitFor({ state: "detached" });
    await page.route(
      /\/message$/,
      (route) =>
        route.fulfill({
          status: 500,
          json: { error: { code: "internal", message: "something broke", hint: "", details: {} } },
        }),
      { times: 1 },
    );
    await composer(page).fill("And now?");
    await composer(page).press("Enter");
    await page.getByRole("alert").waitFor();
    assert.equal(await composer(page).inputValue(), "And now?");
    await close();
  });

  test("S0-48: a reroll, an edit and a new branch from the last reply change the tree as expected", async () => {
    const { path, ids, page, close } = await openSeededBranch();
    const versions = async () => (await readBranch(path)).at(-1).siblings.ids;
    model.queueReply(["Gulls."]);
    await clickMessageButton(lastMessage(page), "Regenerate");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Gulls.", "another reply");
    await waitForReply(page);
    assert.equal((await versions()).length, 2);
    assert.equal((await clotho.api("GET", `${chatPath(path)}/node/${ids[3]}`)).content, "Masts in the dusk.");
    await lastMessage(page).locator('[data-command="message.edit"]').waitFor();
    await clickMessageButton(lastMessage(page), "Edit");
    await lastMessage(page).getByRole("textbox").fill("Gulls and rain.");
    await lastMessage(page).getByRole("button", { name: "Save as a new version" }).click();
    await waitUntil(async () => (await versions()).length === 3, "an edit is a version of its own");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Gulls and rain.", "and it is read");
    await clickMessageButton(messageById(page, ids[1]), "Rewind to here");
    await waitUntil(async () => (await readSession(path)).activeLeafId === ids[1], "HEAD is there");
    model.queueReply(["Hills."]);
    await sendMessage(page, "To the hills.");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Hills.", "another way on");
    await waitForReply(page);
    const { items: others } = await clotho.api("GET", `${chatPath(path)}/node/${ids[2]}/alternatives`);
    assert.deepEqual(
      others.map(({ content }) => content),
      ["To the harbour.", "To the hills."],
    );
    await close();
  });
});
