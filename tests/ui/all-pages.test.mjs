// Tests of every page, every dialog and their states: in light and dark mode, and on a narrow screen in both languages.
// A new page or dialog belongs in one of the two lists; the first test fails for one that is missing.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test as plainTest } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { openTree, addMessage, waitUntilStill, treeElement } from "./support/tree-page.mjs";
import {
  playUntilHurt,
  browser,
  chatPath,
  checkAccessibility,
  chooseFromMessageMenu,
  clotho,
  lastMessage,
  messageById,
  model,
  createSession,
  sendMessage,
  readSession,
  clickMessageButton,
} from "./support/setup.mjs";
import { pageOfModules } from "./support/typescript.mjs";

// Dialogs are opened through the page's own modules, which are bundled in the program. Here they are served one by one.
process.env.CLOTHO_SERVER__STATIC_DIR ??= pageOfModules();

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {Awaited<ReturnType<typeof seedData>>} Fixture */

const WIDE = { width: 1280, height: 860 };
const NARROW = { width: 360, height: 780 };
/** Console errors that belong to the tested states: no connection, no response, no such session. */
const EXPECTED = /Failed to load resource|WebSocket|ERR_/;
/** Elements that are wider than their container on purpose and scroll. */
const SCROLLS =
  ".way > div, .replies, .fan ol, .prose pre, .prose table, pre, textarea, input, code-editor, .scroll-x, .tree-map";

/** A device that is not paired. */
const DEVICE = {
  id: "d",
  name: "Mara’s phone",
  createdAt: "2026-11-20T10:00:00Z",
  lastSeenAt: "2026-11-21T10:00:00Z",
  isThis: false,
};

/**
 * Imports a module of the page, which is the instance that runs, and calls a function of it.
 * @param {Page} page @param {string} path @param {string} name @param {unknown} given
 */
const call = (page, path, name, given) =>
  page.evaluate(
    async ([path, name, given]) => {
      const main = /** @type {HTMLScriptElement} */ (document.querySelector("script[type=module]")).src;
      await (await import(new URL(path, main).href))[name](given);
    },
    /** @type {[string, string, any]} */ ([path, name, given]),
  );

const setPageLanguage = (/** @type {Page} */ page, /** @type {string} */ locale) =>
  call(page, "actions/page.js", "setLanguage", locale);

/** Returns what overflows a narrow screen or scrolls sideways without being intended to. @param {Page} page */
const overflowing = (page) =>
  page.evaluate((allowed) => {
    const scope = document.querySelector("dialog[open]") ?? document.body;
    const clips = (/** @type {Element} */ element) => getComputedStyle(element).overflowX !== "visible";
    const isHeld = (/** @type {Element} */ element) => {
      for (let box = element.parentElement; box && box !== document.body; box = box.parentElement)
        if (clips(box) && box.getBoundingClientRect().right <= innerWidth + 1) return true;
      return false;
    };
    const name = (/** @type {Element} */ { tagName, className, textContent }) =>
      `${tagName}.${className} “${textContent?.trim().slice(0, 40)}”`;
    const all = [...scope.querySelectorAll("*")].filter(
      (element) => element.checkVisibility() && !element.closest(".hidden, svg"),
    );
    const slides = all.filter(
      (one) =>
        one.scrollWidth > one.clientWidth + 1 &&
        /auto|scroll/.test(getComputedStyle(one).overflowX) &&
        !one.matches(allowed),
    );
    const hangs = all.filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !isHeld(one));
    return [...slides.map((one) => `slides: ${name(one)}`), ...hangs.map((one) => `hangs over: ${name(one)}`)].slice(
      0,
      4,
    );
  }, SCROLLS);

/**
 * Checks what is on screen in every theme, on every screen size and in both languages.
 * @param {Page} page @param {string} where @param {string} [within] @returns {Promise<string[]>} what is wrong
 */
async function checkEverywhere(page, where, within) {
  /** @type {string[]} */
  const wrong = [];
  const axe = (/** @type {string} */ how, /** @type {string[] | undefined} */ rules = undefined) =>
    checkAccessibility(page, `${where}, ${how}`, { within, rules }).catch((error) =>
      wrong.push(...(error.actual ?? [String(error)])),
    );
  const edge = async (/** @type {string} */ how) =>
    wrong.push(...(await overflowing(page)).map((one) => `${where}, ${how}: ${one}`));
  await axe("by day");
  await page.emulateMedia({ colorScheme: "dark" });
  // A dialog has the same content on every screen; dark mode is checked on the narrow one.
  if (!within) await axe("by night", ["color-contrast"]);
  await page.setViewportSize(NARROW);
  // A browser reports the new size of the page with the next frame.
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await edge("on a narrow screen");
  await setPageLanguage(page, "zh");
  await axe("by night on a narrow screen, in Chinese");
  await edge("on a narrow screen, in Chinese");
  await setPageLanguage(page, "en");
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: "light" });
  return wrong;
}

