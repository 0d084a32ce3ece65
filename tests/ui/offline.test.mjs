// Tests of the installed page: it opens the session that was read last without a server, and stores nothing for a
// device that was removed.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { startLanServer } from "./support/lan-server.mjs";
import { startClotho } from "./support/server.mjs";
import {
  barValue,
  playUntilHurt,
  browser,
  checkAccessibility,
  clotho,
  composer,
  HP,
  lastMessage,
  openSeededBranch,
  extraServers,
  waitForReply,
  sendMessage,
  messageTexts,
} from "./support/setup.mjs";

/** A phone with its keyboard open. */
const PHONE = { viewport: { width: 360, height: 400 }, hasTouch: true, isMobile: true };
const KEEPS = {
  serviceWorkers: /** @type {const} */ ("allow"),
  expected: /Failed to load resource|WebSocket connection|ERR_/,
};

/** Starts a server that can be stopped. */
async function startOwnServer() {
  const server = await startClotho();
  extraServers.push(server);
  return server;
}

/**
 * Returns the addresses in a cache of the browser.
 * @param {import("playwright-core").Page} page @param {string} name @returns {Promise<string[]>}
 */
const cachedPaths = (page, name) =>
  page.evaluate(
    async (name) =>
      (await caches.has(name)) ? (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname) : [],
    name,
  );

/** Waits until the browser has stored an address. @param {import("playwright-core").Page} page @param {string} address */
const waitForCached = (page, address) =>
  waitUntil(async () => (await cachedPaths(page, "clotho-story")).includes(address), `${address} is kept`);

/** Waits until the service worker controls the page. @param {import("playwright-core").Page} page */
const waitForWorker = (page) => page.waitForFunction(() => navigator.serviceWorker.controller !== null);

