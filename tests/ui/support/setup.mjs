// The setup of every browser test: a server, a model and a browser. Also what tests often do on a page and check there.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, afterEach, before } from "node:test";
import { closePages, launch, limitRun, openPage, waitUntil } from "./browser.mjs";
import { startClotho, startModel } from "./server.mjs";

export const LOAD_ERROR = /Failed to load resource/;
// The sanitiser must parse what it removes. Meanwhile the browser reports what it blocked.
export const POLICY_ERROR = /Content Security Policy|content policy/;

export let browser, clotho, model;

limitRun();

before(async () => {
  browser = await launch();
  model = await startModel();
  clotho = await startClotho(`
[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["m"]

[[providers]]
id = "locked"
base_url = "${model.url}/locked"
models = ["m"]

[[providers]]
id = "down"
base_url = "http://127.0.0.1:9/v1"
models = ["m"]
`);
});

/** Servers that only one test needs. @type {import("./server.mjs").Clotho[]} */
export const extraServers = [];

afterEach(async () => {
  model.reset();
  await closePages(browser);
  await Promise.all(extraServers.splice(0).map((server) => server.close()));
});

after(async () => {
  await Promise.allSettled([browser?.close(), clotho?.close(), model?.close()]);
});

// Actions and checks

export const lastMessage = (page) => page.locator(".message.last");
export const waitForReply = (page) => page.locator(".message.last.assistant.complete").waitFor();
export const messageTexts = (page) => page.locator(".message .prose").allInnerTexts();
export const composer = (page) => page.getByRole("textbox", { name: "Your message" });
export const messageButton = (message, name) => message.getByRole("button", { name, exact: true });

/** Returns the id of the focused message. @param {import("playwright-core").Page} page */
export const focusedMessageId = (page) =>
  page.evaluate(() => document.activeElement?.getAttribute("data-node") ?? null);

/** Sends a message, and waits until the field is empty. @param {import("playwright-core").Page} page */
export async function sendMessage(page, text) {
  await composer(page).fill(text);
  await composer(page).press("Enter");
  await waitUntil(async () => (await composer(page).inputValue()) === "", "the message is taken");
}

/** Answers the question about the settings that came with a file: none of them is used. */
export async function declineBroughtSettings(page) {
  const question = page.getByRole("dialog", { name: "This file brings settings" });
  await question.getByRole("button", { name: "Use none" }).click();
  await question.waitFor({ state: "detached" });
}

/** Presses a button of a message. The buttons appear when the message has the focus. */
export async function clickMessageButton(message, name) {
  await message.locator("article").focus();
  await messageButton(message, name).click();
}

/** Creates a session with the mock model through the API. @returns {Promise<string>} its address */
export async function createSession(settings = {}) {
  const character = await clotho.api("POST", "/api/characters", {
    name: "Rin",
    description: "A cartographer.",
    firstMessage: "The map is not finished.",
  });
  const session = await clotho.api("POST", "/api/sessions", {
    characterIds: [character.id],
    model: "mock/m",
    plugins: [],
    ...settings,
  });
  return `/s/${session.id}`;
}

export const chatPath = (path) => path.replace("/s/", "/api/chat/");
export const readSession = (path) => clotho.api("GET", path.replace("/s/", "/api/sessions/"));
export const readBranch = async (path) => (await clotho.api("GET", `${chatPath(path)}/projection`)).items;

/** Returns the number of a bar in the state panel, once the panel has read the state of the newest message. */
export async function barValue(page, path) {
  await page.locator('.world[aria-busy="false"]').waitFor();
  const meter = page.locator(`[data-path="${path}"] [role=meter]`);
  await meter.waitFor();
  return Number(await meter.getAttribute("aria-valuenow"));
}

export const HP = "/keep/hp";