/** Creates sessions and library items. */
async function seedData() {
  const path = await createSession({ plugins: [{ id: "combat" }] });
  const sid = path.replace("/s/", "");
  const ids = [(await readSession(path)).activeLeafId];
  for (const text of [
    "To the north.",
    "Snow.",
    "To the harbour.",
    "She says, “**Masts** in the dusk.”\n\n* rope\n* oil\n\n> Nobody came.",
  ])
    ids.push(await addMessage(path, ids.at(-1), ids.length % 2 ? "user" : "assistant", text));
  ids.shift();
  const side = await addMessage(path, ids[1], "user", "To the hills.");
  const hills = await addMessage(path, side, "assistant", "A path through thorns.");
  const gulls = await addMessage(path, ids[2], "assistant", "Gulls.");
  model.queueReply(["The blade finds you.\n\n[HP -7]"]);
  const { generations } = await clotho.api("POST", `${chatPath(path)}/message`, {
    parentId: ids[3],
    content: "I lower my guard.",
    generate: true,
  });
  const reply = generations[0].id;
  await waitUntil(
    async () => (await clotho.api("GET", `${chatPath(path)}/node/${reply}`)).status === "complete",
    "the reply",
  );
  const lost = await addMessage(path, ids[1], "user", "Home again.");
  await clotho.api("PUT", `${chatPath(path)}/tree/edit`, {
    operations: [
      { op: "prune", nodeId: lost, name: "Home" },
      { op: "label", nodeId: hills, name: "The hills", following: true },
    ],
  });
  await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: reply, exact: true });
  const { characterIds } = await readSession(path);
  const lore = await clotho.api("POST", "/api/lorebooks", {
    name: "Tides",
    entries: [{ comment: "Ebb", key: ["tide"], content: "It turns at six." }],
  });
  const entries = await clotho.api("GET", `/api/lorebooks/${lore.id}/entries`);
  const preset = await clotho.api("POST", "/api/presets", {
    kind: "openai",
    name: "Calm sea",
    body: {
      temperature: 0.5,
      prompts: [{ identifier: "main", name: "Main", content: "Write slowly." }],
      prompt_order: [{ character_id: 100001, order: [{ identifier: "main", enabled: true }] }],
    },
  });
  await clotho.api("POST", "/api/presets", {
    kind: "regex",
    name: "No stars",
    body: { scriptName: "No stars", findRegex: "/\\*/g", replaceString: "", placement: [2] },
  });
  await clotho.api("POST", "/api/personas", { name: "Mara", description: "A smuggler." });
  const [
    server = await clotho.api("POST", "/api/providers", {
      id: "fixture",
      kind: "openai",
      baseUrl: model.url,
      key: "k",
      models: ["m"],
    }),
  ] = (await clotho.api("GET", "/api/providers")).items.filter(({ id }) => id === "fixture");
  const gone = await createSession({ title: "Gone" });
  await clotho.api("DELETE", gone.replace("/s/", "/api/sessions/"));
  const said = (/** @type {string} */ fate, /** @type {string} */ code, /** @type {string} */ message) => ({
    fate,
    code,
    line: null,
    count: 1,
    message,
  });
  const item = { file: "keeper.png", id: null };
  const report = {
    items: [
      {
        ...item,
        kind: "character",
        name: "Rin",
        fate: "works",
        findings: [said("translated", "macro_translated", "a macro was put in our words")],
      },
      {
        ...item,
        kind: "script",
        name: "one_word_that_somebody_made_for_a_script_and_that_never_ends.js",
        fate: "kept",
        findings: [
          said("kept", "script_kept", "it does nothing here"),
          said("skipped", "left_out", "a part was left out"),
        ],
      },
    ],
  };
  return {
    path,
    sid,
    ids,
    side,
    hills,
    gulls,
    reply,
    gone,
    report,
    characterId: characterIds[0],
    bookId: lore.id,
    uid: entries.items?.[0]?.uid ?? null,
    presetId: preset.id,
    providerId: server.id,
  };
}

