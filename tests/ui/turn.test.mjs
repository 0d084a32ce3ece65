// Tests in Chromium against the real server: changes of a turn and their causes, rerolls, focus, notices and edits of
// values.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import { fault } from "../../static/src/lib/fields.ts";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import {
  HP,
  LOAD_ERROR,
  barValue,
  playUntilHurt,
  browser,
  chatPath,
  clotho,
  composer,
  focusedMessageId,
  lastMessage,
  readBranch,
  model,
  createSession,
  extraServers,
  waitForReply,
  sendMessage,
  readSession,
  messageTexts,
  messageButton,
  clickMessageButton,
} from "./support/setup.mjs";

const deltaRequests = (page) => {
  const asked = [];
  page.on(
    "request",
    (request) => /^\/api\/.*\/deltas?$/.test(new URL(request.url()).pathname) && asked.push(request.url()),
  );
  return asked;
};

describe("the changes of a turn", () => {
  test("every reply lists its changes, and one request loads all of them", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession({ plugins: [{ id: "combat" }] });
    for (const [words, reply] of [
      ["One?", "It bites. [HP -7]"],
      ["Two?", "Nothing stirs."],
      ["Three?", "It scratches. [HP -2]"],
    ]) {
      model.queueReply([reply]);
      const { activeLeafId } = await readSession(path);
      const { generations } = await clotho.api("POST", `${chatPath(path)}/message`, {
        parentId: activeLeafId,
        content: words,
        generate: true,
      });
      await waitUntil(async () => (await readSession(path)).activeLeafId === generations[0].id, "the reply is there");
    }
    const asked = deltaRequests(page);
    await page.goto(clotho.base + path);
    const changes = (n) =>
      page.locator(".message.assistant").nth(n).locator(".changes .chip", { hasText: "Hit points" });
    await changes(1).getByText("−7").waitFor();
    await changes(3).getByText("−2").waitFor();
    assert.equal(await changes(2).count(), 0, "nothing happened there");
    assert.equal(asked.length, 1, asked.join());
    model.queueReply(["A deep wound. [HP -9]"]);
    await sendMessage(page, "Four?");
    await changes(4).getByText("−9").waitFor();
    await changes(1).getByText("−7").waitFor();
    // The message and its reply arrive one after the other.
    assert.ok(asked.length <= 3, asked.join());
    await close();
  });

  test("a manual change is shown where it was made, with its reason; the next turn is separate", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession({ plugins: [{ id: "combat" }] });
    model.queueReply(["It bites. [HP -7]"]);
    await page.goto(clotho.base + path);
    await sendMessage(page, "One?");
    await waitForReply(page);
    await waitUntil(async () => (await barValue(page, "/combat/hp")) === 33, "the bite is felt");
    const { activeLeafId } = await readSession(path);
    await clotho.api("POST", `${chatPath(path)}/node/${activeLeafId}/world`, {
      operations: [{ op: "set", path: "/combat/hp", value: 12 }],
    });
    const hand = lastMessage(page).locator(".by-hand");
    await hand.getByText("−21").waitFor();
    await lastMessage(page).locator(".changes").getByText("−7").waitFor();
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    await hand.getByRole("button", { name: "Why this change?" }).click();
    await why.getByRole("heading", { name: /^You changed this manually, \d\d:\d\d$/ }).waitFor();
    await why.getByText("33 → 12").waitFor();
    await why.getByText("set /combat/hp").waitFor();
    assert.equal(await why.getByText("40 → 33").count(), 0, "of the reply nothing is said there");
    await page.keyboard.press("Escape");
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    await why.getByText("40 → 33").waitFor();
    await why.getByText("33 → 12").waitFor();
    await page.keyboard.press("Escape");
    model.queueReply(["It limps away."]);
    await sendMessage(page, "Two?");
    await waitForReply(page);
    await page.locator(".message.assistant").nth(1).locator(".by-hand").getByText("−21").waitFor();
    assert.equal(await lastMessage(page).locator(".by-hand, .changes").count(), 0);
    await close();
  });

  test("the hint to go back appears after dice with a loss, not after a turn that went well", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page
      .locator(".hero button, button.card")
      .filter({ hasText: /Lantern Keep|Play the adventure/ })
      .first()
      .click();
    await waitForReply(page);
    const path = new URL(page.url()).pathname;
    // Plays real turns of the adventure until there was one with and one without a loss. The hint follows the loss.
    const seen = { dry: false, hurt: false };
    await page.locator(".replies button").first().click();
    await page.locator(".message.user").waitFor();
    for (let rolls = 0; rolls < 60 && !(seen.dry && seen.hurt); rolls += 1) {
      await waitForReply(page);
      const reply = (await readBranch(path)).at(-1).id;
      await lastMessage(page).locator(".changes .chip", { hasText: "1d20" }).waitFor();
      const { changes, rolls: thrown } = await clotho.api("GET", `${chatPath(path)}/node/${reply}/delta`);
      const dice = page.locator(".world .changes .chip b");
      await waitUntil(
        async () => (await dice.allInnerTexts()).join() === thrown.map((roll) => roll.total).join(),
        "the panel shows these dice",
      );
      const isHurt = changes.some((change) => change.path === HP);
      await waitUntil(
        async () => (await barValue(page, HP)) === (isHurt ? changes.find((change) => change.path === HP).after : 20),
        "the panel follows",
      );
      const hint = page.getByRole("note").filter({ hasText: "That was a bad roll." });
      if (isHurt) await hint.waitFor();
      else assert.equal(await hint.count(), 0, "nothing was lost");
      seen[isHurt ? "hurt" : "dry"] = true;
      await clickMessageButton(lastMessage(page), "Regenerate");
      await page.locator(`.message.last.complete article:not([data-node="${reply}"])`).waitFor();
    }
    assert.deepEqual(seen, { dry: true, hurt: true });
    await close();
  });
});

