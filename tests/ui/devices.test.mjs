// Tests of paired devices: the owner pairs a phone on the page, the phone enters with its code, and is removed again.
import assert from "node:assert/strict";
import { describe, test as plain } from "node:test";
import { codeOf, darkPath, minutes, groupedCode } from "../../static/src/lib/pairing.ts";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { startLanServer } from "./support/lan-server.mjs";
import { LOAD_ERROR, browser, checkAccessibility, clotho, composer, lastMessage } from "./support/setup.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
/** A device that is not paired is refused, and the browser reports that. */
const CLOSED = /Failed to load resource|WebSocket/;

const dialog = (page) => page.getByRole("dialog", { name: "Pair a device" });
const pairingPage = (page) => page.getByRole("heading", { name: "This device is not paired" });
const devices = (page) => page.getByRole("region", { name: "Devices" });
const saveScreenshot = async (page, name) =>
  process.env.SHOTS && (await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` }));

/** Opens the page of the owner, who has requested a code. */
async function openPairing(server, options) {
  const owner = await openPage(browser, options);
  await owner.page.goto(`${server.base}/settings`);
  await devices(owner.page).getByRole("button", { name: "Pair a device" }).click();
  await owner.page.locator(".short code").waitFor();
  return owner;
}

const codeOnScreen = (page) => page.locator(".short code").innerText();

/** Opens an address of the server on a phone. */
async function openOnPhone(server, path = "/", options = {}) {
  const opened = await openPage(browser, { expected: CLOSED, ...PHONE, ...options });
  await opened.page.goto(server.elsewhere + path);
  return opened;
}

const submitCode = async (page, code) => {
  await page.getByRole("textbox", { name: "Code" }).fill(code);
  await page.getByRole("button", { name: "Pair this device" }).click();
};

/** Requests a code through the API. */
const requestCode = async (server) => (await server.api("POST", "/api/devices/pairing", {})).code;

/**
 * Returns the modules of a QR code on the screen: the middle of each square, 1 if it is dark.
 * @param {import("playwright-core").Page} page @param {number} side in squares, with the light ones around it
 */
async function scanModules(page, side) {
  const png = (await page.locator(".qr").screenshot()).toString("base64");
  return page.evaluate(
    async ([data, n]) => {
      const image = new Image();
      image.src = `data:image/png;base64,${data}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.width, image.height];
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const pixels = context.getImageData(0, 0, image.width, image.height).data;
      const bright = (x, y) =>
        pixels[4 * (y * image.width + x)] +
        pixels[4 * (y * image.width + x) + 1] +
        pixels[4 * (y * image.width + x) + 2];
      return Array.from({ length: n }, (_, row) =>
        Array.from({ length: n }, (_, column) => {
          const seen = bright(
            Math.floor(((column + 0.5) * image.width) / n),
            Math.floor(((row + 0.5) * image.height) / n),
          );
          return seen < 120 ? "1" : seen > 720 ? "0" : "?";
        }).join(""),
      );
    },
    [png, side],
  );
}

describe("codes", () => {
  plain("are taken out of what somebody typed or pasted", () => {
    for (const typed of ["k7qdm2xp", " K7QD-M2XP ", "http://192.168.0.7:7317/pair#k7qdm2xp"])
      assert.equal(codeOf(typed).toLowerCase(), "k7qdm2xp", typed);
    assert.equal(groupedCode("k7qdm2xp"), "K7QD-M2XP");
    assert.equal(minutes(300), "5:00");
    assert.equal(minutes(9), "0:09");
  });

  plain("are drawn square by square, with light around", () => {
    assert.equal(darkPath(["1101", "0000", "0010"]), "M4 4h2v1h-2zM7 4h1v1h-1zM6 6h1v1h-1z");
  });
});