// What is checked

/**
 * Every dialog with its arguments. Other tests open it as a user does; `then` goes on in it.
 * @type {(fixture: Partial<Fixture>) => {dialog: {kind: string, [name: string]: unknown}, where?: string, then?: (page: Page) => Promise<unknown>}[]}
 */
const DIALOGS = ({
  sid = "",
  ids = [],
  hills,
  gulls,
  reply,
  report,
  characterId,
  bookId,
  uid,
  presetId,
  providerId,
} = {}) => {
  const search = (/** @type {string} */ text, /** @type {string} */ where, /** @type {string} */ sign) => ({
    dialog: { kind: "search", text, at: null },
    where,
    then: (/** @type {Page} */ page) => page.locator(`dialog ${sign}`).first().waitFor(),
  });
  const press = (/** @type {string} */ name) => (/** @type {Page} */ page) =>
    page.getByRole("dialog").getByRole("button", { name, exact: true }).first().click();
  const tab = (/** @type {string} */ name) => (/** @type {Page} */ page) =>
    page.getByRole("dialog").getByRole("tab", { name }).click();
  return [
    search("", "an empty search", "[role=combobox]"),
    search("masts", "a search with hits", "[role=option]"),
    search("zzzz", "a search without hits", ".blank"),
    search("hp:<", "a search that is none", ".asked, .blank"),
    search(">", "the commands", ".keys"),
    {
      ...search("snow", "a narrowed search", "[role=combobox]"),
      then: async (page) => {
        await press("Stash")(page);
        await press("Last 7 days")(page);
        await page.locator("dialog .blank").waitFor();
      },
    },
    {
      dialog: { kind: "trace", nid: reply },
      then: async (page) => {
        await page.locator(".why-view table").first().waitFor();
        for (const summary of await page.locator("dialog summary").all()) await summary.click();
      },
    },
    { dialog: { kind: "rename", sid, title: "The map" } },
    { dialog: { kind: "arrangeSessions", ids: [sid] }, where: "folder and tags of one story" },
    { dialog: { kind: "arrangeSessions", ids: [sid, sid] }, where: "folders and tags of several stories" },
    { dialog: { kind: "model", sid, model: "mock/m" } },
    { dialog: { kind: "otherModel", nid: reply } },
    { dialog: { kind: "delete", sid, title: "The map" } },
    { dialog: { kind: "start", characterId } },
    { dialog: { kind: "character" } },
    { dialog: { kind: "editCharacter", characterId } },
    { dialog: { kind: "cardVersions", characterId } },
    { dialog: { kind: "useCard", characterId, sessionIds: [sid, "01990000-0000-7000-8000-000000000001"] } },
    { dialog: { kind: "report", report, characterId: null } },
    { dialog: { kind: "importOptions" } },
    { dialog: { kind: "useImported", sid, items: [{ what: "book", id: bookId, name: "Harbour" }] } },
    { dialog: { kind: "connect", providerId: null, back: null } },
    { dialog: { kind: "connect", providerId, back: null }, where: "a changed connection" },
    { dialog: { kind: "removeServer", providerId } },
    // This server accepts no other devices and says so. The other case is checked in the tests of paired devices.
    { dialog: { kind: "pair" } },
    { dialog: { kind: "nameDevice", device: DEVICE } },
    { dialog: { kind: "revokeDevice", device: DEVICE } },
    { dialog: { kind: "personas" } },
    { dialog: { kind: "presets", presetId: null } },
    { dialog: { kind: "profiles" } },
    { dialog: { kind: "presets", presetId }, where: "an edited preset" },
    { dialog: { kind: "export", sid, title: "The map", leaf: null } },
    { dialog: { kind: "label", nid: reply } },
    { dialog: { kind: "stash" } },
    { dialog: { kind: "trash" } },
    { dialog: { kind: "usage", sid } },
    { dialog: { kind: "note" } },
    { dialog: { kind: "generation" } },
    { dialog: { kind: "recall" } },
    { dialog: { kind: "branches" } },
    { dialog: { kind: "compare", from: reply, to: hills } },
    { dialog: { kind: "merge", from: hills } },
    { dialog: { kind: "summarise", first: null, last: ids[1] } },
    { dialog: { kind: "sessionChoice" } },
    { dialog: { kind: "valueChart" } },
    { dialog: { kind: "gitTerms" } },
    { dialog: { kind: "history", path: "/combat/hp" } },
    { dialog: { kind: "plugins" } },
    { dialog: { kind: "requestedSettings" } },
    { dialog: { kind: "presetScripts", presetIds: [presetId], back: null } },
    { dialog: { kind: "workshop", pluginId: "combat" } },
    { dialog: { kind: "workshop", pluginId: "combat" }, where: "a try of rules", then: tab("Try") },
    { dialog: { kind: "workshop", pluginId: "combat" }, where: "a replay of rules", then: tab("Replay") },
    { dialog: { kind: "workshop", pluginId: "combat" }, where: "tests of rules", then: tab("Tests") },
    { dialog: { kind: "purge", nid: gulls } },
    { dialog: { kind: "saveLoreEntry", passage: { nodeIds: [ids[1]] } } },
    { dialog: { kind: "lore", bookId: null, uid: null } },
    { dialog: { kind: "lore", bookId, uid: null }, where: "a lorebook" },
    { dialog: { kind: "lore", bookId, uid }, where: "an entry of lore" },
  ];
};