describe("plugins that fail", () => {
  /** Starts a server with one plugin whose hooks all fail. */
  const brokenRules = () =>
    playing(
      "grumpy",
      ["input.rewrite"],
      'fn on_input(ctx) {\n  throw "the ear is shut";\n}\n\nfn quick_replies(ctx) {\n  throw "out of ideas";\n}\n',
    );
  /** Creates a session on a server with one plugin. */
  async function playing(id, permissions, script) {
    const plugins = await mkdtemp(join(tmpdir(), "clotho-ui-rules-"));
    folders.push(plugins);
    await mkdir(join(plugins, id));
    await writeFile(
      join(plugins, id, "plugin.toml"),
      `id = "${id}"\ntitle = "${id}"\nversion = "1.0.0"\napi = "1"\n\n[permissions]\nrequest = ${JSON.stringify(permissions)}\n`,
    );
    await writeFile(join(plugins, id, "main.rhai"), script);
    const server = await startClotho(
      `[plugins]\ndir = "${plugins}"\n\n[[providers]]\nid = "mock"\nbase_url = "${model.url}"\nmodels = ["m"]\n`,
    );
    extraServers.push(server);
    const character = await server.api("POST", "/api/characters", { name: "Rin", firstMessage: "Yes?" });
    const made = await server.api("POST", "/api/sessions", {
      characterIds: [character.id],
      model: "mock/m",
      plugins: [{ id }],
    });
    return `${server.base}/s/${made.id}`;
  }
  const folders = [];
  after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

  test("an error before the reply is shown under the message and in its trace, with the place in the script", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(await brokenRules());
    model.queueReply(["Never mind."]);
    await sendMessage(page, "Do you hear me?");
    await waitForReply(page);
    const message = page.locator(".message.user");
    await message.getByText("A plugin failed here; the text stays").waitFor();
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    for (const of of [message, lastMessage(page)]) {
      await clickMessageButton(of, "Prompt inspector");
      await why.getByRole("cell", { name: /grumpy · on_input.*The ear is shut/i }).waitFor();
      await why.getByText("main.rhai:2").first().waitFor();
      await page.keyboard.press("Escape");
      await why.waitFor({ state: "detached" });
    }
    await close();
  });

  test("a plugin that fails to make quick replies is reported quietly in their place", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(await brokenRules());
    const told = page.locator(".dock details", { hasText: "A plugin could not make its suggestions" });
    await told.waitFor();
    assert.equal(await told.getAttribute("open"), null);
    await told.locator("summary").click();
    await told.getByText(/out of ideas/i).waitFor();
    await close();
  });

  test("S3-11 S3-18: the trace shows what a plugin planned and noted, and a reply is displayed as its plugin says", async () => {
    const { page, close } = await openPage(browser);
    const script =
      'fn plan(ctx) {\n  ctx.inject("system", "Be brief.");\n  ctx.warn("the player seems hurried");\n}\n\nfn on_display(ctx) { ctx.text + " \u2665" }\n';
    await page.goto(await playing("guide", ["prompt.inject:system", "display.rewrite"], script));
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Yes? \u2665", "the greeting is shown so");
    model.queueReply(["All is well."]);
    await sendMessage(page, "Quick!");
    await waitForReply(page);
    await waitUntil(
      async () => (await messageTexts(page)).at(-1) === "All is well. \u2665",
      "so is the reply, as soon as it is there",
    );
    assert.doesNotMatch(JSON.stringify(model.requests.at(-1)), /\u2665|hurried/);
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    await why.getByRole("cell", { name: /guide · plan changed the prompt.*the player seems hurried/i }).waitFor();
    const block = why.locator(".blocks li", { hasText: "guide · post-history" });
    await block.getByText("from a plugin").waitFor();
    await close();
  });
});

