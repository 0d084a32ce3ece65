// Tests of remote pictures of cards: nothing is requested before the user has agreed, once for a card. Then pictures
// come through the own server, and never from private addresses.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { describe } from "node:test";
import { ATTACKS } from "./support/attacks.mjs";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import {
  POLICY_ERROR,
  LOAD_ERROR,
  browser,
  checkAccessibility,
  lastMessage,
  model,
  extraServers,
  waitForReply,
  sendMessage,
} from "./support/setup.mjs";

const PNG = readFileSync(new URL("../fixtures/golden/cards/png-chara-v1.png", import.meta.url));
const MISSED = new RegExp(`${LOAD_ERROR.source}|${POLICY_ERROR.source}`);

/** Starts a server of pictures that counts requests. It answers 404 for what is `gone`. */
async function startPictureServer() {
  const asked = [];
  const gone = new Set();
  const server = createServer((request, response) => {
    asked.push({ path: request.url, headers: request.headers });
    if (gone.has(request.url)) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": "image/png" }).end(PNG);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  extraServers.push(/** @type {any} */ ({ close: () => (server.closeAllConnections(), server.close()) }));
  return { at: `http://127.0.0.1:${server.address().port}`, host: `127.0.0.1:${server.address().port}`, asked, gone };
}

/** Starts a server that may request pictures from 127.0.0.1, with a session whose greeting is the text. */
async function startSessionServer(firstMessage, allowed = ["127.0.0.1"]) {
  const server = await startClotho(
    `[[providers]]\nid = "mock"\nbase_url = "${model.url}"\nmodels = ["m"]\n[pictures]\nallowed_hosts = ${JSON.stringify(allowed)}\n`,
  );
  extraServers.push(server);
  const character = await server.api("POST", "/api/characters", {
    name: "Rin",
    description: "A cartographer.",
    firstMessage,
  });
  const session = await server.api("POST", "/api/sessions", {
    characterIds: [character.id],
    model: "mock/m",
    plugins: [],
  });
  return {
    server,
    cid: character.id,
    path: `/s/${session.id}`,
    answer: () => server.api("GET", `/api/characters/${character.id}/outside`),
  };
}

/** Opens a page on it; `away` are the requests to other servers. */
async function openWatched({ server, path }, options = {}) {
  const opened = await openPage(browser, { expected: MISSED, ...options });
  const away = [];
  const pictures = [];
  opened.page.on("request", (request) => {
    const { origin, pathname, searchParams } = new URL(request.url());
    if (/^http/.test(origin) && origin !== server.base) away.push(request.url());
    if (pathname.endsWith("/outside/picture")) pictures.push(searchParams.get("url"));
  });
  await opened.page.goto(server.base + path);
  await lastMessage(opened.page).waitFor();
  return { ...opened, away, pictures };
}

const question = (page) => page.getByRole("group", { name: "Show images from other servers for Rin?" });
const isLoaded = (image) => image.evaluate((e) => e.complete && e.naturalWidth > 0);
const saveScreenshot = async (page, name) =>
  process.env.SHOTS && (await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` }));

describe("remote pictures", () => {
  for (const [when, options] of Object.entries({
    "by day": { colorScheme: "light" },
    "by night": { colorScheme: "dark" },
    "on a phone": { colorScheme: "light", viewport: { width: 360, height: 740 } },
  })) {
    test(`the page asks once for a card, then loads pictures through the own server, ${when}`, async () => {
      const there = await startPictureServer();
      const story = await startSessionServer(`The quay lies still.\n\n![The quay](${there.at}/quay.png)\n\nShe waits.`);
      const { page, close, away, pictures } = await openWatched(story, options);
      await question(page).waitFor();
      assert.equal(await question(page).count(), 1);
      assert.match(await question(page).innerText(), /see the address of your server.*words of this story/s);
      await checkAccessibility(page, `the question ${when}`);
      await saveScreenshot(page, `outside-question-${when.replaceAll(" ", "-")}`);
      // A second message with pictures does not ask again.
      model.queueReply([`Look: ![A boat](${there.at}/boat.png)`]);
      await sendMessage(page, `I paint ![mine](${there.at}/mine.png)`);
      await waitForReply(page);
      await waitUntil(
        async () =>
          (await question(page).count()) === 1 &&
          (await lastMessage(page).getByRole("group", { name: "Show images from other servers" }).count()) === 1,
        "the last message asks, and no other",
      );
      assert.deepEqual([there.asked, pictures, away], [[], [], []], "nothing was asked before the answer");
      assert.deepEqual(await story.answer(), { allowed: null });
      await question(page).getByRole("button", { name: "Show images" }).click();
      const quay = page.getByRole("img", { name: "The quay" });
      for (const image of [page.getByRole("img", { name: "A boat" }), quay]) {
        await image.scrollIntoViewIfNeeded();
        await waitUntil(() => isLoaded(image), "the picture is there");
      }
      assert.equal(await question(page).count(), 0);
      assert.deepEqual(await story.answer(), { allowed: true });
      assert.deepEqual(
        there.asked.map(({ path }) => path).sort(),
        ["/boat.png", "/quay.png"],
        "what the reader wrote is asked of nobody",
      );
      for (const { headers } of there.asked)
        assert.deepEqual([headers.cookie, headers.referer], [undefined, undefined]);
      assert.deepEqual(away, []);
      assert.ok(new URL(await quay.evaluate((e) => e.src)).pathname.startsWith("/api/characters/"));
      await checkAccessibility(page, `pictures ${when}`);
      await saveScreenshot(page, `outside-shown-${when.replaceAll(" ", "-")}`);
      // The answer and the pictures are stored.
      await page.reload();
      await lastMessage(page).waitFor();
      await quay.scrollIntoViewIfNeeded();
      await waitUntil(() => isLoaded(quay), "the picture is there again");
      assert.equal(await question(page).count(), 0);
      assert.equal(there.asked.length, 2);
      await close();
    });
  }

  test("a refusal holds until the user changes it in the character or at the picture", async () => {
    const there = await startPictureServer();
    const story = await startSessionServer(`![The quay](${there.at}/quay.png)`);
    const { page, close, pictures } = await openWatched(story);
    await question(page).getByRole("button", { name: "Never for this character" }).click();
    await question(page).waitFor({ state: "detached" });
    assert.deepEqual(await story.answer(), { allowed: false });
    await page.reload();
    const place = page.getByRole("button", { name: `Image from ${there.host}: The quay` });
    await place.waitFor();
    assert.equal(await question(page).count(), 0);
    // At the picture.
    await place.click();
    await question(page).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Show images");
    await page.keyboard.press("Enter");
    const quay = page.getByRole("img", { name: "The quay" });
    await waitUntil(() => isLoaded(quay), "it is shown");
    // In the character.
    const change = async (answer) => {
      await page.goto(story.server.base);
      await page.getByRole("region", { name: "New story" }).getByRole("button", { name: "Manage “Rin”" }).click();
      await page.locator(".menu:popover-open").getByRole("button", { name: "Edit character" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Images from other servers").selectOption({ label: answer });
      await checkAccessibility(page, "the answer at the character");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await change("Never show");
    assert.deepEqual(await story.answer(), { allowed: false });
    await page.goto(story.server.base + story.path);
    await place.waitFor();
    await change("Ask");
    assert.deepEqual(await story.answer(), { allowed: null });
    const before = pictures.length;
    await page.goto(story.server.base + story.path);
    await question(page).waitFor();
    assert.equal(pictures.length, before);
    await close();
  });

  test("pictures neither flicker nor load twice while a reply is generated", async () => {
    const there = await startPictureServer();
    const story = await startSessionServer("Well?");
    await story.server.api("PUT", `/api/characters/${story.cid}/outside`, { allowed: true });
    const { page, close, pictures } = await openWatched(story);
    const held = model.queueHeldReply([
      "Look: ",
      `![A bo`,
      `at](${there.at}/boat.png)`,
      " there",
      ", and <i>on",
      "</i>.\n\nMore",
      ".\n\nAnd ![again](",
      `${there.at}/boat.png) more.`,
      "\n\nThe end.",
    ]);
    await sendMessage(page, "Go on.");
    held.next(3);
    const boat = lastMessage(page).getByRole("img", { name: "A boat" });
    await waitUntil(() => isLoaded(boat), "it is there while the reply is written");
    await boat.evaluate((e) => Object.assign(window, { boat: e, gone: 0 }));
    // An element that is restored before the next frame is never seen missing.
    await page.evaluate(() => {
      const look = () => {
        if (!(/** @type {any} */ (window).boat.isConnected)) /** @type {any} */ (window).gone += 1;
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    for (const text of ["there", "on", "More", "more.", "The end."]) {
      held.next(text === "more." ? 2 : 1);
      await lastMessage(page).getByText(text).first().waitFor();
    }
    held.open();
    await waitForReply(page);
    assert.deepEqual(
      await boat.evaluate((e) => [e === /** @type {any} */ (window).boat, /** @type {any} */ (window).gone]),
      [true, 0],
    );
    const again = lastMessage(page).getByRole("img", { name: "again" });
    await again.scrollIntoViewIfNeeded();
    await waitUntil(() => isLoaded(again), "the second is there");
    assert.deepEqual(new Set(pictures), new Set([`${there.at}/boat.png`]));
    assert.equal(there.asked.length, 1);
    await close();
  });

  test("pictures that fail name their server and can be requested again", async () => {
    const there = await startPictureServer();
    there.gone.add("/quay.png");
    const story = await startSessionServer(`Before.\n\n![The quay](${there.at}/quay.png)\n\nAfter.`);
    await story.server.api("PUT", `/api/characters/${story.cid}/outside`, { allowed: true });
    const { page, close } = await openWatched(story);
    await lastMessage(page).getByText(`The image from ${there.host} could not be loaded: The quay`).waitFor();
    await checkAccessibility(page, "a picture that did not come");
    await saveScreenshot(page, "outside-failed");
    there.gone.clear();
    await lastMessage(page).getByRole("button", { name: "Try again" }).click();
    await waitUntil(() => isLoaded(page.getByRole("img", { name: "The quay" })), "it has come");
    await close();
  });

  test("a text rendered again keeps its position", async () => {
    const there = await startPictureServer();
    const story = await startSessionServer(`Before.\n\n![The quay](${there.at}/quay.png)\n\nAfter.`);
    await story.server.api("PUT", `/api/characters/${story.cid}/outside`, { allowed: true });
    const { page, close } = await openWatched(story);
    const quay = page.getByRole("img", { name: "The quay" });
    await waitUntil(() => isLoaded(quay), "it is there");
    const size = () =>
      quay.evaluate((e) => [e.getBoundingClientRect().width, e.getBoundingClientRect().height].map(Math.round));
    const seen = await size();
    await page.route("**/outside/picture*", () => {});
    // A change of the language renders every text again.
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "中文" }).click();
    await page.getByRole("textbox", { name: "你的消息" }).waitFor();
    assert.deepEqual(await size(), seen);
    assert.ok(await isLoaded(quay), "it is the same picture");
    await close();
  });

  test("hostile addresses reach nothing on the local network, and the browser requests nothing elsewhere", async () => {
    const there = await startPictureServer();
    const inside = [
      `${there.at}/inside.png`,
      "http://localhost:1/a.png",
      "http://169.254.169.254/latest/meta-data",
      "http://[::1]/a.png",
      `http://user:word@${there.host}/a.png`,
      "http://10.0.0.1/a.png",
      "//evil.example/a.png",
      "https:evil.example/a.png",
      "file:///etc/passwd",
      "/api/auth/me",
      "javascript:window.hacked=1",
      `http://${there.host}/"onerror="window.hacked=1`,
    ];
    const story = await startSessionServer(
      `${inside.map((address, i) => `<img src='${address}' alt="p${i}" onerror="window.hacked=1">`).join("\n\n")}\n\n${ATTACKS.filter((one) => one.length < 400).join("\n\n")}\n\nThe end.`.replaceAll(
        "\0",
        "",
      ),
      [],
    );
    await story.server.api("PUT", `/api/characters/${story.cid}/outside`, { allowed: true });
    const { page, close, away, pictures } = await openWatched(story);
    await waitUntil(async () => pictures.length > 0, "our server is asked");
    for (const shown of await page.locator(".prose .shown").all()) await shown.scrollIntoViewIfNeeded();
    await waitUntil(
      async () => (await page.locator(".prose .shown.awaited").count()) === 0,
      "each was answered",
      60_000,
    );
    assert.deepEqual(there.asked, [], "nothing inside was asked");
    assert.deepEqual(away, []);
    assert.ok(pictures.length >= 6 && pictures.every((url) => /^https?:\/\//.test(url)), pictures.join());
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).hacked), undefined);
    assert.equal(await page.locator(".prose [onerror], .prose img[srcset]").count(), 0);
    await close();
  });
});