/** Every page and its states. @type {{page: string, where: string, go: (page: Page, fixture: Fixture) => Promise<unknown>}[]} */
const PAGES = [
  { page: "library", where: "the library, filled", go: (page) => goTo(page, "/", ".session") },
  {
    page: "library",
    where: "the menu of the page",
    go: (page) => page.getByRole("button", { name: "Menu", exact: true }).click(),
  },
  {
    page: "library",
    where: "a library that cannot be read",
    go: async (page) => {
      await page.route("**/api/sessions*", (route) =>
        route.fulfill({ status: 500, json: { error: { code: "internal", message: "out of order" } } }),
      );
      await goTo(page, "/", ".blank");
      await page.unroute("**/api/sessions*");
    },
  },
  {
    page: "settings",
    where: "the settings",
    go: async (page) => {
      await goTo(page, "/settings", ".server");
      await page.getByRole("heading", { name: "About this server" }).waitFor();
    },
  },
  {
    page: "session",
    where: "a story without a word",
    go: async (page) => {
      const { id } = await clotho.api("POST", "/api/characters", { name: "Nobody" });
      const made = await clotho.api("POST", "/api/sessions", { characterIds: [id], model: "mock/m", plugins: [] });
      await goTo(page, `/s/${made.id}`, ".chat .blank");
    },
  },
  {
    page: "session",
    where: "the tree of a story without a word",
    go: async (page) => {
      await page.keyboard.press("Control+b");
      await page.locator(".overview .blank").waitFor();
    },
  },
  {
    page: "session",
    where: "a long story",
    go: async (page) => {
      const path = await createSession();
      let parent = (await readSession(path)).activeLeafId;
      for (let i = 0; i < 40; i += 1)
        parent = await addMessage(
          path,
          parent,
          i % 2 ? "assistant" : "user",
          `Line ${i}. ${"Of the sea and what is beneath it. ".repeat(i % 5)}`,
        );
      await goTo(page, path, ".message.last");
      await page.locator(".scroller").evaluate((box) => (box.scrollTop = 600));
      await page.locator(".to-end").waitFor();
    },
  },
  {
    page: "session",
    where: "a reply that is waited for",
    go: async (page) => {
      model.queueHeldReply(["Far away ", "there is a light."]);
      await goTo(page, await createSession(), ".message.last");
      await sendMessage(page, "What is there?");
      await lastMessage(page).getByText("Waiting for the model").waitFor();
    },
  },
  {
    page: "session",
    where: "a reply that is being written",
    go: async (page) => {
      const held = model.queueHeldReply([{ reasoning: "A light, or none?" }, "Far away ", "there is a light."]);
      await goTo(page, await createSession(), ".message.last");
      await sendMessage(page, "What is there?");
      held.next(2);
      await lastMessage(page).locator(".live", { hasText: "Far away" }).waitFor();
    },
  },
  {
    page: "session",
    where: "a reply that failed",
    go: async (page) => {
      await goTo(page, await createSession({ model: "locked/m" }), ".message.last");
      await sendMessage(page, "What is there?");
      await lastMessage(page).locator(".failure").waitFor();
    },
  },
  {
    page: "session",
    where: "a lost connection",
    go: async (page, { path }) => {
      await goTo(page, path, ".message.last");
      // The texts of the other language are loaded already.
      await setPageLanguage(page, "zh");
      await setPageLanguage(page, "en");
      await page.context().setOffline(true);
      await page.locator(".offline").waitFor({ timeout: 60_000 });
    },
  },
  {
    page: "session",
    where: "the story and its world",
    go: async (page, { path }) => {
      await page.context().setOffline(false);
      await goTo(page, path, ".world [role=meter]");
      await page.locator(".message.last .changes").waitFor();
    },
  },
  {
    page: "session",
    where: "marked messages",
    go: async (page, { path, ids: [deed, snow] }) => {
      const state = (/** @type {string} */ id, /** @type {object} */ change) =>
        clotho.api("PUT", `${chatPath(path)}/node/${id}/state`, change);
      await state(deed, { isEnabled: false });
      await state(snow, { effects: "muted", rating: 4 });
      await messageById(page, deed).locator(".left-out").waitFor();
      await messageById(page, snow).locator(".given-stars").waitFor();
    },
  },
  {
    page: "session",
    where: "the menu of a message",
    go: async (page) => {
      await lastMessage(page).locator("article").focus();
      await page.keyboard.press("m");
      await page.locator(".menu:popover-open").waitFor();
    },
  },
  {
    page: "session",
    where: "a message that is edited",
    go: async (page) => {
      await page.keyboard.press("Escape");
      await clickMessageButton(lastMessage(page), "Edit");
      await page.locator(".edit textarea").waitFor();
    },
  },
  {
    page: "session",
    where: "versions side by side",
    go: async (page, { ids }) => {
      await page.keyboard.press("Escape");
      await page.locator(".edit").waitFor({ state: "detached" });
      await messageById(page, ids[3]).locator(".count").click();
      await page.locator(".fan .option").nth(1).waitFor();
    },
  },
  {
    page: "session",
    where: "a value that is changed",
    go: async (page) => {
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Edit Hit points" }).focus();
      await page.keyboard.press("Enter");
      await page.locator(".edit-value").first().waitFor();
      await page.getByRole("button", { name: "Edit Pack" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Add item" }).click();
      await page.getByRole("button", { name: "Set" }).last().click();
      await page.getByRole("alert").waitFor();
    },
  },
  {
    page: "session",
    where: "the world on a narrow screen",
    go: async (page, { path }) => {
      await goTo(page, path, ".world [role=meter]");
      await call(page, "model/page.js", "showPane", "world");
    },
  },
  {
    page: "session",
    where: "several messages that are chosen",
    go: async (page, { path }) => {
      await goTo(page, path, ".message.last");
      await lastMessage(page).locator("article").focus();
      await page.keyboard.press("s");
      await page.locator(".chosen").waitFor();
    },
  },
  {
    page: "session",
    where: "a place to move a message to",
    go: async (page, { path }) => {
      await goTo(page, path, ".message.last");
      await chooseFromMessageMenu(page, lastMessage(page), "Copy, with everything after it");
      await page.locator(".is-moving .place").first().waitFor();
    },
  },
  {
    page: "session",
    where: "another timeline that is looked at",
    go: (page, { path, hills }) => goTo(page, `${path}/${hills}`, ".peek"),
  },
  {
    page: "session",
    where: "one line only",
    go: async (page, { path }) => {
      await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { mode: "linear" });
      await goTo(page, path, ".message.last");
      await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { mode: "tree" });
      await page.locator(".siblings").first().waitFor();
    },
  },
  {
    page: "session",
    where: "what the page says",
    go: async (page) => {
      await call(page, "model/page.js", "notify", {
        tone: "error",
        text: "That did not work.",
        hint: "Try again in a little while.",
        action: { label: "retry", run: null },
      });
      await call(page, "model/page.js", "notify", {
        tone: "quiet",
        stays: true,
        text: "Something passed.",
        action: { label: "command.undo", run: null },
      });
      await page.locator(".notice").nth(1).waitFor();
    },
  },
  {
    page: "session",
    where: "the tree",
    go: async (page, { path, reply }) => {
      await goTo(page, path, ".message.last");
      await openTree(page);
      await waitUntilStill(page, reply);
    },
  },
  {
    page: "session",
    where: "the tree, all of it, and a message that is read",
    go: async (page) => {
      await page.getByRole("button", { name: "Fold other branches" }).click();
      await treeElement(page).focus();
      await page.keyboard.press("Enter");
      await page.locator(".tree-message .prose").waitFor();
    },
  },
  {
    page: "session",
    where: "the menu of the tree",
    go: async (page) => {
      await treeElement(page).focus();
      await page.keyboard.press("m");
      await page.locator(".menu:popover-open").waitFor();
    },
  },
  {
    page: "session",
    where: "what is chosen on the tree",
    go: async (page) => {
      await page.keyboard.press("Escape");
      await treeElement(page).focus();
      await page.keyboard.press("s");
      await page.locator(".tree-bar").waitFor();
    },
  },
  { page: "session", where: "a story in the trash", go: (page, { gone }) => goTo(page, gone, ".chat .blank") },
  {
    page: "session",
    where: "an address where no story is",
    go: (page) => goTo(page, "/s/nothing-here", ".chat .blank"),
  },
  {
    page: "session",
    where: "a story that cannot be read",
    go: async (page, { path }) => {
      await page.route("**/api/sessions/*", (route) =>
        route.fulfill({ status: 500, json: { error: { code: "internal", message: "out of order" } } }),
      );
      await goTo(page, path, ".chat .blank");
      await page.unroute("**/api/sessions/*");
    },
  },
];