describe("paired devices", () => {
  test("a phone scans the code and is paired, and the owner is notified", async () => {
    const server = await startLanServer();
    const owner = await openPairing(server);
    await checkAccessibility(owner.page, "a code for a device");
    const code = await codeOnScreen(owner.page);
    assert.match(code, /^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
    assert.match(await dialog(owner.page).locator(".ends").innerText(), /[45]:\d\d/);
    await saveScreenshot(owner.page, "pair-light");
    const visitor = await openOnPhone(server, `/pair#${await requestCode(server)}`);
    await visitor.page.getByText("This device is paired as “Chrome · ").waitFor();
    assert.equal(
      await visitor.page.evaluate(() => location.href),
      `${server.elsewhere}/`,
      "the code stays in no address",
    );
    await visitor.page.getByRole("heading", { name: "Every message is a save point." }).waitFor();
    await dialog(owner.page).getByText("is paired.").waitFor();
    await checkAccessibility(owner.page, "a device was paired");
    await saveScreenshot(owner.page, "pair-done");
    await dialog(owner.page).getByLabel("Device name").fill("Phone of Rin");
    await dialog(owner.page).getByRole("button", { name: "Done" }).click();
    await devices(owner.page).getByRole("article", { name: "Phone of Rin" }).waitFor();
    assert.equal(await devices(owner.page).getByText("this device").count(), 0);
    // The device is marked as this one.
    await visitor.page.goto(`${server.elsewhere}/settings`);
    await devices(visitor.page).getByRole("article", { name: "Phone of Rin" }).getByText("this device").waitFor();
    await checkAccessibility(visitor.page, "the devices, on one of them");
    await saveScreenshot(visitor.page, "devices-phone");
    await devices(visitor.page).getByRole("button", { name: "Rename “Phone of Rin”" }).click();
    await visitor.page.getByRole("dialog").getByLabel("Name").fill("Tablet");
    await visitor.page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await devices(visitor.page).getByRole("article", { name: "Tablet" }).waitFor();
    await owner.close();
    await visitor.close();
  });

  test("an unpaired phone shows the pairing page and enters with the code that the owner reads out", async () => {
    const server = await startLanServer();
    const character = await server.api("POST", "/api/characters", {
      name: "Rin",
      firstMessage: "The map is not finished.",
    });
    const story = await server.api("POST", "/api/sessions", {
      characterIds: [character.id],
      model: "mock/m",
      plugins: [],
      title: "Secret",
    });
    const owner = await openPairing(server);
    const visitor = await openOnPhone(server, `/s/${story.id}`);
    await pairingPage(visitor.page).waitFor();
    await checkAccessibility(visitor.page, "the door");
    await saveScreenshot(visitor.page, "door-phone");
    assert.doesNotMatch(await visitor.page.locator("body").innerText(), /Secret|map/);
    await submitCode(visitor.page, "AAAA-AAAA");
    await visitor.page.getByText("This code is not valid.").waitFor();
    await checkAccessibility(visitor.page, "a code that is refused");
    await saveScreenshot(visitor.page, "door-refused");
    const code = await codeOnScreen(owner.page);
    await submitCode(visitor.page, code.toLowerCase().replace("-", " "));
    await composer(visitor.page).waitFor();
    await visitor.page.getByText("This device is paired as").waitFor();
    await lastMessage(visitor.page).getByText("The map is not finished.").waitFor();
    await dialog(owner.page).getByText("is paired.").waitFor();
    // The code is used up, and the next press gives a new one.
    const second = await openOnPhone(server);
    await pairingPage(second.page).waitFor();
    await submitCode(second.page, code);
    await second.page.getByText("It is mistyped, already used, or older than five minutes.").waitFor();
    await dialog(owner.page).getByRole("button", { name: "Pair another device" }).click();
    await owner.page.locator(".short code").waitFor();
    assert.notEqual(await codeOnScreen(owner.page), code);
    await submitCode(second.page, await codeOnScreen(owner.page));
    await second.page.getByText("This device is paired as").waitFor();
    await dialog(owner.page).getByText("is paired.").waitFor();
    for (const { close } of [owner, visitor, second]) await close();
  });

  test("a removed phone shows the pairing page at once, with its session open, and stops requesting", async () => {
    const server = await startLanServer();
    const character = await server.api("POST", "/api/characters", {
      name: "Rin",
      firstMessage: "The map is not finished.",
    });
    const story = await server.api("POST", "/api/sessions", {
      characterIds: [character.id],
      model: "mock/m",
      plugins: [],
    });
    const visitor = await openOnPhone(server, `/pair#${await requestCode(server)}`);
    await visitor.page.getByText("This device is paired as").waitFor();
    const lines = [];
    visitor.page.on("websocket", (line) => lines.push(line));
    await visitor.page.goto(`${server.elsewhere}/s/${story.id}`);
    await lastMessage(visitor.page).getByText("The map is not finished.").waitFor();
    await waitUntil(async () => lines.length === 1, "its line is open");
    const owner = await openPage(browser);
    await owner.page.goto(`${server.base}/settings`);
    const [{ name }] = await server.api("GET", "/api/devices");
    await devices(owner.page)
      .getByRole("button", { name: `Remove “${name}”` })
      .click();
    const question = owner.page.getByRole("dialog");
    await question.getByText("loses access at once").waitFor();
    await checkAccessibility(owner.page, "the question before a device is removed");
    await question.getByRole("button", { name: "Remove", exact: true }).click();
    await visitor.page.getByRole("heading", { name: "This device was removed" }).waitFor();
    assert.doesNotMatch(await visitor.page.locator("body").innerText(), /map/);
    await checkAccessibility(visitor.page, "the door of who was removed");
    await devices(owner.page).getByText("No device is paired yet.").waitFor();
    const opened = lines.length;
    // When the user returns to the page, it asks only whether it is paired.
    const asked = [];
    visitor.page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await visitor.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await waitUntil(async () => asked.length > 0, "it has asked");
    await new Promise((later) => setTimeout(later, 2_500));
    assert.deepEqual([...new Set(asked)], ["/api/auth/me"]);
    assert.ok(opened <= 2 && lines.length === opened, `${opened}, then ${lines.length} lines`);
    // A new code brings the device back to where it was.
    await submitCode(visitor.page, await requestCode(server));
    await lastMessage(visitor.page).getByText("The map is not finished.").waitFor();
    await owner.close();
    await visitor.close();
  });

  test("a phone removed while its library is open shows the pairing page when the user returns", async () => {
    const server = await startLanServer();
    const visitor = await openOnPhone(server, `/pair#${await requestCode(server)}`);
    await visitor.page.getByText("This device is paired as").waitFor();
    const [{ id }] = await server.api("GET", "/api/devices");
    await server.api("DELETE", `/api/devices/${id}`);
    await visitor.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await visitor.page.getByRole("heading", { name: "This device was removed" }).waitFor();
    await visitor.close();
  });

  test("a device revokes its own access after a confirmation", async () => {
    const server = await startLanServer();
    const visitor = await openOnPhone(server, `/pair#${await requestCode(server)}`);
    await visitor.page.getByText("This device is paired as").waitFor();
    await visitor.page.getByRole("button", { name: "Rename" }).click();
    await devices(visitor.page)
      .getByRole("button", { name: /^Remove/ })
      .click();
    await visitor.page.getByRole("dialog").getByText("You are using this device now").waitFor();
    await visitor.page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await visitor.page.getByRole("heading", { name: "This device was removed" }).waitFor();
    assert.equal(await visitor.page.getByRole("dialog").count(), 0);
    assert.deepEqual(await server.api("GET", "/api/devices"), []);
    await visitor.close();
  });

  for (const [when, options] of Object.entries({
    "by day": { colorScheme: "light" },
    "by night": { colorScheme: "dark" },
    "on a phone in Chinese": { colorScheme: "dark", locale: "zh-CN", ...PHONE, viewport: { width: 360, height: 740 } },
  })) {
    test(`the QR code can be scanned ${when}: dark on light, with a light border`, async () => {
      const server = await startLanServer();
      const owner = await openPage(browser, options);
      const answer = owner.page.waitForResponse((response) => response.url().endsWith("/api/devices/pairing"));
      await owner.page.goto(`${server.base}/settings`);
      await owner.page.getByRole("button", { name: /^(Pair a device|配对设备)$/ }).click();
      const { links, shortCode } = await (await answer).json();
      await owner.page.locator(".qr").waitFor();
      assert.equal((await codeOnScreen(owner.page)).replace("-", "").toLowerCase(), shortCode);
      for (const [i, { address, modules }] of links.entries()) {
        if (links.length > 1) await owner.page.locator(".typed select").selectOption(String(i));
        assert.equal(await owner.page.locator(".site code").innerText(), new URL(address).origin);
        const light = "0".repeat(modules.length + 8);
        const rows = modules.map((row) => `0000${row}0000`);
        // The outermost light modules lie below the rounded edge.
        const around = Array(4).fill(light);
        assert.deepEqual(
          (await scanModules(owner.page, modules.length + 8)).slice(1, -1).map((row) => row.slice(1, -1)),
          [...around, ...rows, ...around].slice(1, -1).map((row) => row.slice(1, -1)),
        );
      }
      assert.equal(await owner.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
      await checkAccessibility(owner.page, `a code ${when}`);
      await saveScreenshot(owner.page, `pair-${when.replaceAll(" ", "-")}`);
      await owner.close();
    });
  }

  test("an expired code says so and can be replaced", async () => {
    const server = await startLanServer();
    const owner = await openPage(browser);
    let isFirst = true;
    await owner.page.route("**/api/devices/pairing", async (route) => {
      const answer = await route.fetch();
      const told = await answer.json();
      await route.fulfill({ response: answer, json: isFirst ? { ...told, expiresInS: 1 } : told });
      isFirst = false;
    });
    await owner.page.goto(`${server.base}/settings`);
    await devices(owner.page).getByRole("button", { name: "Pair a device" }).click();
    await dialog(owner.page).getByText("This code has expired.").waitFor();
    assert.equal(await dialog(owner.page).getByRole("button", { name: "Copy link" }).count(), 0);
    await saveScreenshot(owner.page, "pair-ended");
    await dialog(owner.page).getByRole("button", { name: "New code" }).click();
    await dialog(owner.page)
      .getByText("Valid once, for 5:00")
      .or(dialog(owner.page).getByText(/Valid once, for 4:5\d/))
      .first()
      .waitFor();
    await owner.close();
  });

  test("the link says when no pairing is needed, and uses no code up", async () => {
    const server = await startLanServer();
    const code = await requestCode(server);
    const owner = await openPage(browser);
    await owner.page.goto(`${server.base}/pair#${code}`);
    await owner.page.getByText("This device needs no pairing").waitFor();
    assert.equal(await owner.page.evaluate(() => location.href), `${server.base}/`);
    const visitor = await openOnPhone(server, `/pair#${code}`);
    await visitor.page.getByText("This device is paired as").waitFor();
    await owner.close();
    await visitor.close();
  });

  test("a link with a used code leads to the pairing page, which explains what to do, also in Chinese", async () => {
    const server = await startLanServer();
    const visitor = await openOnPhone(server, `/pair#${"0".repeat(32)}`, {
      colorScheme: "dark",
      viewport: { width: 360, height: 740 },
    });
    await visitor.page.getByText("This code is not valid.").waitFor();
    await visitor.page.getByRole("button", { name: "中文" }).click();
    await visitor.page.getByRole("heading", { name: "这台设备还没有配对" }).waitFor();
    await visitor.page.getByText("这个配对码无效。").waitFor();
    await checkAccessibility(visitor.page, "the door by night");
    await saveScreenshot(visitor.page, "door-night");
    await visitor.page.getByRole("textbox").fill("AAAA-AAAA");
    for (let tries = 0; tries < 12 && (await visitor.page.getByText("尝试的次数太多了。").count()) === 0; tries += 1) {
      const answer = visitor.page.waitForResponse((response) => response.url().endsWith("/api/devices/claim"));
      await visitor.page.getByRole("textbox").press("Enter");
      await answer;
      await visitor.page.getByText("正在核对").waitFor({ state: "detached" });
    }
    await visitor.page.getByText("等一分钟，再用新的配对码试。").waitFor();
    await visitor.close();
  });

  test("the settings explain how to serve other devices when the server does not", async () => {
    const { page, close } = await openPage(browser, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${clotho.base}/settings`);
    await devices(page).getByText("clotho serve --lan").waitFor();
    assert.equal(await devices(page).getByRole("button", { name: "Pair a device" }).count(), 0);
    await devices(page).getByRole("button", { name: "Copy command" }).click();
    await page.getByText("Copied.").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "clotho serve --lan");
    await checkAccessibility(page, "the devices of a server that serves its own machine");
    await saveScreenshot(page, "devices-off");
    await close();
  });

  test("a server that is gone when a new code is requested is reported, and the request can be repeated", async () => {
    const server = await startLanServer();
    const owner = await openPage(browser, { expected: LOAD_ERROR });
    await owner.page.goto(`${server.base}/settings`);
    await devices(owner.page).getByRole("button", { name: "Pair a device" }).click();
    await owner.page.locator(".short code").waitFor();
    await server.stop();
    await dialog(owner.page).getByRole("button", { name: "New code" }).click();
    await dialog(owner.page).getByRole("button", { name: "Try again" }).waitFor();
    await server.start();
    await dialog(owner.page).getByRole("button", { name: "Try again" }).click();
    await owner.page.locator(".short code").waitFor();
    await owner.close();
  });
});
