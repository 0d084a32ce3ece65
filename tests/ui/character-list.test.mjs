// Tests against the real server: four hundred characters on the first page.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { deflateSync } from "node:zlib";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import { browser, checkAccessibility, extraServers } from "./support/setup.mjs";

const MANY = 400;
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** Starts a server with that many characters. The seventh has a session. */
async function startFullServer() {
  const server = await startClotho();
  extraServers.push(server);
  const add = (/** @type {number} */ n) =>
    server.api("POST", "/api/characters", {
      name: `Traveller ${n}`,
      description: `{{char}} carries the letter ${n} over the pass. `.repeat(1 + (n % 9)),
      firstMessage: "Well met.",
      tags: [n % 2 ? "odd" : "even", ...(n % 100 === 7 ? ["Rare"] : [])],
    });
  let seventh;
  for (let n = 1; n <= MANY; n += 20) {
    const made = await Promise.all(Array.from({ length: 20 }, (_, i) => add(n + i)));
    seventh ??= made[6];
  }
  await server.api("POST", "/api/sessions", { characterIds: [seventh.id], plugins: [] });
  return server;
}

describe("a full library", () => {
  test("of four hundred characters only visible ones are in the page; all are found by words, tags and order", async () => {
    const server = await startFullServer();
    for (const [where, options] of /** @type {const} */ ([
      ["a desk", {}],
      ["a phone", PHONE],
    ])) {
      const { page, close } = await openPage(browser, options);
      await page.goto(server.base);
      const cards = page.locator(".windowed > li");
      const names = () => page.locator(".windowed strong").allInnerTexts();
      const field = page.getByRole("searchbox", { name: "Find a character" });
      await field.waitFor();
      const told = page.locator(".shelf [role=status]");
      await waitUntil(async () => Number.parseInt(await told.innerText(), 10) >= MANY, "all are known");
      assert.ok(!(await names()).includes("Traveller 1"), "the newest come first");
      await page.getByRole("combobox", { name: "Sort" }).selectOption("By name");
      await checkAccessibility(page, `a full library on ${where}`);
      assert.ok((await cards.count()) < 60, `${await cards.count()} cards`);
      const before = await page.locator(".library").evaluate((box) => box.scrollHeight);
      // Down to the last one; the rows above are no longer rendered.
      await waitUntil(async () => {
        await page.locator(".windowed").evaluate((box) => box.scrollIntoView({ block: "end" }));
        assert.ok((await cards.count()) < 60);
        return (await names()).at(-1) === "Traveller 400";
      }, "the last one is reached");
      assert.ok(!(await names()).includes("Traveller 1"));
      assert.ok(
        Math.abs((await page.locator(".library").evaluate((box) => box.scrollHeight)) - before) < 2,
        "the page keeps its length",
      );
      await field.fill("letter 399");
      await waitUntil(async () => (await names()).join() === "Traveller 399", "found by the words of its text");
      assert.match(
        await cards.first().innerText(),
        /Traveller 399 carries the letter 399 over the pass\./,
        "and reads as it will be played",
      );
      await field.fill("");
      await page.getByRole("button", { name: "Rare", exact: true }).click();
      await waitUntil(
        async () => (await names()).join() === "Traveller 7,Traveller 107,Traveller 207,Traveller 307",
        "found by a tag",
      );
      await page.getByRole("button", { name: "even", exact: true }).click();
      await page.getByText("No matching characters.").waitFor();
      await checkAccessibility(page, `nobody found on ${where}`);
      await page.getByRole("button", { name: "Show all" }).click();
      await page.getByRole("combobox", { name: "Sort" }).selectOption("Recently played first");
      await waitUntil(async () => (await names())[0] === "Traveller 7", "who was played last comes first");
      await page.reload();
      await waitUntil(async () => (await names())[0] === "Traveller 7", "the order is kept");
      await page.locator(".windowed button.card").first().click();
      await page.getByRole("dialog").waitFor();
      await close();
    }
  });

  test("S0-05: the pictures of four hundred characters are smaller than a megabyte", async () => {
    const server = await startClotho();
    extraServers.push(server);
    const paths = [];
    const { csrf } = await server.api("GET", "/api/auth/me");
    const headers = { Origin: server.base, "Content-Type": "image/png", "X-CSRF-Token": csrf };
    for (let n = 0; n < PICTURES; n += 1) {
      const { id } = await server.api("POST", "/api/characters", { name: `Painter ${n}` });
      const answer = await fetch(`${server.base}/api/characters/${id}/avatar`, {
        method: "PUT",
        body: paintPortrait(n),
        headers,
      });
      assert.equal(answer.status, 200, await answer.clone().text());
      paths.push(`/api/characters/${id}/avatar`);
    }
    // Each has its own address, so that the browser requests each of them.
    const add = (/** @type {number} */ n) =>
      server.api("POST", "/api/characters", {
        name: `Traveller ${n}`,
        firstMessage: "Well met.",
        avatar: `${paths[n % PICTURES]}?v=${n}`,
      });
    for (let n = 1; n <= MANY; n += 20) await Promise.all(Array.from({ length: 20 }, (_, i) => add(n + i)));
    const { page, close } = await openPage(browser);
    /** @type {Map<string, number>} */
    const bytes = new Map();
    page.on(
      "response",
      async (response) =>
        response.url().includes("/avatar?v=") && bytes.set(response.url(), (await response.body()).length),
    );
    await page.goto(server.base);
    const told = page.locator(".shelf [role=status]");
    await waitUntil(async () => Number.parseInt(await told.innerText(), 10) >= MANY, "all are known");
    await page.getByRole("combobox", { name: "Sort" }).selectOption("By name");
    const down = () =>
      page
        .locator(".library")
        .evaluate(
          (box) => (box.scrollBy(0, innerHeight / 2), box.scrollTop + box.clientHeight >= box.scrollHeight - 2),
        );
    // A scroll is faster than the rows it brings into view. Pictures outside the view may load later.
    const isDrawn = () =>
      page.evaluate(() => {
        const list = document.querySelector(".windowed")?.getBoundingClientRect();
        const rows = [...document.querySelectorAll(".windowed > li")].map((row) => row.getBoundingClientRect());
        if (!list || rows.length === 0) return false;
        const gap = 32;
        const isCovered =
          rows[0].top <= Math.max(0, list.top) + gap && rows.at(-1).bottom >= Math.min(innerHeight, list.bottom) - gap;
        const near = [...document.images].filter(
          (image) => image.getBoundingClientRect().bottom > 0 && image.getBoundingClientRect().top < innerHeight,
        );
        return isCovered && near.every((image) => image.complete && image.naturalWidth > 0);
      });
    do await waitUntil(isDrawn, "what is in sight is drawn");
    while (!(await down()));
    await waitUntil(async () => bytes.size >= MANY && (await isDrawn()), "each was seen");
    assert.ok([...bytes.keys()].every((url) => url.endsWith("size=96")));
    const sum = [...bytes.values()].reduce((all, one) => all + one, 0);
    assert.ok(sum < 1_000_000, `${sum} bytes`);
    assert.ok(sum > MANY * 500, `${sum} bytes are no pictures`);
    await close();
  });

  test("favourites come first, are stored, and are filtered with tags, by keys too", async () => {
    const server = await startFullServer();
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    const names = () => page.locator(".windowed strong").allInnerTexts();
    const field = page.getByRole("searchbox", { name: "Find a character" });
    const star = (/** @type {string} */ name) => page.getByRole("button", { name: `Favourite: ${name}`, exact: true });
    await field.fill("Traveller 107");
    await star("Traveller 107").focus();
    await page.keyboard.press("Enter");
    await page.locator('.star[aria-pressed="true"]').waitFor();
    await field.fill("Traveller 20");
    await star("Traveller 20").click();
    await waitUntil(
      async () => (await names())[0] === "Traveller 20" && (await names()).length > 1,
      "it stands before the others",
    );
    await page.reload();
    await waitUntil(
      async () => (await names()).slice(0, 2).join() === "Traveller 107,Traveller 20",
      "both do, after a reload",
    );
    await checkAccessibility(page, "favourites");
    await page.getByRole("button", { name: "Favourites", exact: true }).click();
    await waitUntil(async () => (await names()).length === 2, "only they are there");
    await page.getByRole("button", { name: "Rare", exact: true }).click();
    await waitUntil(async () => (await names()).join() === "Traveller 107", "with a tag");
    await star("Traveller 107").click();
    await page.getByText("No matching characters.").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await waitUntil(async () => (await names())[0] === "Traveller 20", "one is left");
    await close();
  });
});

/** Only that many pictures are generated; each has many addresses. */
const PICTURES = 8;

/** Generates a portrait like that of a card: soft light, and the grain of a photograph. @param {number} seed */
function paintPortrait(seed) {
  const [width, height] = [160, 240];
  const rows = Buffer.alloc(height * (1 + width * 3));
  let random = seed + 1;
  const grain = () => (random = (random * 48271) % 2147483647) % 40;
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1)
      for (let c = 0; c < 3; c += 1)
        rows[y * (1 + width * 3) + 1 + x * 3 + c] = 90 + 60 * Math.sin((x * (c + 1) + y * (seed + 1)) / 37) + grain();
  const chunk = (/** @type {string} */ kind, /** @type {Buffer} */ data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Returns the CRC of a PNG chunk. Node has its own function from version 22 on. @param {Buffer} bytes */
function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}
