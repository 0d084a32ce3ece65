// Tests of names that are as long as a line and have no space: every page and dialog that shows one keeps its layout.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test } from "./support/browser.mjs";
import { browser, clotho, createSession, chatPath, readSession } from "./support/setup.mjs";
import { pageOfModules } from "./support/typescript.mjs";

// Dialogs are opened through the page's own modules, which are bundled in the program. Here they are served one by one.
process.env.CLOTHO_SERVER__STATIC_DIR ??= pageOfModules();

const SIZES = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

/** What is on a page when it is drawn. */
const SIGNS = { library: ".session", story: ".message.last", tree: "tree-canvas" };

/** A name without a space. @param {string} begin */
const longName = (begin) => begin.padEnd(100, "abcdefghij");

/** Creates one of everything that has a name. */
async function seedNames() {
  const description = `${longName("Told")} keeps the lamps.`;
  const create = (/** @type {string} */ kind, /** @type {object} */ item) => clotho.api("POST", `/api/${kind}`, item);
  const persona = await create("personas", { name: longName("Persona"), description });
  const preset = await create("presets", {
    kind: "openai",
    name: longName("Preset"),
    body: {
      prompts: [{ identifier: "long", name: longName("Prompt"), role: "system", content: description }],
      prompt_order: [{ character_id: 100001, order: [{ identifier: "long", enabled: true }] }],
    },
  });
  const book = await create("lorebooks", {
    name: longName("Lorebook"),
    entries: [{ comment: longName("Entry"), key: [longName("Key")], content: description }],
  });
  const character = await create("characters", {
    name: longName("Character"),
    description,
    firstMessage: "Good evening.",
    tags: [longName("Tag")],
  });
  const path = await createSession({
    characterIds: [character.id],
    personaId: persona.id,
    title: longName("Session"),
  });
  await clotho.api("PATCH", path.replace("/s/", "/api/sessions/"), { presetId: preset.id });
  const { activeLeafId: parentId } = await readSession(path);
  const { node } = await clotho.api("POST", `${chatPath(path)}/message`, { parentId, role: "user", content: "Hello." });
  await clotho.api("PUT", `${chatPath(path)}/tree/edit`, {
    operations: [{ op: "label", nodeId: node.id, name: longName("Label"), following: false }],
  });
  const deleted = await create("characters", { name: longName("Deleted"), description, firstMessage: "" });
  await clotho.api("DELETE", `/api/characters/${deleted.id}`);
  return { path, sid: path.replace("/s/", ""), nid: node.id, character, persona, preset, book };
}

/** Returns what is wider than the screen, and buttons of the open dialog that are outside of it. */
const outside = (/** @type {import("playwright-core").Page} */ page) =>
  page.evaluate(() => {
    const dialog = document.querySelector("dialog[open]");
    const scope = dialog ?? document.body;
    const told = (/** @type {Element} */ one) =>
      `${one.tagName}.${one.className} “${one.textContent?.trim().slice(0, 24)}”`;
    const wide = [document.documentElement, ...scope.querySelectorAll("*")].filter(
      (one) =>
        one.checkVisibility() &&
        !one.closest(".hidden, svg, pre, textarea, input, select, code-editor, .way, tree-canvas") &&
        one.scrollWidth > one.clientWidth + 1 &&
        (one === document.documentElement || /auto|scroll/.test(getComputedStyle(one).overflowX)),
    );
    const away = [...scope.querySelectorAll("button, a, input, select, textarea")].filter((one) => {
      const { left, right, width } = one.getBoundingClientRect();
      return one.checkVisibility() && width > 1 && !one.closest(".way, .menu") && (left < -1 || right > innerWidth + 1);
    });
    // Texts that something cuts off without an ellipsis.
    const texts = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT);
    const cut = [];
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      const parent = text.parentElement;
      if (!parent?.checkVisibility() || parent.closest(".hidden, svg, pre, textarea, select, .way, [role=tree]"))
        continue;
      let box = parent;
      while (box !== scope && getComputedStyle(box).overflowX === "visible") box = box.parentElement ?? scope;
      if (getComputedStyle(box).textOverflow === "ellipsis") continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      if (range.getBoundingClientRect().right > box.getBoundingClientRect().right + 1) cut.push(parent);
    }
    return [
      ...wide.map((one) => `wide: ${told(one)}`),
      ...away.map((one) => `outside: ${told(one)}`),
      ...cut.map((one) => `cut off: ${told(one)}`),
    ].slice(0, 6);
  });