describe("rerolling", () => {
  test("eight separate clicks request eight replies, a burst of clicks requests one: none is lost or doubled", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    model.queueReply(["Answer 0."]);
    await page.goto(clotho.base + path);
    await sendMessage(page, "Again and again?");
    await waitForReply(page);
    // A reply may be complete before the page has read its branch again. Until then the button is disabled.
    const ready = lastMessage(page).locator('[data-command="message.reroll"]:not([aria-disabled])');
    for (let i = 1; i <= 8; i += 1) {
      model.queueReply([`Answer ${i}.`]);
      await ready.click();
      await lastMessage(page)
        .getByText(`${i + 1}/${i + 1}`)
        .waitFor();
    }
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Answer 8.", "the last one is shown");
    await waitForReply(page);
    assert.equal(model.requests.length, 9);
    const held = model.queueHeldReply(["Once."]);
    await ready.waitFor();
    // Clicks the same button eight times at once. The first click counts; the others find it disabled.
    const after = await ready.evaluate((button) => {
      for (let i = 0; i < 8; i += 1) button.click();
      return new Promise((resolve) =>
        requestAnimationFrame(() =>
          setTimeout(() => resolve(button.isConnected && button.getAttribute("aria-disabled"))),
        ),
      );
    });
    assert.ok(after === "true" || after === false, "while one runs the button is dimmed, or gone with its message");
    await lastMessage(page).getByText("10/10").waitFor();
    held.open();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Once.", "the tenth is shown");
    await waitForReply(page);
    assert.equal((await readBranch(path)).at(-1).siblings.count, 10);
    assert.equal(model.requests.length, 10);
    await close();
  });
});

