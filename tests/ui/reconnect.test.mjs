// Tests against the real server: connections that died silently, as when a phone sleeps.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  browser,
  chatPath,
  clotho,
  seedBranch,
  lastMessage,
  openSession,
  readSession,
  messageTexts,
} from "./support/setup.mjs";

/** The maximum waiting time of a returning user: a second for the dead connection, plus the time of reading again. */
const SOON = 5000;

/** @param {import("playwright-core").Page} page */
const wakePage = (page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

/** Adds a message through the API. @param {string} path */
async function addThroughApi(path, content) {
  const parentId = (await readSession(path)).activeLeafId;
  return clotho.api("POST", `${chatPath(path)}/message`, { parentId, role: "user", content });
}

describe("dead connections", () => {
  test("a dead connection is noticed within a second, and the missed changes are shown", async () => {
    const { path } = await seedBranch();
    const { page, close } = await openPage(browser);
    const lines = [];
    await page.routeWebSocket(/\/ws/, (socket) => {
      const server = socket.connectToServer();
      const line = { isDead: false, pongs: 0 };
      lines.push(line);
      socket.onMessage((text) => line.isDead || server.send(text));
      server.onMessage((text) => {
        if (line.isDead) return;
        if (JSON.parse(String(text)).type === "pong") line.pongs += 1;
        socket.send(text);
      });
      socket.onClose(() => line.isDead || server.close());
    });
    await page.goto(clotho.base + path);
    await lastMessage(page).waitFor();
    await waitUntil(async () => lines.length === 1, "the line is open");
    await addThroughApi(path, "First.");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "First.", "the line is alive");
    lines[0].isDead = true;
    await addThroughApi(path, "Said while asleep.");
    await wakePage(page);
    await waitUntil(
      async () => (await messageTexts(page)).at(-1) === "Said while asleep.",
      "what was missed is shown",
      SOON,
    );
    assert.equal(lines.length, 2);
    await wakePage(page);
    await waitUntil(async () => lines[1].pongs === 1, "a line that is alive answers");
    await addThroughApi(path, "And stays.");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "And stays.", "what comes next is heard");
    assert.equal(lines.length, 2, "on the same line");
    await close();
  });

  test("a read without an answer is repeated", async () => {
    const { path } = await seedBranch();
    const { page, close } = await openPage(browser);
    await page.clock.install();
    let asked = 0;
    // The first request never gets an answer.
    await page.route(/\/projection/, (route) => ((asked += 1) === 1 ? undefined : route.continue()));
    await page.goto(clotho.base + path);
    await waitUntil(async () => asked === 1, "the story is asked for");
    await page.clock.fastForward(31_000);
    await lastMessage(page).waitFor({ timeout: SOON });
    assert.ok(asked >= 2);
    await close();
  });

  test("a truncated response is reported as a lost connection, and can be repeated", async () => {
    const { path } = await seedBranch();
    const { page, close } = await openPage(browser);
    await page.addInitScript(() => {
      const real = window.fetch;
      let isFirst = true;
      window.fetch = async (to, init) => {
        if (!isFirst || !String(to).includes("/projection")) return real(to, init);
        isFirst = false;
        return new Response(new ReadableStream({ start: (body) => body.error(new TypeError("network error")) }));
      };
    });
    await page.goto(clotho.base + path);
    await page.getByRole("button", { name: "Try again" }).click();
    await lastMessage(page).waitFor();
    await close();
  });
});

describe("the title", () => {
  test("S0-40: the title follows when another program renames the session, on the page and in the tab", async () => {
    const { path } = await seedBranch();
    const { page, close } = await openSession(path);
    await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { title: "The unfinished map" });
    await page.locator(".topbar .title", { hasText: "The unfinished map" }).waitFor();
    await waitUntil(async () => (await page.title()) === "The unfinished map · Clotho", "the tab says so");
    assert.equal(await page.locator(".opening p").innerText(), "The unfinished map");
    await close();
  });
});
