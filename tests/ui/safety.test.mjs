// Tests that untrusted text stays text: in messages, names, cards, lore, labels and everywhere else.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe } from "node:test";
import { fileURLToPath } from "node:url";
import { ATTACKS, ALLOWED, PARSER_REPORTS, findUnwanted } from "./support/attacks.mjs";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  browser,
  chatPath,
  chooseFromMessageMenu,
  chooseFromPageMenu,
  clotho,
  lastMessage,
  readBranch,
  model,
  createSession,
  waitForReply,
  sendMessage,
} from "./support/setup.mjs";

const sources = join(resolve(dirname(fileURLToPath(import.meta.url)), "../../static"), "src");
const read = (path) => readFileSync(join(sources, path), "utf8");

describe("ways from text to markup or code", () => {
  const SINKS =
    /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|setHTML|parseHTML|srcdoc|document\.write|createContextualFragment|DOMParser|XSLTProcessor|createPolicy|\beval\(|new Function|importScripts|new Worker|cssText|setAttribute\(\s*["'`](?:on|style|src|href)|set(?:Timeout|Interval)\(\s*["'`]|DOMPurify\.\w+/g;
  /** All known ways. Add one only after checking that no unsanitised text of others reaches it. */
  const KNOWN = {
    // One address, of our own file. It runs patterns of others; no part of them is code.
    "lib/trusted-urls.ts": ["createPolicy"],
    "lib/script-supervisor.ts": ["new Worker"],
    // The element belongs to no page. What is kept of it is set property by property.
    "lib/inline-style.ts": ["cssText"],
    "lib/markdown.ts": ["DOMPurify.addHook", "DOMPurify.sanitize"],
  };

  test("every way is known", async () => {
    const scripts = readdirSync(sources, { recursive: true })
      .filter((path) => /\.tsx?$/.test(path))
      .sort();
    const found = Object.fromEntries(
      scripts
        .map((path) => [path, [...new Set(read(path).match(SINKS) ?? [])].sort()])
        .filter(([, sinks]) => sinks.length > 0),
    );
    assert.deepEqual(found, KNOWN);
  });
});

/** Opens a page and records its requests, what the browser refused, and opened windows. */
async function openWatched(options = {}) {
  const { page, wrong } = await openPage(browser, options);
  const asked = [];
  const opened = [];
  const refused = [];
  await page.addInitScript(() =>
    addEventListener("securitypolicyviolation", ({ violatedDirective, sample, sourceFile }) =>
      console.debug(`refused: ${violatedDirective} ${/purify\.js$/.test(sourceFile) ? "sanitising" : ""} ${sample}`),
    ),
  );
  page.on("console", (message) => message.text().startsWith("refused: ") && refused.push(message.text().slice(9)));
  page.on("request", (request) => asked.push(request.url()));
  page.on("dialog", (dialog) => (opened.push(dialog.message()), void dialog.dismiss()));
  page.on("popup", () => opened.push("a window"));
  await page.goto(clotho.base);
  const before = await page.evaluate(() => Object.keys(window));
  /** Checks that no text had an effect. @param {string} where */
  const isSafe = async (where) => {
    assert.deepEqual(await page.evaluate(findUnwanted, ALLOWED), [], where);
    assert.deepEqual(
      asked.filter((url) => !/^(data|blob):/.test(url) && new URL(url).origin !== clotho.base),
      [],
      `${where}: requests`,
    );
    assert.deepEqual(opened, [], `${where}: dialogs`);
    const globals = await page.evaluate(() => Object.keys(window));
    assert.deepEqual(
      globals.filter((name) => !before.includes(name) && !/^(__playwright|axe)/.test(name)),
      [],
      `${where}: globals`,
    );
    assert.deepEqual(
      refused.filter((what) => !PARSER_REPORTS.test(what)),
      [],
      `${where}: content policy`,
    );
    assert.deepEqual(
      wrong.filter(
        (text) =>
          !/Content Security Policy|content policy|^This document requires 'TrustedScript' assignment.*\/vendor\/purify\.js$/.test(
            text,
          ),
      ),
      [],
      `${where}: errors`,
    );
  };
  return { page, isSafe };
}

const half = (n) => [ATTACKS.slice(0, n), ATTACKS.slice(n)];

describe("hostile text stays text", () => {
  test("there are at least forty attacks", async () => assert.ok(ATTACKS.length >= 40));

  for (const [i, some] of half(27).entries()) {
    test(`attacks in messages stay text, streamed and stored, part ${i + 1}`, async () => {
      const { page, isSafe } = await openWatched();
      const path = await createSession();
      await page.goto(clotho.base + path);
      await waitForReply(page);
      for (const [n, attack] of some.entries()) {
        const cut = Math.ceil(attack.length / 3);
        const held = model.queueHeldReply([
          attack.slice(0, cut),
          attack.slice(cut, 2 * cut),
          `${attack.slice(2 * cut)}\n\nThe end.`,
        ]);
        const count = await page.locator(".message").count();
        await sendMessage(page, attack.slice(0, 2_000).replaceAll("\0", ""));
        for (let piece = 0; piece < 3; piece += 1) {
          held.next();
          await page.waitForFunction(
            () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true)))),
          );
        }
        if (n % 6 === 0) await isSafe(`${attack.slice(0, 60)}, while it is written`);
        held.open();
        await waitUntil(async () => (await page.locator(".message").count()) === count + 2, "the message is there");
        await waitForReply(page);
      }
      await isSafe("as they came");
      await page.reload();
      await waitForReply(page);
      assert.equal(await page.locator(".message").count(), 1 + 2 * some.length);
      await isSafe("as they are kept");
    });
  }

  test("attacks in notes and display texts of plugins, in thoughts and in problems stay text", async () => {
    const { page, isSafe } = await openWatched();
    const path = await createSession();
    for (let turn = 0; turn < 4; turn += 1) {
      model.queueReply(["Yes."]);
      await clotho.api("POST", `${chatPath(path)}/message`, {
        parentId: (await readBranch(path)).at(-1).id,
        content: "Go on.",
        generate: true,
      });
      await waitUntil(
        async () =>
          (await readBranch(path)).length === 3 + 2 * turn && (await readBranch(path)).at(-1).status === "complete",
        "it is written",
      );
    }
    const seen = new Set();
    await page.route(/\/projection/, async (route) => {
      const answer = await route.fetch();
      const json = await answer.json();
      for (const [i, item] of json.items.filter(({ role }) => role === "assistant").entries()) {
        const some = ATTACKS.slice(i * 12, (i + 1) * 12);
        for (const one of some) seen.add(one);
        Object.assign(item, {
          display: `${some.join("\n\n")}\n\nshown`,
          reasoning: some.join("\n"),
          notes: some.map((text) => ({ plugin: text, text })),
          problems: some.map((message) => ({ code: "x", message, plugin: message, hint: message })),
        });
      }
      await route.fulfill({ response: answer, json });
    });
    await page.goto(clotho.base + path);
    // A text that is nested too deeply is shown as it is, as one paragraph.
    await lastMessage(page).getByText("shown").first().waitFor();
    assert.equal(seen.size, ATTACKS.length);
    await isSafe("shown otherwise");
  });

  test("attacks in names, cards, greetings, lore, titles, labels, the stash, personas and search hits stay text", async () => {
    const { page, isSafe } = await openWatched();
    const short = ATTACKS.filter((attack) => attack.length <= 95)
      .concat(ATTACKS.map((attack) => attack.slice(0, 95)))
      .map((text) => text.replaceAll(/[\0-\x1f]/g, "").trim());
    const all = ATTACKS.filter((attack) => attack.length < 1_000)
      .join("\n\n")
      .replaceAll("\0", "");
    const character = await clotho.api("POST", "/api/characters", {
      name: short[0],
      description: all,
      firstMessage: `needle ${all}`,
      creatorNotes: all,
      scenario: all,
      tags: short.slice(0, 8).map((tag) => tag.slice(0, 30)),
    });
    for (const name of short.slice(1, 9)) await clotho.api("POST", "/api/personas", { name, description: all });
    const entries = ATTACKS.map((text) => text.replaceAll("\0", "")).map((content, i) => ({
      comment: content.slice(0, 200),
      key: [content.slice(0, 80)],
      content,
      order: i,
    }));
    await clotho.api("POST", "/api/lorebooks", { name: short[2], entries });
    const made = await clotho.api("POST", "/api/sessions", {
      characterIds: [character.id],
      model: "mock/m",
      plugins: [],
      title: short[3],
    });
    const path = `/s/${made.id}`;
    model.queueReply([`needle ${all}`]);
    await clotho.api("POST", `${chatPath(path)}/message`, {
      parentId: (await readBranch(path)).at(-1).id,
      content: `needle ${all}`,
      generate: true,
    });
    await waitUntil(async () => (await readBranch(path)).at(-1).status === "complete", "it is written");
    await page.goto(clotho.base + path);
    await waitForReply(page);
    await isSafe("names and greetings");

    for (const name of [short[0], short[5]]) {
      await chooseFromMessageMenu(page, lastMessage(page), "Bookmark (checkpoint)");
      await page.getByRole("dialog").getByRole("textbox").fill(name);
      await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    }
    await isSafe("labels");
    await chooseFromMessageMenu(page, lastMessage(page), "Delete, with everything after it");
    await page.locator(".message.last.user").waitFor();
    await chooseFromPageMenu(page, "Stash");
    await page.getByRole("dialog").locator(".fragment").first().waitFor();
    await page.getByRole("dialog").locator("summary, button").first().waitFor();
    await isSafe("the stash");
    await page.keyboard.press("Escape");
    await chooseFromPageMenu(page, "Branches");
    await page.getByRole("dialog").waitFor();
    await isSafe("branches");
    await page.keyboard.press("Escape");

    await page.keyboard.press("Control+k");
    await page
      .getByRole("dialog")
      .getByRole("combobox")
      .or(page.getByRole("dialog").getByRole("searchbox"))
      .first()
      .fill("needle");
    await page.getByRole("dialog").getByRole("option").first().waitFor();
    await isSafe("what a search finds");
    await page.keyboard.press("Escape");

    for (const name of ["Lorebooks", "Personas"]) {
      await chooseFromPageMenu(page, name);
      await page.getByRole("dialog").locator("li").first().waitFor();
      await isSafe(name);
      await page.keyboard.press("Escape");
    }
    await page.goto(`${clotho.base}${path}/tree`);
    await page.locator("tree-canvas, canvas").first().waitFor();
    await isSafe("the tree");
    await page.goto(clotho.base);
    await page.getByText(short[3]).first().waitFor();
    await isSafe("the library");
    await clotho.api("DELETE", `/api/characters/${character.id}`);
  });
});
