// Each page of the product with sample data, in the four variants of docs/screenshots/.
// To add a page: its address or its dialog, and an element that shows that it is ready.
import { PHONE, WIDE, chatPath, clotho, addVersions, createAdventure } from "./screenshots.mjs";

/** @import { BrowserContextOptions, Page } from "playwright-core" */
/** @typedef {{story: string, book: string, word: string}} Fixture `word`: what is searched for */
/** @typedef {{path: (fixture: Fixture) => string, sign: string, open?: (page: Page, fixture: Fixture) => Promise<unknown>}} PageSetup */

/** @type {Record<string, BrowserContextOptions & {language: "en" | "zh"}>} */
export const VARIANTS = {
  light: { ...WIDE, language: "en", colorScheme: "light" },
  dark: { ...WIDE, language: "en", colorScheme: "dark" },
  phone: { ...PHONE, language: "en" },
  chinese: { ...WIDE, language: "zh", locale: "zh-CN" },
};

/** @type {Record<string, PageSetup>} */
export const PAGES = {
  library: { path: () => "/", sign: ".session" },
  chat: { path: ({ story }) => story, sign: ".message.last .changes" },
  world: { path: ({ story }) => story, sign: ".message.last .changes", open: openWorld },
  tree: { path: ({ story }) => `${story}/tree`, sign: "tree-canvas", open: openWhole },
  search: {
    path: () => "/",
    sign: ".session",
    open: (page, { word }) => openDialogOn(page, { kind: "search", text: word, at: null }, "mark"),
  },
  lore: {
    path: () => "/",
    sign: ".session",
    open: (page, { book }) => openDialogOn(page, { kind: "lore", bookId: book, uid: null }, "li"),
  },
  workshop: {
    path: () => "/",
    sign: ".session",
    open: (page) => openDialogOn(page, { kind: "workshop", pluginId: "combat" }, ".cm-content"),
  },
  settings: { path: () => "/settings", sign: "main h1" },
};

const TEXTS = {
  en: {
    made: "You go on the third step, and the stones hold.",
    ways: [
      [
        "I bind the knee and climb the stair.",
        "The stair is wet. Above, somebody turns a page.",
        "I call up to them.",
        "“Come up, then,” says a voice that is older than the tower.",
      ],
      [
        "I go along the wall instead.",
        "The wall ends at a shutter. It hangs by one nail.",
        "I open it.",
        "The nail gives. So does the shutter.",
      ],
      ["I light the lamp that I brought.", "The light falls on a door that was not there before."],
    ],
    name: "Along the wall",
    word: "light",
    book: [
      "Things of the coast",
      ["Tide", "The tide comes twice a day, and nobody on the rock asks it to."],
      ["The lamp", "It eats a can of oil in a night, and a keeper in a life."],
      ["Shillings", "Nine of them buy a boat in bad weather."],
    ],
    people: [
      ["Mara Quill", "A pilot who knows every reef by its sound."],
      ["Old Tam", "Ferryman. Talks to the water and is answered."],
    ],
  },
  zh: {
    made: "你在第三步踏稳了，石头没有动。",
    ways: [
      [
        "我包好膝盖，上楼梯。",
        "楼梯是湿的。上面有人翻了一页书。",
        "我朝上面喊了一声。",
        "“那就上来吧。”那声音比塔还老。",
      ],
      ["我改走墙根。", "墙尽头有一扇窗板，只剩一颗钉子挂着。", "我去开它。", "钉子松了，窗板也松了。"],
      ["我点上带来的灯。", "灯光落在一扇先前没有的门上。"],
    ],
    name: "沿着墙",
    word: "灯",
    book: [
      "海岸上的东西",
      ["潮水", "潮水一天来两回，礁石上没有人请它。"],
      ["灯", "一夜吃掉一桶油，一生吃掉一个守灯人。"],
      ["银角子", "坏天气里，九个能买一条船。"],
    ],
    people: [
      ["阿汐", "听声音就认得出每一片礁的领航人。"],
      ["老喻", "摆渡的。跟水说话，水也答他。"],
    ],
  },
};

/** Creates a session with several branches, characters, and a lorebook. @param {"en" | "zh"} language @returns {Promise<Fixture>} */
export async function seedData(language) {
  const words = TEXTS[language];
  await deleteAll();
  const path = await createAdventure(language);
  await addBranches(path, words);
  await addVersions(path);
  for (const [name, description] of words.people) {
    const { id } = await clotho.api("POST", "/api/characters", { name, description, firstMessage: description });
    await clotho.api("POST", "/api/sessions", { characterIds: [id] });
  }
  const [name, ...entries] = words.book;
  const { id } = await clotho.api("POST", "/api/lorebooks", {
    name,
    entries: entries.map(([comment, content]) => ({ comment, key: [comment], content })),
  });
  return { story: path, book: id, word: words.word };
}

/** Removes the data of earlier screenshots. */
async function deleteAll() {
  for (const kind of ["sessions", "characters", "lorebooks"]) {
    const { items } = await clotho.api("GET", `/api/${kind}?limit=200`);
    for (const { id, metadata } of items)
      if (kind !== "characters" || !metadata?.clotho) await clotho.api("DELETE", `/api/${kind}/${id}`);
  }
}

/** Adds branches to the end of a session without moving HEAD. @param {string} path @param {(typeof TEXTS)["en"]} words */
async function addBranches(path, { made, ways, name }) {
  const chat = chatPath(path);
  const { items, leafId } = await clotho.api("GET", `${chat}/projection`);
  await clotho.api("POST", `${chat}/message`, {
    parentId: items.at(-1).parentId,
    role: "assistant",
    content: made,
    generate: false,
  });
  const ends = [];
  for (const way of ways) {
    let at = leafId;
    for (const [n, content] of way.entries())
      at = (
        await clotho.api("POST", `${chat}/message`, {
          parentId: at,
          role: n % 2 === 0 ? "user" : "assistant",
          content,
          generate: false,
        })
      ).node.id;
    ends.push(at);
  }
  await clotho.api("PUT", `${chat}/tree/edit`, {
    operations: [{ op: "label", nodeId: ends[1], name, following: true }],
  });
  await clotho.api("PUT", `${chat}/active_leaf`, { nodeId: leafId, exact: true });
}

/**
 * Calls a function of a module, which is the instance that the page uses.
 * @param {Page} page @param {string} path @param {string} name @param {unknown} given
 */
const call = (page, path, name, given) =>
  page.evaluate(
    async ([path, name, given]) => {
      const main = /** @type {HTMLScriptElement} */ (document.querySelector("script[type=module]")).src;
      (await import(new URL(path, main).href))[name](given);
    },
    /** @type {[string, string, any]} */ ([path, name, given]),
  );

/** @param {Page} page @param {object} dialog @param {string} sign */
async function openDialogOn(page, dialog, sign) {
  await call(page, "model/page.js", "openDialog", dialog);
  await page.locator(`dialog[open] ${sign}`).first().waitFor();
}

/** Opens the state panel on a phone, and the history of a value elsewhere. @param {Page} page */
async function openWorld(page) {
  if ((page.viewportSize()?.width ?? 0) < 600) return call(page, "model/page.js", "showPane", "world");
  await page.locator("button.now").first().click();
  await page.locator("dialog[open] li").first().waitFor();
}

/** Unfolds the whole tree and fits it into the view. @param {Page} page */
async function openWhole(page) {
  const tools = page.locator(".tree-tools button");
  await tools.first().click();
  await tools.filter({ has: page.locator('[href$="fit"]') }).click();
}
