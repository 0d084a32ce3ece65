// Tests against the real server with the keyboard only, through a whole session. After each step the focus is on an
// element in view, with a visible focus ring. Also tests of animations and of reduced motion.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { waitForCursor, treeElement } from "./support/tree-page.mjs";
import { startClotho } from "./support/server.mjs";
import {
  barValue,
  browser,
  clotho,
  seedBranch,
  lastMessage,
  readBranch,
  messageById,
  model,
  openSession,
  openSeededBranch,
  extraServers,
  waitForReply,
  sendMessage,
  messageTexts,
  messageButton,
} from "./support/setup.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** Returns what is wrong with the focus, or "". @param {Page} page */
const focusProblems = (page) =>
  page.evaluate(() => {
    const at = document.activeElement;
    if (!at || at === document.body || at === document.documentElement) return "nothing has the keyboard";
    const what = `${at.tagName}.${at.className} “${(at.getAttribute("aria-label") ?? at.textContent ?? "").trim().slice(0, 40)}”`;
    if (!at.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return `${what} is not to be seen`;
    const { left, right, top, bottom, width, height } = at.getBoundingClientRect();
    if (width < 1 || height < 1 || right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight)
      return `${what} is out of sight`;
    // The focus ring of a field may be drawn around the box that contains it.
    const ringed = [at, at.closest(".composer, .search-field")].some((box) => {
      if (!box || (box !== at && !box.matches(":focus-within"))) return false;
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(box);
      return (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
    });
    return ringed ? "" : `${what} has the keyboard and does not show it`;
  });

/** Checks that the focus is on an element and that its ring is visible. @param {Page} page @param {string} after */
async function checkFocus(page, after) {
  let wrong = "";
  const is = async () => (wrong = await focusProblems(page)) === "";
  await waitUntil(is, "", 3_000).catch(() => assert.fail(`after ${after}: ${wrong}`));
}

/** @param {Page} page */
const focusedNames = (page) =>
  page.evaluate(() => {
    const at = /** @type {HTMLElement & {labels?: NodeListOf<HTMLElement>}} */ (document.activeElement);
    return [at.getAttribute("aria-label") ?? (at.labels?.[0]?.innerText || at.innerText), at.title].map((name) =>
      name.replace(/\s+/g, " ").trim(),
    );
  });

/**
 * Presses a key until the focus is on an element with this name. Checks the focus after each press.
 * @param {Page} page @param {RegExp} name
 */
async function walkTo(page, name, key = "Tab") {
  for (let steps = 0; steps < 60; steps += 1) {
    if ((await focusedNames(page)).some((one) => name.test(one))) return;
    await page.keyboard.press(key);
    await checkFocus(page, `${key} on the way to ${name}`);
  }
  assert.fail(`${name} is not reached by ${key}`);
}

/** Presses a key, waits for the result and checks the focus. @param {Page} page @param {string} what */
async function pressAndCheck(page, keys, what, is = async () => true) {
  await page.keyboard.press(keys);
  await waitUntil(is, what);
  await checkFocus(page, what);
}

/** Runs a command by its name. @param {Page} page */
async function runCommand(page, words) {
  await page.keyboard.press("Control+Shift+P");
  await page.getByRole("dialog").getByRole("combobox").waitFor();
  await checkFocus(page, "opening the commands");
  await page.keyboard.type(words);
  await page
    .locator("dialog [role=option]")
    .filter({ hasText: new RegExp(words, "i") })
    .first()
    .waitFor();
  await page.keyboard.press("Enter");
}

const HP = "/keep/hp";
const isGone = (/** @type {Page} */ page) => async () => (await page.locator("dialog").count()) === 0;

describe("keyboard only", () => {
  test("the keyboard alone starts a session, plays, goes back, rerolls, edits, branches, walks the tree, searches, undoes, and changes language, theme and model", async () => {
    const server = await startClotho();
    extraServers.push(server);
    const { page, close } = await openPage(browser);
    const sid = () => page.url().split("/")[4];
    const projection = async () => (await server.api("GET", `/api/chat/${sid()}/projection`)).items;
    const shown = () => page.locator(".message").count();
    const isLast = (/** @type {string} */ id) => async () =>
      (await page.locator(".message.last article").getAttribute("data-node")) === id;

    // Starting and playing
    await page.goto(server.base);
    await page.getByRole("button", { name: "Play the adventure" }).waitFor();
    await page.keyboard.press("Tab");
    await walkTo(page, /Play the adventure/);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/s\//);
    await waitForReply(page);
    await page.locator(".replies button").first().waitFor();
    await checkFocus(page, "beginning the adventure");
    assert.equal(await barValue(page, HP), 20);
    await walkTo(page, /^Your message$/);
    await walkTo(page, /^Send: /, "Shift+Tab");
    await pressAndCheck(page, "Enter", "playing a suggestion", async () => (await shown()) === 3);
    await waitForReply(page);
    await checkFocus(page, "the reply");
    await walkTo(page, /^Your message$/);
    await page.keyboard.type("I look around.");
    await pressAndCheck(page, "Enter", "playing in one's own words", async () => (await shown()) === 5);
    await waitForReply(page);
    await checkFocus(page, "the second reply");

    // Walking to the messages and back
    const before = await projection();
    await walkTo(page, /, \d{1,2}:\d\d$/, "Shift+Tab");
    await pressAndCheck(page, "ArrowUp", "going up");
    await pressAndCheck(page, "ArrowUp", "going up further");
    await pressAndCheck(page, "b", "going back", async () => (await shown()) === 3);
    await pressAndCheck(
      page,
      "r",
      "rolling again",
      async () => (await page.locator(".message.last .count").count()) === 1,
    );
    await waitForReply(page);
    await checkFocus(page, "the other reply");
    const rolled = (await projection()).at(-1);
    assert.equal(rolled.siblings.count, 2);
    await pressAndCheck(page, "Alt+ArrowLeft", "going to the version before", async () =>
      (await projection()).some(({ id }) => id === before.at(-1).id),
    );
    await waitUntil(async () => (await shown()) === 5, "the line that went on from it");
    await checkFocus(page, "another branch");
    await pressAndCheck(page, "Alt+ArrowRight", "going to the newer version", isLast(rolled.id));

    // Editing, and an own message
    await pressAndCheck(page, "ArrowUp", "going to one's own message");
    await pressAndCheck(
      page,
      "e",
      "beginning an edit",
      async () => (await page.locator(".edit textarea").count()) === 1,
    );
    await page.keyboard.press("Control+a");
    await page.keyboard.type("I go slowly.");
    await walkTo(page, /^Save and generate a reply$/);
    await pressAndCheck(page, "Enter", "saving an edit", async () => (await page.locator(".edit").count()) === 0);
    await waitForReply(page);
    await waitUntil(async () => (await messageTexts(page)).includes("I go slowly."), "the edit is on screen");
    await checkFocus(page, "the reply to an edit");
    await walkTo(page, /^Your message$/);
    await page.keyboard.type("I sing of whales.");
    await pressAndCheck(page, "Enter", "going on", async () => (await shown()) === 5);
    await waitForReply(page);
    await checkFocus(page, "the reply to a song");
    const song = (await projection()).at(-1).id;

    // Deleting and undoing
    await walkTo(page, /, \d{1,2}:\d\d$/, "Shift+Tab");
    await pressAndCheck(page, "Delete", "deleting a message", async () => (await shown()) === 4);
    await pressAndCheck(page, "Control+z", "undoing", async () => (await shown()) === 5);

    // Walking the tree and moving HEAD in it
    await pressAndCheck(page, "Control+b", "opening the tree", () => treeElement(page).isVisible());
    await checkFocus(page, "opening the tree");
    await waitForCursor(page, "current message");
    await pressAndCheck(page, "Home", "going to the beginning of the tree");
    await waitForCursor(page, "Beginning");
    await pressAndCheck(page, "ArrowDown", "going down the tree");
    await pressAndCheck(
      page,
      "Enter",
      "reading a message of the tree",
      async () => (await page.locator(".tree-message:focus").count()) === 1,
    );
    await pressAndCheck(
      page,
      "Escape",
      "having read it",
      async () => (await page.locator(".tree-message").count()) === 0,
    );
    await pressAndCheck(
      page,
      "Control+Enter",
      "going there from the tree",
      async () => (await treeElement(page).count()) === 0,
    );
    await waitUntil(async () => (await projection()).at(-1).id !== song, "the story is somewhere else");
    await checkFocus(page, "coming out of the tree");

    // Searching, and a hit on another branch
    await pressAndCheck(page, "Control+k", "opening the search", () =>
      page.getByRole("dialog").getByRole("combobox").isVisible(),
    );
    await page.keyboard.type("whales");
    await page.locator("dialog [role=option]").first().waitFor();
    await page.keyboard.press("ArrowDown");
    await pressAndCheck(page, "Enter", "opening what was found", isGone(page));
    await page.locator(".peek").waitFor();
    await waitUntil(async () => (await messageTexts(page)).includes("I sing of whales."), "it is on screen");
    await checkFocus(page, "looking at another timeline");
    await walkTo(page, /^Switch to this branch$/);
    await pressAndCheck(
      page,
      "Enter",
      "going on from there",
      async () => (await page.locator(".peek").count()) === 0 && new URL(page.url()).pathname === `/s/${sid()}`,
    );

    // Theme, language and model
    await runCommand(page, "Switch light and dark");
    await waitUntil(() => page.evaluate(() => document.documentElement.dataset.theme === "dark"), "it is dark");
    await checkFocus(page, "switching the light");
    await runCommand(page, "切换到中文");
    await waitUntil(() => page.evaluate(() => document.documentElement.lang.startsWith("zh")), "it speaks Chinese");
    await checkFocus(page, "switching the language");
    await runCommand(page, "Switch to English");
    await waitUntil(() => page.evaluate(() => document.documentElement.lang.startsWith("en")), "it speaks English");
    await runCommand(page, "Connect a model");
    await page.getByRole("dialog", { name: "Connect a model" }).waitFor();
    await checkFocus(page, "opening the form for a model");
    await walkTo(page, /^Base URL/);
    await page.keyboard.press("Control+a");
    await page.keyboard.type(model.url);
    await walkTo(page, /^Load models$/);
    await pressAndCheck(page, "Enter", "asking for its models", () =>
      page.locator("dialog select[name=model]").isVisible(),
    );
    await walkTo(page, /^Connect$/);
    await pressAndCheck(page, "Enter", "connecting it", isGone(page));
    assert.equal((await server.api("GET", "/api/providers")).items.length, 1);

    // A character that uses this model, and a message that the model does not read
    await runCommand(page, "Stories");
    await page.getByRole("button", { name: /New character/ }).waitFor();
    await page.keyboard.press("Tab");
    await walkTo(page, /^New character/);
    await pressAndCheck(page, "Enter", "beginning a character", () =>
      page.getByRole("dialog", { name: "New character" }).isVisible(),
    );
    await walkTo(page, /^Name/);
    await page.keyboard.type("Rin");
    await walkTo(page, /^Save$/);
    await pressAndCheck(page, "Enter", "having made a character", () =>
      page.getByRole("dialog", { name: "Rin" }).isVisible(),
    );
    await walkTo(page, /^Start$/);
    await pressAndCheck(page, "Enter", "beginning a story with it", isGone(page));
    await page.locator(".composer").waitFor();
    await checkFocus(page, "coming to a new story");
    await walkTo(page, /^Your message$/);
    // Buttons beside the field appear and disappear; the focus stays in the field.
    const held = model.queueHeldReply(["She ", "nods."]);
    await page.keyboard.type("Well?");
    await walkTo(page, /^Send$/);
    await pressAndCheck(page, "Enter", "sending", async () => (await shown()) === 2);
    held.next();
    await page.locator(".live", { hasText: "She" }).waitFor();
    await checkFocus(page, "while it speaks");
    await walkTo(page, /^Stop generating/);
    await pressAndCheck(
      page,
      "Enter",
      "stopping",
      async () => (await page.getByText("Stopped before the end.").count()) === 1,
    );
    await waitForReply(page);
    await checkFocus(page, "its answer");
    await walkTo(page, /, \d{1,2}:\d\d$/, "Shift+Tab");
    await pressAndCheck(
      page,
      "x",
      "leaving a message out",
      async () => (await page.locator(".message.disabled").count()) === 1,
    );
    await pressAndCheck(
      page,
      "Control+z",
      "letting the model read it again",
      async () => (await page.locator(".message.disabled").count()) === 0,
    );
    await close();
  }, 180_000);
});

describe("animations", () => {
  /** Returns the animations that last longer than anyone can see. @param {Page} page */
  const moving = (page) =>
    page.evaluate(() =>
      document
        .getAnimations()
        .filter((one) => Number(one.effect?.getComputedTiming().endTime) > 2)
        .map((one) => {
          const { target } = /** @type {KeyframeEffect} */ (one.effect);
          return `${target?.className ?? ""} ${/** @type {any} */ (one).animationName ?? /** @type {any} */ (one).transitionProperty ?? ""}`;
        }),
    );
  /** Records the animations that start from now on. @param {Page} page */
  const watch = (page) =>
    page.evaluate(() => {
      const seen = /** @type {any} */ ((window.slides = []));
      const own = Element.prototype.animate;
      Element.prototype.animate = function (frames, options) {
        seen.push([this.getAttribute("data-node"), /** @type {any} */ (frames)[0].transform]);
        return own.call(this, frames, options);
      };
    });
  const slides = (/** @type {Page} */ page) => page.evaluate(() => /** @type {any} */ (window).slides.splice(0));

  test("a branch slides in from its side; a branch that only grows does not", async () => {
    const { path, ids, page, close } = await openSeededBranch({ reducedMotion: "no-preference" });
    await watch(page);
    model.queueReply(["Gulls."]);
    await messageById(page, ids[3]).locator("article").focus();
    await page.keyboard.press("r");
    await lastMessage(page).getByText("2/2").waitFor();
    await waitForReply(page);
    const gulls = (await readBranch(path)).at(-1).id;
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Gulls.", "another version");
    assert.deepEqual(await slides(page), [[gulls, "translateX(1.5rem)"]], "the newer one comes from the right");
    await messageButton(lastMessage(page), "Previous swipe").click();
    await messageById(page, ids[3]).waitFor();
    await waitUntil(
      async () => (await slides(page)).join() === `${ids[3]},translateX(-1.5rem)`,
      "the older one from the left",
    );
    model.queueReply(["On they go."]);
    await sendMessage(page, "On.");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "On they go.", "the story grows");
    await waitForReply(page);
    assert.deepEqual(await slides(page), []);
    await messageById(page, ids[1]).locator("article").focus();
    await page.keyboard.press("b");
    await waitUntil(async () => (await messageTexts(page)).length === 3, "gone back");
    assert.deepEqual(await slides(page), [], "who goes back sees no other branch");
    await close();
  });

  for (const reducedMotion of /** @type {const} */ (["no-preference", "reduce"])) {
    test(`a bar, a dialog and a running reply ${reducedMotion === "reduce" ? "do not move when motion is reduced" : "are animated"}`, async () => {
      const { path, ids } = await seedBranch();
      const sid = path.replace("/s/", "");
      await clotho.api("PUT", `/api/sessions/${sid}/plugins`, [{ id: "combat", enabled: true }]);
      const { page, close } = await openSession(path, { reducedMotion });
      const isStill = reducedMotion === "reduce";
      const full = await barValue(page, "/combat/hp");
      /**
       * Returns whether such an animation ran at any time since the start of an action.
       * @param {RegExp} what @param {() => Promise<unknown>} act
       */
      const moves = async (what, act) => {
        await page.evaluate(() => {
          const all = /** @type {any} */ ((window.moved = new Set()));
          const look = () => {
            for (const one of document.getAnimations()) {
              const { target } = /** @type {KeyframeEffect} */ (one.effect);
              if (Number(one.effect?.getComputedTiming().endTime) > 2)
                all.add(
                  `${/** @type {Element} */ (target).className} ${/** @type {any} */ (one).animationName ?? /** @type {any} */ (one).transitionProperty ?? ""}`,
                );
            }
            requestAnimationFrame(look);
          };
          look();
        });
        await act();
        const seen = async () =>
          (await page.evaluate(() => [.../** @type {any} */ (window).moved])).some((one) => what.test(one));
        if (!isStill) return waitUntil(seen, `${what} moves`);
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        );
        assert.deepEqual(await moving(page), []);
        assert.deepEqual(
          await page.evaluate(() => [.../** @type {any} */ (window).moved]),
          [],
          "nothing moved meanwhile",
        );
      };
      const held = model.queueHeldReply(["The blade finds you.", "\n\n[HP -17]"]);
      await moves(/live|blink|phase/, async () => {
        await sendMessage(page, "I lower my guard.");
        held.next();
        await lastMessage(page).locator(".live", { hasText: "The blade" }).waitFor();
      });
      await moves(/fill transform/, async () => {
        held.open();
        await waitForReply(page);
        await waitUntil(async () => (await barValue(page, "/combat/hp")) === full - 17, "the bar is told");
      });
      await moves(/rise/, async () => {
        await page.keyboard.press("Control+k");
        await page.getByRole("dialog").waitFor();
      });
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await messageById(page, ids[3]).waitFor();
      await close();
    });
  }
});