describe("focus", () => {
  test("focus stays on the message after a reroll, a cancelled edit, disabling a message, and going back", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    model.queueReply(["First."]);
    await page.goto(clotho.base + path);
    await sendMessage(page, "Who is first?");
    await waitForReply(page);
    const newest = () => lastMessage(page).locator("article").getAttribute("data-node");
    const has = (id, what) => waitUntil(async () => (await focusedMessageId(page)) === id, what);
    await lastMessage(page).locator("article").focus();
    const before = await newest();
    const held = model.queueHeldReply(["Second."]);
    await page.keyboard.press("r");
    await page.locator(`.message.last article:not([data-node="${before}"])`).waitFor();
    await has(await newest(), "the new reply has the focus while it is written");
    held.open();
    await waitForReply(page);
    await has(await newest(), "and afterwards");
    await messageButton(lastMessage(page), "Edit").waitFor();
    await page.keyboard.press("e");
    await page.getByRole("textbox", { name: "Edit" }).fill("Never.");
    await page.keyboard.press("Escape");
    await has(await newest(), "the edit was given up");
    assert.equal((await messageTexts(page)).at(-1), "Second.");
    model.queueReply(["Third."]);
    await messageButton(lastMessage(page), "Regenerate").focus();
    await page.keyboard.press("Enter");
    await lastMessage(page).getByText("3/3").waitFor();
    await has(await newest(), "a button of the message was used");
    await waitForReply(page);
    await messageButton(lastMessage(page), "Exclude from prompt").focus();
    await page.keyboard.press("Enter");
    await page.locator(".message.last.disabled").waitFor();
    await has(await newest(), "its button is another one now");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("b");
    await page.locator(".message.last.user").waitFor();
    await has(await newest(), "the step back ends at the message");
    await page.getByRole("button", { name: "Go to the end of this branch" }).focus();
    await page.keyboard.press("Enter");
    await page.locator(".message.last.assistant").waitFor();
    await has(await page.locator(".message.user article").getAttribute("data-node"), "the way on began at the message");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("w");
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    await why.getByRole("button", { name: "Close" }).press("Enter");
    await why.waitFor({ state: "detached" });
    await has(await newest(), "the dialog is closed");
    const field = () => composer(page).evaluate((box) => box === document.activeElement);
    const slow = model.queueHeldReply(["Slow ", "words."]);
    await composer(page).fill("Slowly?");
    await page.keyboard.press("Enter");
    await page.locator(".message.last.generating").waitFor();
    slow.next();
    await page.locator(".live", { hasText: "Slow" }).waitFor();
    await composer(page).fill("And faster?");
    await page.keyboard.press("Enter");
    await page.getByText("The reply is still being written.").waitFor();
    assert.equal(await composer(page).inputValue(), "And faster?");
    await composer(page).fill("");
    await page.getByRole("button", { name: "Stop generating" }).focus();
    await page.keyboard.press("Enter");
    await waitForReply(page);
    await waitUntil(field, "the button to stop is gone, the field is there");
    slow.open();
    await close();
  });

  test("S0-48: a command that ends late does not move the focus away from another message that was used since", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    model.queueReply(["First."]);
    const { activeLeafId } = await readSession(path);
    const { generations } = await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: activeLeafId,
      content: "Who is first?",
      generate: true,
    });
    await waitUntil(async () => (await readSession(path)).activeLeafId === generations[0].id, "the reply is there");
    // The session is opened at its HEAD. A reroll before HEAD has reached its message first moves HEAD there.
    await page.goto(clotho.base + path);
    await waitForReply(page);
    /** @type {() => void} */
    let letPass = () => {};
    const passing = new Promise((resolve) => (letPass = () => resolve(undefined)));
    await page.route(/\/projection/, (route) => passing.then(() => route.continue()));
    model.queueReply(["Second."]);
    await messageButton(lastMessage(page), "Regenerate").focus();
    await page.keyboard.press("Enter");
    await lastMessage(page).getByText("2/2").waitFor();
    await waitForReply(page);
    const leaveOut = messageButton(lastMessage(page), "Exclude from prompt");
    await leaveOut.focus();
    const answered = page.waitForResponse(/\/state$/);
    await page.keyboard.press("Enter");
    await answered;
    await leaveOut.waitFor({ state: "detached" });
    // Both commands end now, one after the other: the reroll and the disabling.
    letPass();
    const newest = await lastMessage(page).locator("article").getAttribute("data-node");
    await waitUntil(async () => (await focusedMessageId(page)) !== null, "a message has the keyboard again");
    assert.equal(await focusedMessageId(page), newest);
    await close();
  });

  test("notices disappear by themselves, stay while the user looks at them, cover nothing, and close with Escape", async () => {
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    const path = await createSession();
    await page.clock.install();
    await page.goto(clotho.base + path);
    await waitForReply(page);
    await page.route("**/message", (route) =>
      route.fulfill({
        status: 413,
        json: { error: { code: "too_large", message: "the text is too long", hint: "send less at once" } },
      }),
    );
    const error = page.getByRole("alert");
    const fail = async () => {
      await composer(page).fill("Far too long.");
      await composer(page).press("Enter");
      await error.getByText("The text is too long.").waitFor();
    };
    await fail();
    const [notice, field, message] = await Promise.all(
      [error, composer(page), lastMessage(page).locator("article")].map((part) => part.boundingBox()),
    );
    assert.ok(notice.y + notice.height <= Math.min(field.y, message.y), "it lies above all it could be about");
    await page.clock.runFor(30_000);
    await error.waitFor({ state: "detached" });
    await fail();
    await error.getByRole("button", { name: "Close" }).focus();
    await page.clock.runFor(120_000);
    await error.waitFor();
    await composer(page).focus();
    await page.clock.runFor(30_000);
    await error.waitFor({ state: "detached" });
    await fail();
    await composer(page).press("Escape");
    await error.waitFor({ state: "detached" });
    assert.equal(await composer(page).inputValue(), "Far too long.");
    await lastMessage(page).locator("article").focus();
    await page.keyboard.press("c");
    const quiet = page.getByRole("status").filter({ hasText: "Copied." });
    await quiet.waitFor();
    await page.clock.runFor(30_000);
    await quiet.waitFor({ state: "detached" });
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close();
  });

  test("errors of a dialog appear inside it, and earlier errors do not", async () => {
    const { page, close } = await openPage(browser, { expected: LOAD_ERROR });
    const path = await createSession();
    await page.goto(clotho.base + path);
    await page.route("**/message", (route) =>
      route.fulfill({
        status: 413,
        json: { error: { code: "too_large", message: "the text is too long", hint: "send less at once" } },
      }),
    );
    await composer(page).fill("Far too long.");
    await composer(page).press("Enter");
    await page.getByRole("alert").getByText("The text is too long.").waitFor();
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("button", { name: "Rename story" }).click();
    await page.route("**/api/sessions/*", (route) =>
      route.fulfill({
        status: 503,
        json: { error: { code: "unavailable", message: "the server is busy", hint: "try again" } },
      }),
    );
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Title").fill("Another");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText("The server is busy.").waitFor();
    assert.equal(await dialog.getByRole("alert").count(), 1);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByText("The server is busy.").waitFor({ state: "detached" });
    await page.getByRole("alert").getByText("The text is too long.").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close();
  });
});

