// Tests against the real server: the personas of a user.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  browser,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  openSession,
  createSession,
  sendMessage,
  readSession,
  readBranch,
  waitForReply,
  model,
} from "./support/setup.mjs";

const picture = new URL("../fixtures/golden/cards/png-chara-v1.png", import.meta.url);
const personasNamed = async (name) =>
  (await clotho.api("GET", "/api/personas?limit=500")).items.filter((one) => one.name === name);

describe("personas", () => {
  test("S0-05: a persona is created with a picture, used in a new session, changed and deleted", async () => {
    await createSession();
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Personas" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "New persona" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("Wren");
    await dialog.getByRole("textbox", { name: "Description" }).fill("Walks at night.");
    await dialog
      .getByLabel("Picture: PNG, JPEG, WebP or GIF")
      .setInputFiles({ name: "a.png", mimeType: "image/png", buffer: await readFile(picture) });
    await checkAccessibility(page, "a new persona");
    await dialog.getByRole("button", { name: "Save" }).click();
    const row = dialog.getByRole("article", { name: "Wren" });
    await row.getByText("Walks at night.").waitFor();
    await waitUntil(
      () => row.locator("img").evaluate((img) => /** @type {HTMLImageElement} */ (img).naturalWidth > 0),
      "its picture is drawn",
    );
    await checkAccessibility(page, "the personas");
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.locator("button.card", { hasText: "Rin" }).first().click();
    await dialog.getByRole("combobox", { name: "Persona" }).selectOption({ label: "Wren" });
    await dialog.getByRole("combobox", { name: "Model" }).selectOption("mock/m");
    await dialog.getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/s\//);
    const [{ id }] = await personasNamed("Wren");
    assert.equal((await readSession(new URL(page.url()).pathname)).personaId, id);
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Personas" }).click();
    await row.getByRole("button", { name: "Edit" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("Wren the Tall");
    await dialog.getByRole("button", { name: "Save" }).click();
    const tall = dialog.getByRole("article", { name: "Wren the Tall" });
    await tall.getByRole("button", { name: "Delete “Wren the Tall”" }).click();
    await tall.waitFor({ state: "detached" });
    assert.equal((await personasNamed("Wren the Tall")).length, 0);
    await dialog.getByRole("button", { name: "Restore" }).click();
    await tall.waitFor();
    assert.equal((await personasNamed("Wren the Tall")).length, 1);
    await close();
  });

  test("the default persona and one that is locked to a character are chosen for new stories", async () => {
    await createSession();
    const [walker, keeper] = await Promise.all(
      ["Walker", "Keeper"].map((name) => clotho.api("POST", "/api/personas", { name })),
    );
    await clotho.api("POST", "/api/characters", { name: "Lockwood", firstMessage: "Well?" });
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Personas" }).click();
    const dialog = page.getByRole("dialog");
    const row = (name) => dialog.getByRole("article", { name });
    await row("Walker").getByRole("button", { name: "Use as default persona" }).click();
    await row("Walker").getByText("Default", { exact: true }).waitFor();
    await row("Keeper").getByText("Locked to characters").click();
    await row("Keeper").getByRole("combobox", { name: "Lock to a character…" }).selectOption({ label: "Lockwood" });
    await row("Keeper").getByRole("button", { name: "Unlock from Lockwood" }).waitFor();
    await checkAccessibility(page, "personas with choices");
    const { defaultId, locks } = await clotho.api("GET", "/api/personas/choices");
    assert.deepEqual([defaultId, locks.map(({ personaId }) => personaId)], [walker.id, [keeper.id]]);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.locator("button.card", { hasText: "Lockwood" }).first().click();
    const choice = dialog.getByRole("combobox", { name: "Persona" });
    await waitUntil(async () => (await choice.inputValue()) === keeper.id, "the locked persona is chosen");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Personas" }).click();
    await row("Keeper").getByText("Locked to characters").click();
    await row("Keeper").getByRole("button", { name: "Unlock from Lockwood" }).click();
    await row("Keeper").getByRole("button", { name: "Unlock from Lockwood" }).waitFor({ state: "detached" });
    await row("Walker").getByRole("button", { name: "Stop using as default" }).click();
    await row("Walker").getByRole("button", { name: "Use as default persona" }).waitFor();
    assert.deepEqual(await clotho.api("GET", "/api/personas/choices"), { defaultId: null, locks: [] });
    await close();
  });

  test("a lorebook dropped while a story is open is linked to it after a question", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    await page.waitForLoadState("networkidle");
    await page.evaluate(
      (text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], "Quay.json"));
        dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
      },
      JSON.stringify({ entries: { 0: { uid: 0, key: ["quay"], content: "It creaks." } } }),
    );
    const dialog = page.getByRole("dialog", { name: "Use in this story?" });
    const row = dialog.getByRole("article", { name: "Quay" });
    await row.getByRole("button", { name: "Use in this story" }).click();
    await row.getByText("in this story").waitFor();
    await checkAccessibility(page, "the question about an imported lorebook");
    await dialog.getByRole("button", { name: "Done" }).click();
    await dialog.waitFor({ state: "detached" });
    const { items } = await clotho.api("GET", "/api/lorebooks?limit=500");
    const { id } = items.find(({ name }) => name === "Quay");
    const { sessionIds } = await clotho.api("GET", `/api/lorebooks/${id}/holds`);
    assert.deepEqual(sessionIds, [path.split("/")[2]]);
    await close();
  });

  test("a double click on Delete deletes without an error", async () => {
    await clotho.api("POST", "/api/personas", { name: "Gone at once" });
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Personas" }).click();
    const row = page.getByRole("dialog").getByRole("article", { name: "Gone at once" });
    const remove = row.getByRole("button", { name: "Delete “Gone at once”" });
    const answers = [];
    page.on("response", (response) => response.request().method() === "DELETE" && answers.push(response.status()));
    await remove.evaluate((button) => (button.click(), button.click()));
    await row.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Restore" }).first().waitFor();
    assert.deepEqual(answers, [204], "the server is asked once");
    assert.equal(await page.locator(".notices:not(.passing) > *").count(), 0, "no error is shown");
    await close();
  });

  test("a double click on Save creates one persona and one character", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.getByRole("button", { name: "Personas" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "New persona" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("Once");
    const twice = () => dialog.getByRole("button", { name: "Save" }).evaluate((save) => (save.click(), save.click()));
    await twice();
    await dialog.getByRole("article", { name: "Once" }).first().waitFor();
    await page.reload();
    assert.equal((await personasNamed("Once")).length, 1);
    await page.getByRole("button", { name: /^New character/ }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("Only One");
    await twice();
    await page.getByRole("dialog", { name: "Only One" }).waitFor();
    await page.reload();
    assert.equal(
      (await clotho.api("GET", "/api/characters?limit=200")).items.filter(({ name }) => name === "Only One").length,
      1,
    );
    await close();
  });

  test("a running session changes to another persona and back to none, in Chinese on a phone too", async () => {
    const persona = await clotho.api("POST", "/api/personas", { name: "Mara", description: "A smuggler." });
    const path = await createSession();
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Personas");
    const row = page.getByRole("dialog").getByRole("article", { name: "Mara" });
    await row.getByRole("button", { name: "Use in this story" }).click();
    await row.getByText("in this story").waitFor();
    await page.keyboard.press("Escape");
    model.queueReply(["Good evening."]);
    await sendMessage(page, "Who is there?");
    await waitForReply(page);
    assert.equal((await readBranch(path)).find(({ content }) => content === "Who is there?").personaId, persona.id);
    await close();
    const chinese = await openSession(path, {
      locale: "zh-CN",
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await chinese.page.getByRole("button", { name: "菜单", exact: true }).tap();
    await chinese.page.locator(".menu:popover-open").getByRole("button", { name: "用户设定" }).tap();
    await chinese.page.getByRole("dialog").getByRole("article", { name: "Mara" }).getByText("这个故事里").waitFor();
    await checkAccessibility(chinese.page, "the personas on a phone");
    await chinese.page.getByRole("button", { name: "不使用用户设定" }).tap();
    await waitUntil(async () => (await readSession(path)).personaId === null, "nobody is played any more");
    await chinese.close();
  });
});
