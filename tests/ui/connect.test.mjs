// Tests against the real server: connecting a model server with one form, and the settings.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { sampleFiles, writeFolder } from "./support/sillytavern-folder.mjs";
import { startClotho } from "./support/server.mjs";
import {
  LOAD_ERROR,
  browser,
  checkAccessibility,
  composer,
  declineBroughtSettings,
  model,
  extraServers,
  waitForReply,
  sendMessage,
  messageTexts,
} from "./support/setup.mjs";

/** Starts a server without any model server. */
async function startEmptyServer() {
  const server = await startClotho();
  extraServers.push(server);
  return server;
}

const form = (page) => page.getByRole("dialog", { name: "Connect a model" });
const servers = async (server) => (await server.api("GET", "/api/providers")).items;

/** Connects the mock model server through the API. */
const connectMock = (server, id = "house") =>
  server.api("POST", "/api/providers", { id, kind: "openai", baseUrl: model.url, key: "sk-kept" });

describe("connecting a model", () => {
  test("a story of SillyTavern without a model leads to the form, and plays after it", async () => {
    const server = await startEmptyServer();
    const root = await writeFolder(sampleFiles(0));
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    const asked = page.waitForEvent("filechooser");
    await page
      .getByRole("button", { name: /^Import from SillyTavern/ })
      .first()
      .click();
    await (await asked).setFiles(root);
    await page.getByRole("dialog").getByRole("button", { name: "Import", exact: true }).click();
    await page.getByRole("dialog", { name: "Import report" }).waitFor();
    const { items } = await server.api("GET", "/api/sessions");
    const session = items.find(({ title }) => title === "Night");
    await page.goto(`${server.base}/s/${session.id}`);
    await declineBroughtSettings(page);
    await sendMessage(page, "Hello.");
    const failure = page.getByRole("group", { name: "The reply failed" });
    await failure.getByText("No model is connected.").waitFor();
    await checkAccessibility(page, "a failure without a model");
    await failure.getByRole("button", { name: "Connect a model" }).click();
    await form(page).getByLabel("Base URL").fill(model.url);
    await form(page).getByLabel("API key").fill("sk-typed-by-hand");
    await form(page).getByRole("button", { name: "Load models" }).click();
    await form(page).getByRole("button", { name: "Connect", exact: true }).click();
    await form(page).waitFor({ state: "detached" });
    model.queueReply(["She nods."]);
    await failure.getByRole("button", { name: "Try again" }).click();
    await waitForReply(page);
    assert.ok((await messageTexts(page)).some((text) => text.includes("She nods.")));
    await close();
  });

  test("S0-39: a new user fills in one form and plays", async () => {
    const server = await startEmptyServer();
    const character = await server.api("POST", "/api/characters", {
      name: "Rin",
      firstMessage: "The map is not finished.",
    });
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    await page.getByRole("button", { name: /Connect a model/ }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Connect a model" }).count(), 0, "it is offered once");
    await page.getByRole("button", { name: character.name }).first().click();
    const start = page.getByRole("dialog", { name: "Rin" });
    await start.getByRole("button", { name: "Connect a model" }).click();
    await form(page).getByLabel("Base URL").fill(model.url);
    await form(page).getByLabel("API key").fill("sk-typed-by-hand");
    await checkAccessibility(page, "the form for a model server");
    await form(page).getByRole("button", { name: "Load models" }).click();
    await form(page).getByRole("status").getByText("One model found.").waitFor();
    assert.equal(await form(page).locator("[name=model]").inputValue(), "m");
    model.queueReply(["Hello there."]);
    await form(page).getByRole("button", { name: "Test" }).click();
    await form(page)
      .getByText(/Reply after [\d.]+ s: “Hello there\.”/)
      .waitFor();
    await checkAccessibility(page, "a model that answered");
    await form(page).getByRole("button", { name: "Connect", exact: true }).click();
    const chosen = start.getByRole("combobox", { name: "Model" });
    await chosen.waitFor();
    assert.equal(await chosen.inputValue(), "local/m");
    await start.getByRole("button", { name: "Start" }).click();
    await composer(page).waitFor();
    model.queueReply(["She nods."]);
    await sendMessage(page, "Well?");
    await waitForReply(page);
    assert.ok((await messageTexts(page)).some((text) => text.includes("She nods.")));
    assert.equal((await server.api("GET", "/api/providers")).defaultModel, "local/m");
    assert.equal(await server.hasOnDisk("sk-typed-by-hand"), false, "the key lies in the data folder");
    await close();
  });

  test("a service fills in its address, which can be changed", async () => {
    const server = await startEmptyServer();
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    await page.getByRole("button", { name: /Connect a model/ }).click();
    const service = form(page).getByLabel("Service");
    const address = form(page).getByLabel("Base URL");
    await service.waitFor();
    assert.ok((await service.locator("option").count()) > 30);
    await service.selectOption({ label: "OpenRouter" });
    assert.equal(await address.inputValue(), "https://openrouter.ai/api/v1");
    assert.equal(await form(page).locator("[name=id]").inputValue(), "openrouter");
    const link = form(page).getByRole("link", { name: "Get a key from OpenRouter" });
    assert.equal(await link.getAttribute("href"), "https://openrouter.ai/keys");
    await checkAccessibility(page, "a service with a page for keys");
    await address.fill(model.url);
    await service.selectOption({ label: "Mistral" });
    assert.equal(await address.inputValue(), model.url, "what was typed stays");
    await form(page).getByRole("button", { name: "Connect", exact: true }).click();
    await form(page).waitFor({ state: "detached" });
    assert.deepEqual(
      (await servers(server)).map(({ id, kind }) => [id, kind]),
      [["mistral", "mistral"]],
    );
    await close();
  });

  test("Connect waits for the list of models that is on its way", async () => {
    const server = await startEmptyServer();
    const { page, close } = await openPage(browser);
    let answer;
    const asked = new Promise((resolve) => {
      void page.route("**/api/providers/test", async (route) => {
        const answered = new Promise((done) => {
          answer = done;
        });
        resolve();
        await answered;
        await route.continue();
      });
    });
    await page.goto(server.base);
    await page.getByRole("button", { name: /Connect a model/ }).click();
    await form(page).getByLabel("Base URL").fill(model.url);
    await form(page).getByRole("button", { name: "Load models" }).click();
    await asked;
    await form(page).getByRole("button", { name: "Connect", exact: true }).click();
    answer();
    await form(page).waitFor({ state: "detached" });
    assert.equal(
      (await server.api("GET", "/api/providers")).defaultModel,
      "local/m",
      "the model of the list is chosen",
    );
    await close();
  });

  test("the offer to connect a model stands in one place from the beginning", async () => {
    const server = await startEmptyServer();
    const { page, close } = await openPage(browser);
    let answer;
    const asked = new Promise((resolve) => {
      void page.route("**/api/models*", async (route) => {
        const answered = new Promise((done) => {
          answer = done;
        });
        resolve();
        await answered;
        await route.continue();
      });
    });
    await page.goto(server.base);
    await asked;
    await page
      .getByRole("button", { name: /New character/ })
      .first()
      .waitFor();
    assert.equal(await page.getByRole("button", { name: /Connect a model/ }).count(), 0, "its place is not known yet");
    answer();
    await page.getByRole("button", { name: /Connect a model/ }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Connect a model" }).count(), 0, "it is offered once");
    await close();
  });

  test("a wrong key and an unreachable server are reported with a hint", async () => {
    const server = await startEmptyServer();
    const { page, close } = await openPage(browser);
    await page.goto(`${server.base}/settings`);
    await page.getByRole("button", { name: "Connect a model" }).click();
    await form(page).getByLabel("Base URL").fill(`${model.url}/locked`);
    await form(page).getByRole("button", { name: "Load models" }).click();
    await form(page).getByRole("button", { name: "Test" }).click();
    await form(page).getByText("Check the API key").waitFor();
    await form(page).getByText("bad key").waitFor();
    await checkAccessibility(page, "a key that is refused");
    await form(page).getByLabel("Base URL").fill("http://127.0.0.1:9/v1");
    await form(page).getByText("bad key").waitFor({ state: "detached" });
    await form(page).getByRole("button", { name: "Load models" }).click();
    await form(page).getByText("Check that the server is running").waitFor();
    await checkAccessibility(page, "a server that is not there");
    assert.deepEqual(await servers(server), []);
    await close();
  });

  test("the command list and the form work with the keyboard only", async () => {
    const server = await startEmptyServer();
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    await page
      .getByRole("button", { name: "Commands and shortcuts" })
      .or(page.getByRole("button", { name: "Search" }))
      .first()
      .waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByRole("combobox").waitFor();
    await page.keyboard.type("connect a model");
    await page.keyboard.press("Enter");
    await form(page).waitFor();
    await waitUntil(
      () => page.evaluate(() => document.activeElement?.getAttribute("name") === "usual"),
      "the first field has the keyboard",
    );
    await page.keyboard.press("Tab");
    await page.keyboard.press("Control+a");
    await page.keyboard.type(model.url);
    await page.keyboard.press("Enter");
    await form(page).waitFor({ state: "detached" });
    assert.deepEqual(
      (await servers(server)).map(({ id, baseUrl, hasKey }) => [id, baseUrl, hasKey]),
      [["local", model.url, false]],
    );
    await close();
  });
});

describe("the settings", () => {
  test("the settings list servers, change and test one, set a default and remove it", async () => {
    const server = await startEmptyServer();
    await connectMock(server);
    // The change that is refused is one of them.
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    await page.goto(server.base);
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("button", { name: "Settings" }).click();
    const house = page.getByRole("article", { name: "house" });
    await house.getByText("key saved").waitFor();
    await checkAccessibility(page, "the settings");
    model.queueReply(["Hello."]);
    await house.getByRole("button", { name: "Test “house”" }).click();
    await house.getByText(/Reply after/).waitFor();
    await page.getByLabel("Default model").selectOption("house/m");
    await waitUntil(async () => (await server.api("GET", "/api/providers")).isChosen, "the default is chosen");
    await house.getByRole("button", { name: "Edit “house”" }).click();
    const change = page.getByRole("dialog", { name: "Edit “house”" });
    assert.equal(await change.locator("[name=key]").inputValue(), "", "the key is not shown");
    await change.getByLabel("Base URL").fill("http://127.0.0.1:9/v1");
    await change.getByRole("button", { name: "Save" }).click();
    await change
      .getByRole("alert")
      .getByText(/enter the key for the new URL/)
      .waitFor();
    await change.getByLabel("Delete the saved key").check();
    await change.getByRole("button", { name: "Save" }).click();
    await change.waitFor({ state: "detached" });
    await house.getByText("http://127.0.0.1:9/v1").waitFor();
    assert.equal((await servers(server))[0].hasKey, false);
    await house.getByRole("button", { name: "Remove “house”" }).click();
    await page.getByRole("button", { name: "Remove", exact: true }).waitFor();
    await checkAccessibility(page, "the question before a server is forgotten");
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("No model server is connected yet.").waitFor();
    assert.deepEqual(await servers(server), []);
    await close();
  });

  test("the settings have their own address and work in both languages and on a phone", async () => {
    const server = await startEmptyServer();
    await connectMock(server);
    const { page, close } = await openPage(browser, { viewport: { width: 390, height: 844 } });
    await page.goto(`${server.base}/settings`);
    await page.getByRole("heading", { name: "About this server" }).waitFor();
    await page.getByRole("button", { name: "中文" }).click();
    await page.getByRole("heading", { name: "关于这台服务器" }).waitFor();
    await page.getByText("数据库").waitFor();
    await checkAccessibility(page, "the settings on a phone, in Chinese");
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      "nothing hangs over the edge",
    );
    await close();
  });
});