describe("editing values", () => {
  /** Opens the form of a row. @param {import("playwright-core").Page} page */
  async function open(page, path, name) {
    const row = page.locator(`[data-path="${path}"]`);
    await row.hover();
    await row.getByRole("button", { name: `Edit ${name}`, exact: true }).click();
    return row;
  }
  const value = async (path, of) => {
    const { activeLeafId } = await readSession(path);
    return of
      .split("/")
      .slice(1)
      .reduce(
        (at, step) => at[step],
        (await clotho.api("GET", `${chatPath(path)}/node/${activeLeafId}/world`)).world.vars,
      );
  };

  test("a number has bounds and steps, and a wrong one says what is expected", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const path = new URL(page.url()).pathname;
    const row = await open(page, HP, "Hit points");
    await row.getByRole("spinbutton").fill("99");
    await row.getByRole("button", { name: "Set" }).click();
    await row.getByRole("alert").getByText("Enter a whole number from 0 to 20.").waitFor();
    await row.getByRole("spinbutton").fill("19");
    await row.getByRole("button", { name: "Increase Hit points" }).click();
    await row.getByRole("button", { name: "Increase Hit points" }).click();
    assert.equal(await row.getByRole("spinbutton").inputValue(), "20", "no further than the schema");
    await row.getByRole("button", { name: "Decrease Hit points" }).click();
    await row.getByRole("button", { name: "Set" }).click();
    await waitUntil(async () => (await barValue(page, HP)) === 19, "the bar shows it");
    assert.equal(await value(path, HP), 19);
    await waitUntil(
      async () => (await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))) === "Edit Hit points",
      "the focus is back where it was",
    );
    await page.keyboard.press("Enter");
    await waitUntil(
      () => row.getByRole("spinbutton").evaluate((field) => field === document.activeElement),
      "the number can be typed at once",
    );
    await row.getByRole("spinbutton").fill("1");
    await page.keyboard.press("Escape");
    await row.getByRole("spinbutton").waitFor({ state: "detached" });
    assert.equal(await barValue(page, HP), 19);
    await close();
  });

  test("a list of items can be extended, renamed and shortened", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const path = new URL(page.url()).pathname;
    const pack = "/keep/pack";
    assert.deepEqual(await value(path, pack), { bread: 1 });
    let row = await open(page, pack, "You carry");
    assert.equal(await row.locator("textarea").count(), 0, "nobody has to write JSON");
    await row.getByRole("button", { name: "Add item" }).click();
    const names = row.getByPlaceholder("Name");
    await waitUntil(
      () => names.nth(1).evaluate((field) => field === document.activeElement),
      "the new name can be typed at once",
    );
    await row.getByRole("button", { name: "Set" }).click();
    await row.getByRole("alert").getByText("Each item needs a name.").waitFor();
    await names.nth(1).fill("bread");
    await row.getByRole("button", { name: "Set" }).click();
    await row.getByRole("alert").getByText("Each name can appear only once.").waitFor();
    await names.nth(1).fill("rope");
    await row.getByRole("spinbutton").nth(1).fill("10");
    await row.getByRole("button", { name: "Set" }).click();
    await row.getByRole("alert").getByText("Enter a whole number from 0 to 9.").waitFor();
    await row.getByRole("spinbutton").nth(1).fill("2");
    await names.nth(0).fill("stale bread");
    await row.getByRole("button", { name: "Set" }).click();
    await row.locator(".items").getByText("Rope × 2").waitFor();
    assert.deepEqual(await value(path, pack), { "stale bread": 1, rope: 2 });
    row = await open(page, pack, "You carry");
    await row.getByRole("button", { name: "Remove rope" }).click();
    await row.getByRole("button", { name: "Set" }).click();
    await row.locator(".items").waitFor();
    assert.deepEqual(await value(path, pack), { "stale bread": 1 });
    row = await open(page, "/keep/tamsin/remembers", "She remembers");
    await row.getByRole("button", { name: "Add item" }).click();
    await row.getByRole("textbox", { name: "Item 1" }).fill("A promise");
    await page.keyboard.press("Enter");
    await row.locator(".items").getByText("A promise").waitFor();
    assert.ok((await value(path, "/keep/tamsin/remembers")).includes("A promise"));
    await close();
  });
});