/** Goes to an address and waits for an element. @param {Page} page @param {string} path @param {string} sign */
async function goTo(page, path, sign) {
  await page.goto(clotho.base + path);
  await page.locator(sign).first().waitFor();
}

const source = (/** @type {string} */ path) => readFile(new URL(`../../static/src/${path}`, import.meta.url), "utf8");
/** @param {string} text @param {RegExp} pattern */
const namesIn = (text, pattern) => [...new Set([...text.matchAll(pattern)].map(([, name]) => name))].sort();

describe("every page and dialog", () => {
  plainTest("every dialog and every page there is stands in the lists that are looked through", async () => {
    const kinds = namesIn(await source("model/dialog.d.ts"), /\{ kind: "(\w+)"/g);
    assert.ok(kinds.length > 30);
    assert.deepEqual(namesIn(await source("views/dialogs.tsx"), /case "(\w+)":/g), kinds, "each is drawn");
    assert.deepEqual([...new Set(DIALOGS({}).map(({ dialog }) => dialog.kind))].sort(), kinds, "each is looked at");
    const pages = namesIn(
      /type Route =([^;]*(?:;[^;\n]*)*?);\n/.exec(await source("model/page.ts"))?.[1] ?? "",
      /page: "(\w+)"/g,
    );
    assert.ok(pages.length >= 3);
    assert.deepEqual([...new Set(PAGES.map(({ page }) => page))].sort(), pages);
  });

  test("pages and their states pass axe and do not overflow", async () => {
    const { page, close } = await openPage(browser, { expected: EXPECTED });
    await goTo(page, "/", ".hero");
    await page.getByRole("button", { name: /New character/ }).waitFor();
    const wrong = await checkEverywhere(page, "the first run");
    await playUntilHurt(page);
    await page.getByRole("note").waitFor();
    wrong.push(...(await checkEverywhere(page, "the adventure, with a hint")));
    const fixture = await seedData();
    for (const { where, go } of PAGES) {
      await go(page, fixture).catch((error) => assert.fail(`${where}: ${error}`));
      wrong.push(...(await checkEverywhere(page, where)));
    }
    assert.deepEqual(wrong, []);
    await close();
  }, 300_000);

  test("dialogs pass axe and do not overflow", async () => {
    const { page, close } = await openPage(browser, { expected: EXPECTED });
    const fixture = await seedData();
    /** @type {string[]} */
    const wrong = [];
    await goTo(page, fixture.path, ".message.last .changes");
    // As if the user had come from the first page.
    await call(page, "actions/library.js", "readModelsAndPlugins", null);
    for (const { dialog, where = `the dialog “${dialog.kind}”`, then } of DIALOGS(fixture)) {
      await call(page, "model/page.js", "openDialog", dialog);
      const isThere = async () => {
        await page.locator("dialog[open]").waitFor();
        await page.locator("dialog[open] .waiting").first().waitFor({ state: "detached" });
      };
      await isThere()
        .then(() => then?.(page))
        .then(isThere)
        .catch((error) => assert.fail(`${where}: ${error}`));
      wrong.push(...(await checkEverywhere(page, where, "dialog[open]")));
      await call(page, "model/page.js", "openDialog", null);
      await page.locator("dialog").waitFor({ state: "detached" });
    }
    assert.deepEqual(wrong, []);
    await close();
  }, 300_000);
});