/** @param {import("playwright-core").Page} page @param {object} given */
const openDialog = (page, given) =>
  page.evaluate(async (given) => {
    const main = /** @type {HTMLScriptElement} */ (document.querySelector("script[type=module]")).src;
    (await import(new URL("model/page.js", main).href)).openDialog(given);
  }, given);

describe("long names", () => {
  test("the last words of a story end with an ellipsis in the list", async () => {
    await seedNames();
    const { page, close } = await openPage(browser, { viewport: SIZES[1] });
    await page.goto(clotho.base);
    const ends = await page
      .locator(".session .preview")
      .first()
      .evaluate((one) => [getComputedStyle(one).display, getComputedStyle(one).textOverflow]);
    assert.deepEqual(ends, ["block", "ellipsis"], "only a block shows the ellipsis");
    await close();
  });

  test("names without a space keep pages and dialogs within the screen", async () => {
    const { path, sid, nid, character, preset, book } = await seedNames();
    const title = longName("Session");
    /** @type {[string, object | null][]} */
    const places = [
      ["/", null],
      ["/", { kind: "start", characterId: character.id }],
      ["/", { kind: "editCharacter", characterId: character.id }],
      ["/", { kind: "personas" }],
      ["/", { kind: "presets", presetId: null }],
      ["/", { kind: "presets", presetId: preset.id }],
      ["/", { kind: "lore", bookId: null, uid: null }],
      ["/", { kind: "lore", bookId: book.id, uid: null }],
      ["/", { kind: "search", text: "Session", at: null }],
      ["/", { kind: "search", text: "Good", at: null }],
      ["/", { kind: "trash" }],
      ["/", { kind: "rename", sid, title }],
      ["/", { kind: "delete", sid, title }],
      ["/", { kind: "usage", sid }],
      ["/", { kind: "model", sid, model: "mock/m" }],
      [path, null],
      [path, { kind: "export", sid, title, leaf: null }],
      [path, { kind: "branches" }],
      [path, { kind: "note" }],
      [path, { kind: "plugins" }],
      [path, { kind: "label", nid }],
      [path, { kind: "sessionChoice" }],
      [path, { kind: "saveLoreEntry", passage: { nodeIds: [nid] } }],
      [`${path}/tree`, null],
    ];
    /** @type {string[]} */
    const wrong = [];
    for (const viewport of SIZES) {
      const { page, close } = await openPage(browser, { viewport });
      let shown = "";
      for (const [at, dialog] of places) {
        if (at !== shown) await page.goto(clotho.base + at);
        shown = at;
        await page
          .locator(SIGNS[at === path ? "story" : at === "/" ? "library" : "tree"])
          .first()
          .waitFor();
        await openDialog(page, dialog);
        const within = dialog ? "dialog[open]" : "main";
        await page.locator(within).waitFor();
        await page.locator(`${within} .waiting`).waitFor({ state: "detached" });
        await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
        const where = `${viewport.width}, ${at.slice(0, 3)} ${JSON.stringify(dialog ?? {}).slice(0, 40)}`;
        wrong.push(...(await outside(page)).map((one) => `${where}: ${one}`));
        if (at === path && (await page.locator("h1.title").getAttribute("title")) !== title)
          wrong.push(`${where}: the title is cut off without its whole text`);
      }
      await close();
    }
    assert.deepEqual(wrong, []);
  });
});