describe("without a server", () => {
  test("the page can be installed: its name, icons and service worker", async () => {
    const server = await startOwnServer();
    const { page, close } = await openPage(browser, { serviceWorkers: "allow" });
    await page.goto(server.base);
    await waitForWorker(page);
    const tools = await page.context().newCDPSession(page);
    const { errors, data } = await tools.send("Page.getAppManifest");
    assert.deepEqual(errors, []);
    const { name, icons, display } = JSON.parse(data ?? "{}");
    assert.deepEqual([name, display], ["Clotho", "standalone"]);
    assert.ok(icons.some(({ sizes }) => sizes === "512x512"));
    const { installabilityErrors } = await tools.send("Page.getInstallabilityErrors");
    // Every page of a test is in a private window.
    assert.deepEqual(
      installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito"),
      [],
    );
    await close();
  });

  test("the session that was read last opens with its state; typed text is kept, and the page continues when the server is back", async () => {
    const server = await startOwnServer();
    const { page, close } = await openPage(browser, KEEPS);
    await playUntilHurt(page, server.base);
    await waitForWorker(page);
    const [said, hurt, address] = [await messageTexts(page), await barValue(page, HP), new URL(page.url()).pathname];
    await waitForCached(page, address.replace("/s/", "/api/sessions/"));
    // Reads the session once with the service worker, as on any later visit.
    await page.reload();
    await waitForReply(page);
    await barValue(page, HP);
    await waitForCached(page, `${address.replace("/s/", "/api/chat/")}/projection`);
    await server.stop("SIGKILL");
    await page.reload();
    await waitForReply(page);
    assert.deepEqual(await messageTexts(page), said);
    assert.equal(await barValue(page, HP), hurt);
    await page.getByText("This story is from").waitFor();
    await checkAccessibility(page, "a story that was kept");
    await composer(page).fill("I wait for the light.");
    await composer(page).press("Enter");
    await page.getByText("The server did not answer.").first().waitFor();
    assert.equal(await composer(page).inputValue(), "I wait for the light.");
    await page.goto(server.base);
    await page.locator(".session").first().waitFor();
    await page.goto(server.base + address);
    await waitForReply(page);
    await waitUntil(
      async () => (await composer(page).inputValue()) === "I wait for the light.",
      "what was written is there",
    );
    await server.start();
    await page.getByText("This story is from").waitFor({ state: "detached" });
    await sendMessage(page, "I wait for the light.");
    await page.locator(".message.user").nth(1).getByText("I wait for the light.").waitFor();
    await close();
  });

  test("one session is stored, and files of one version", async () => {
    const stories = [];
    for (const name of ["Rin", "Tam"]) {
      const { id } = await clotho.api("POST", "/api/characters", { name, firstMessage: `I am ${name}.` });
      stories.push(await clotho.api("POST", "/api/sessions", { characterIds: [id], model: "mock/m", plugins: [] }));
    }
    const [rin, tam] = stories.map(({ id }) => id);
    const { page, close } = await openPage(browser, KEEPS);
    await page.goto(`${clotho.base}/s/${rin}`);
    await lastMessage(page).getByText("I am Rin.").waitFor();
    await waitForWorker(page);
    await waitForCached(page, `/api/sessions/${rin}`);
    await page.evaluate(async () =>
      (await caches.open("clotho-page")).put("/assets/0123456789ab/js/main.js", new Response("old")),
    );
    await page.goto(`${clotho.base}/s/${tam}`);
    await lastMessage(page).getByText("I am Tam.").waitFor();
    await waitForCached(page, `/api/sessions/${tam}`);
    await waitUntil(
      async () => !(await cachedPaths(page, "clotho-story")).some((path) => path.includes(rin)),
      "the other story is gone",
    );
    // Whichever part was answered first.
    await waitForCached(page, `/api/chat/${tam}/projection`);
    await waitUntil(
      async () => !(await cachedPaths(page, "clotho-page")).some((path) => path.includes("0123456789ab")),
      "the other version is gone",
    );
    await clotho.api("DELETE", `/api/sessions/${tam}`);
    await waitUntil(
      async () => !(await cachedPaths(page, "clotho-story")).some((path) => path.includes(tam)),
      "what was deleted is not kept",
    );
    await close();
  });

  test("a session that is loading while the service worker starts is stored too", async () => {
    const { id } = await clotho.api("POST", "/api/characters", { name: "Rin", firstMessage: "I am Rin." });
    const story = await clotho.api("POST", "/api/sessions", { characterIds: [id], model: "mock/m", plugins: [] });
    const { page, close } = await openPage(browser, KEEPS);
    await page.route(`**/api/sessions/${story.id}`, async (route) => {
      await waitForWorker(page);
      await route.continue();
    });
    await page.goto(`${clotho.base}/s/${story.id}`);
    await lastMessage(page).getByText("I am Rin.").waitFor();
    await waitForCached(page, `/api/sessions/${story.id}`);
    await close();
  });

  test("a session loaded before a service worker of another page started is stored too", async () => {
    const { id } = await clotho.api("POST", "/api/characters", { name: "Rin", firstMessage: "I am Rin." });
    const story = await clotho.api("POST", "/api/sessions", { characterIds: [id], model: "mock/m", plugins: [] });
    const { page, close } = await openPage(browser, KEEPS);
    let letGo = () => {};
    const held = new Promise((resolve) => (letGo = () => resolve(undefined)));
    await page.route(/\/js\/(?:net\/)?offline\.js$/, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${clotho.base}/s/${story.id}`);
    await lastMessage(page).getByText("I am Rin.").waitFor();
    const other = await page.context().newPage();
    await other.goto(clotho.base);
    await waitForWorker(page);
    letGo();
    await waitForCached(page, `/api/sessions/${story.id}`);
    await close();
  });

  test("a removed device stores nothing", async () => {
    const house = await startLanServer();
    const { id } = await house.api("POST", "/api/characters", {
      name: "Rin",
      firstMessage: "The map is not finished.",
    });
    const story = await house.api("POST", "/api/sessions", { characterIds: [id], model: "mock/m", plugins: [] });
    const { code } = await house.api("POST", "/api/devices/pairing", {});
    const { page, close } = await openPage(browser, KEEPS);
    await page.goto(`${house.elsewhere}/pair#${code}`);
    await page.getByText("This device is paired as").waitFor();
    await page.goto(`${house.elsewhere}/s/${story.id}`);
    await lastMessage(page).getByText("The map is not finished.").waitFor();
    await waitForWorker(page);
    await waitForCached(page, `/api/sessions/${story.id}`);
    const [device] = await house.api("GET", "/api/devices");
    await house.api("DELETE", `/api/devices/${device.id}`);
    await page.getByRole("heading", { name: "This device was removed" }).waitFor();
    await waitUntil(async () => (await cachedPaths(page, "clotho-story")).length === 0, "nothing is kept");
    await close();
  });
});

describe("on a phone", () => {
  test("the tree is in the tab bar, and the field stays in view while the keyboard is open", async () => {
    const { page, close } = await openSeededBranch(PHONE);
    const bottom = page.getByRole("navigation", { name: "Panes" });
    await bottom.getByRole("button", { name: "Story tree" }).tap();
    await page.locator("tree-canvas").waitFor();
    await bottom.getByRole("button", { name: "Story", exact: true }).tap();
    await composer(page).tap();
    await composer(page).fill("A long thing to say, which goes on. ".repeat(20));
    const field = await composer(page).boundingBox();
    const send = await page.getByRole("button", { name: "Send" }).boundingBox();
    const bar = await bottom.boundingBox();
    assert.ok(field && send && bar);
    assert.ok(
      field.y >= 0 && field.y + field.height <= bar.y + 1,
      `the field ends at ${field.y + field.height}, the bar begins at ${bar.y}`,
    );
    assert.ok(send.y + send.height <= bar.y + 1, "it can be sent");
    await close();
  });
});