describe("values and their schema", () => {
  test("a wrong value is found before it is sent", async () => {
    const table = [
      [{ type: "integer", minimum: 0, maximum: 9 }, 9, null],
      [{ type: "integer", minimum: 0, maximum: 9 }, 10, "integerBetween"],
      [{ type: "integer", minimum: 0 }, 1.5, "integerLeast"],
      [{ type: "integer", exclusiveMaximum: 5 }, 5, "integerMost"],
      [{ type: "number" }, 1.5, null],
      [{ type: "number", maximum: 1 }, 1.5, "numberMost"],
      [{ type: "integer" }, 0.5, "integer"],
      [{ type: "string", maxLength: 2 }, "灯塔", null],
      [{ type: "string", maxLength: 2 }, "守灯堡", "length"],
      [{ type: "string", minLength: 1 }, "", "lengthLeast"],
      [{ type: "string", pattern: "^[a-z]+$" }, "Rope", "pattern"],
      [{ type: "string", pattern: "(?P<what only the server reads>x)" }, "Rope", null],
      [{ type: "array", maxItems: 1 }, ["a", "b"], "items"],
      [{ type: "array", minItems: 1 }, [], "itemsLeast"],
      [{ type: "array", uniqueItems: true }, ["a", "a"], "unique"],
      [{ type: "array", items: { type: "string", maxLength: 1 } }, ["a", "bc"], "length"],
      [{ type: "object", additionalProperties: { type: "integer", maximum: 9 } }, { rope: 10 }, "integerMost"],
      [{}, { anything: [1] }, null],
    ];
    const found = table.map(([schema, value]) => [
      schema,
      value,
      fault(/** @type {any} */ (schema), value)?.key ?? null,
    ]);
    assert.deepEqual(found, table);
  });
});

describe("the user's own text", () => {
  test("own text is shown as typed, with markup and machine tags, and is never parsed", async () => {
    // No error is expected: if any of this were parsed, the browser would report what its policy blocked.
    const { page, close } = await openPage(browser);
    const path = await createSession();
    const typed =
      '<b>Bold</b> & <img src=x onerror="window.hacked=1"> &lt;i&gt;\n<think>hidden?</think>\n<style>*{color:red}</style>\n\n[1]: https://example.org\n![map](https://evil.example/x.png) *leaning*';
    model.queueReply(["I see."]);
    await page.goto(clotho.base + path);
    await sendMessage(page, typed);
    await waitForReply(page);
    const shown = page.locator(".message.user .prose");
    assert.equal(
      (await shown.innerText()).replace(/\n+/g, "\n"),
      typed.replace(/\n+/g, "\n").replace("*leaning*", "leaning"),
    );
    assert.equal(await shown.locator("em").innerText(), "leaning");
    assert.equal(await shown.locator("b, img, style, i").count(), 0);
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).hacked), undefined);
    await close();
  });
});