/** Plays the adventure until the first action has cost hit points. Rerolls if it did not. */
export async function playUntilHurt(page, base = clotho.base) {
  await page.goto(base);
  await page
    .locator(".hero button, button.card")
    .filter({ hasText: /Lantern Keep|Play the adventure/ })
    .first()
    .click();
  await page.waitForURL(/\/s\//);
  await waitForReply(page);
  assert.equal(await barValue(page, HP), 20);
  await page.locator(".replies button").first().click();
  await page.locator(".message.user").waitFor();
  await waitForReply(page);
  for (let rolls = 0; rolls < 30; rolls += 1) {
    await page.locator(".message.last .changes").waitFor();
    if ((await barValue(page, HP)) < 20) return;
    const before = await page.locator(".message.last article").getAttribute("data-node");
    await clickMessageButton(lastMessage(page), "Regenerate");
    await page.locator(`.message.last.complete article:not([data-node="${before}"])`).waitFor();
  }
  assert.fail("thirty rolls and not a scratch");
}

/** Creates user -> reply -> user -> reply through the API. */
export async function seedBranch(end = "Masts in the dusk.") {
  const path = await createSession();
  let parentId = (await readSession(path)).activeLeafId;
  const ids = [];
  for (const [role, content] of [
    ["user", "To the north."],
    ["assistant", "Snow."],
    ["user", "To the harbour."],
    ["assistant", end],
  ]) {
    const { node } = await clotho.api("POST", `${chatPath(path)}/message`, { parentId, role, content });
    ids.push((parentId = node.id));
  }
  return { path, ids };
}

/** Opens a session in a new page. @param {string} path @param {Parameters<typeof openPage>[1]} [options] */
export async function openSession(path, options) {
  const opened = await openPage(browser, options);
  await opened.page.goto(clotho.base + path);
  await lastMessage(opened.page).waitFor();
  return opened;
}

/**
 * Creates a session with four messages and opens it.
 * @param {Parameters<typeof openPage>[1]} [options] @param {string} [end] the last reply
 */
export async function openSeededBranch(options, end) {
  const story = await seedBranch(end);
  return { ...story, ...(await openSession(story.path, options)) };
}

// Accessibility

const axe = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Checks the accessibility of what is on screen with axe.
 * @param {import("playwright-core").Page} page @param {string} where
 * @param {{within?: string, rules?: string[]}} [how] `within`: a selector of the part to check; `rules`: the only rules to use
 */
export async function checkAccessibility(page, where, { within, rules } = {}) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(await axe);
  const { violations } = await page.evaluate(
    async ([part, only]) => {
      // Waits for animations that end, because the contrast is too low while something fades in. Endless ones are
      // checked as they are.
      const ends = document
        .getAnimations()
        .filter((one) => Number.isFinite(Number(one.effect?.getComputedTiming().endTime)));
      await Promise.allSettled(ends.map((one) => one.finished));
      // Style sheets that import others, as in development, cannot be read under the content policy.
      const preload = document.querySelector('link[rel="stylesheet"][href^="/assets/dev/"]') === null;
      return /** @type {any} */ (window).axe.run(part ?? document, {
        resultTypes: ["violations"],
        preload,
        ...(only && { runOnly: only }),
      });
    },
    /** @type {const} */ ([within, rules]),
  );
  assert.deepEqual(
    violations.map((v) => `${where}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`),
    [],
  );
}

/** Selects an item of a message's menu. */
export async function chooseFromMessageMenu(page, message, name) {
  await message.locator("article").focus();
  await messageButton(message, "More").click();
  await page.locator(".menu:popover-open").getByRole("button", { name, exact: true }).click();
}

/** Selects an item of the page's menu. @param {import("playwright-core").Page} page */
export async function chooseFromPageMenu(page, name) {
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.locator(".menu:popover-open").getByRole("button", { name, exact: true }).click();
}

/**
 * Chooses files after pressing a button that opens the file dialog.
 * @param {import("playwright-core").Page} page @param {import("playwright-core").Locator} button @param {{name: string, buffer: Buffer}[]} files
 */
export async function chooseFiles(page, button, files) {
  const asked = page.waitForEvent("filechooser");
  await button.click();
  await (await asked).setFiles(files.map((file) => ({ ...file, mimeType: "application/octet-stream" })));
}

/** Returns a message on screen by its id. @param {import("playwright-core").Page} page */
export const messageById = (page, id) => page.locator(`.message:has([data-node="${id}"])`);
