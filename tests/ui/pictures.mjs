// Takes the pictures of docs/screenshots/ from the real page. What falls by chance is asked for until it falls as the
// pictures want it, and times of day are written over: a page that has not changed leaves the files as they are.
//   CLOTHO_BIN=… npm run pictures              all of them
//   CLOTHO_BIN=… npm run pictures -- stash     those that are named
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, limitRun, until } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";

const FOLDER = join(fileURLToPath(import.meta.url), "../../../docs/screenshots");
const LARGEST = 250_000;
/** The edge of a curve is not drawn alike each time: a colour value differs by as much, or so few of them by more. */
const SEEN = 24;
const NOISE = 120;
const WIDE = { width: 1280, height: 900 };
const TALL = { width: 1280, height: 1120 };
const PHONE = { width: 390, height: 844 };
/** The dice of the leap on every picture: it fails, and costs five hit points. */
const DICE = "9 1,3";

/** The pictures to take; none named: all. */
const NAMED = process.argv.slice(2);

limitRun();
const clotho = await startClotho();
const browser = await launch();
try {
  await mkdir(FOLDER, { recursive: true });
  const english = await story("en");
  const look = await branch(english);
  await picture("menu", english, { viewport: PHONE, hasTouch: true, isMobile: true }, openMenu);
  await picture("stash", english, { viewport: WIDE }, openStash);
  await picture("branches", english, { viewport: WIDE, colorScheme: "dark" }, openBranches);
  await picture("compare", english, { viewport: TALL }, openCompare);
  await clear(english, look);
  await rollAgain(english);
  await picture("adventure", english, { viewport: WIDE });
  await picture("adventure-dark", english, { viewport: WIDE, colorScheme: "dark" });
  await picture("phone", english, { viewport: PHONE, hasTouch: true, isMobile: true });
  if (isWanted("tree")) {
    const grown = await story("en");
    await grow(grown);
    await picture("tree", grown, { viewport: WIDE }, openTree);
  }
  if (isWanted("chinese")) {
    const chinese = await story("zh");
    await rollAgain(chinese);
    await picture("chinese", chinese, { viewport: WIDE, locale: "zh-CN" });
  }
} finally {
  await Promise.allSettled([browser.close(), clotho.close()]);
}

/** @param {string} name */
function isWanted(name) {
  return NAMED.length === 0 || NAMED.includes(name);
}

/** A story whose first leap has the wanted outcome. @param {string} language @returns {Promise<string>} its address */
async function story(language) {
  const characters = (await clotho.api("GET", "/api/characters")).items;
  const keep = characters.find((one) => one.metadata?.clotho?.plugins?.some((plugin) => plugin.config?.language === language));
  for (let tries = 0; tries < 5000; tries += 1) {
    const session = await clotho.api("POST", "/api/sessions", { characterIds: [keep.id], ...keep.metadata.clotho });
    const chat = `/api/chat/${session.id}`;
    const { quickReplies } = await clotho.api("GET", `${chat}/projection`);
    const sent = await clotho.api("POST", `${chat}/message`, { parentId: session.activeLeafId, content: quickReplies[0].send, generate: true });
    const wanted = sent.generations[0].id;
    await written(chat, wanted);
    const { rolls } = await clotho.api("GET", `${chat}/node/${wanted}/delta`);
    if (rolls.map((roll) => roll.dice.join()).join(" ") !== DICE) {
      await clotho.api("DELETE", `/api/sessions/${session.id}`);
      continue;
    }
    return `/s/${session.id}`;
  }
  throw new Error("the dice never fell as wanted");
}

/** @param {string} path */
function chatOf(path) {
  return path.replace("/s/", "/api/chat/");
}

/** Gives the end of a story two other versions, which fall as they fall, and stays at the first. @param {string} path */
async function rollAgain(path) {
  const chat = chatOf(path);
  const { leafId } = await clotho.api("GET", `${chat}/projection`);
  for (let more = 0; more < 2; more += 1) {
    const other = await clotho.api("POST", `${chat}/node/${leafId}/reroll`, {});
    await written(chat, other.generations[0].id);
  }
  await clotho.api("PUT", `${chat}/active_leaf`, { nodeId: leafId, exact: true });
}

/** Gives a story a second line, names, and something in the stash. @param {string} path @returns {Promise<string>} where the second line begins */
async function branch(path) {
  const chat = chatOf(path);
  const { items, leafId } = await clotho.api("GET", `${chat}/projection`);
  const say = (parentId, role, content, generate = false) => clotho.api("POST", `${chat}/message`, { parentId, role, content, generate });
  const look = await say(items[0].id, "user", "look around", true);
  const seen = look.generations[0].id;
  await written(chat, seen);
  const home = await say(items[0].id, "user", "I turn round. The tide can have the keep.");
  const supper = await say(home.node.id, "assistant", "The village has kept supper warm, and nobody asks.");
  const plan = await say(leafId, "user", "I tear a strip off my sleeve and bind the knee.");
  await clotho.api("PUT", `${chat}/tree/edit`, {
    operations: [
      { op: "label", nodeId: leafId, name: "Over the gap", following: true },
      { op: "label", nodeId: seen, name: "A good look first", following: true },
      { op: "prune", nodeId: supper.node.id },
      { op: "prune", nodeId: home.node.id, name: "Home again" },
      { op: "prune", nodeId: plan.node.id },
    ],
  });
  await clotho.api("PUT", `${chat}/active_leaf`, { nodeId: leafId, exact: true });
  return look.node.id;
}

/** Lets lines grow out of the end of a story, which stays where it was. @param {string} path */
async function grow(path) {
  const chat = chatOf(path);
  const { items, leafId } = await clotho.api("GET", `${chat}/projection`);
  const made = { parentId: items.at(-1).parentId, role: "assistant", content: "You go on the third step, and the stones hold.", generate: false };
  await clotho.api("POST", `${chat}/message`, made);
  const say = async (/** @type {string} */ parentId, /** @type {string[]} */ ...words) => {
    let at = parentId;
    for (const [n, content] of words.entries()) at = (await clotho.api("POST", `${chat}/message`, { parentId: at, role: n % 2 === 0 ? "user" : "assistant", content, generate: false })).node.id;
    return at;
  };
  const stair = await say(leafId, "I bind the knee and climb the stair.", "The stair is wet. Above, somebody turns a page.");
  await say(stair, "I call up to them.", "“Come up, then,” says a voice that is older than the tower.");
  await say(stair, "I wait, and listen.", "A page, and another. It is reading aloud, in a whisper.");
  const wall = await say(leafId, "I go along the wall instead.", "The wall ends at a shutter. It hangs by one nail.");
  await say(wall, "I open it.", "The nail gives. So does the shutter.", "I hold on.");
  await clotho.api("PUT", `${chat}/tree/edit`, { operations: [{ op: "label", nodeId: wall, name: "Along the wall", following: true }] });
  await clotho.api("PUT", `${chat}/active_leaf`, { nodeId: leafId, exact: true });
}

/** Takes the second line and the names away again. @param {string} path @param {string} look */
async function clear(path, look) {
  const names = ["Over the gap", "A good look first"].map((name) => ({ op: "unlabel", name }));
  await clotho.api("PUT", `${chatOf(path)}/tree/edit`, { operations: [...names, { op: "prune", nodeId: look }] });
}

/** @param {import("playwright-core").Page} page */
async function openMenu(page) {
  await page.locator(".message.last article").tap();
  await page.locator(".message.last").getByRole("button", { name: "More" }).tap();
  await page.locator(".menu:popover-open").waitFor();
}

/** @param {import("playwright-core").Page} page */
async function choose(page, name) {
  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await page.locator(".menu:popover-open").getByRole("button", { name, exact: true }).click();
}

/** @param {import("playwright-core").Page} page */
async function openStash(page) {
  await choose(page, "Stash");
  const fragment = page.getByRole("article", { name: "Home again" });
  await fragment.getByRole("button", { name: "Read" }).click();
  await fragment.locator(".contents").waitFor();
}

/** @param {import("playwright-core").Page} page */
async function openBranches(page) {
  await choose(page, "Branches");
  await page.locator(".parting").first().waitFor();
  for (const name of ["Over the gap", "A good look first"]) await page.getByRole("checkbox", { name: `Compare “${name}”` }).check();
}

/** @param {import("playwright-core").Page} page */
async function openCompare(page) {
  await openBranches(page);
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.locator(".compare table").waitFor();
  await page.locator(".compare .parting").waitFor();
}

/** @param {import("playwright-core").Page} page */
async function openTree(page) {
  await page.getByRole("button", { name: "Story tree" }).first().click();
  await page.locator("tree-canvas").waitFor();
  await page.getByRole("button", { name: "Fold side branches" }).click();
  await page.getByRole("button", { name: "All of it" }).click();
}

/** @param {string} chat @param {string} id */
async function written(chat, id) {
  await until(async () => (await clotho.api("GET", `${chat}/node/${id}`)).status !== "generating", "the reply is written");
  const node = await clotho.api("GET", `${chat}/node/${id}`);
  if (node.status !== "complete") throw new Error(`a reply failed: ${JSON.stringify(node.metadata)}`);
}

/**
 * @param {string} name @param {string} path @param {import("playwright-core").BrowserContextOptions} options
 * @param {(page: import("playwright-core").Page) => Promise<unknown>} [open] what is opened before it is taken
 */
async function picture(name, path, options, open) {
  if (!isWanted(name)) return;
  const context = await browser.newContext({ locale: "en-GB", reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  await page.addInitScript(() => ["hint.goBack", "hint.again", "hint.timelines"].forEach((hint) => localStorage.setItem(`clotho.${hint}`, "seen")));
  await page.goto(clotho.base + path);
  await page.locator(".message.last .changes").waitFor();
  await page.locator(".replies button").first().waitFor();
  await open?.(page);
  await page.evaluate(async () => {
    await document.fonts.ready;
    const isInStory = (/** @type {Element} */ time) => time.closest("dialog") === null;
    [...document.querySelectorAll("time")].forEach((time, i) => (time.textContent = isInStory(time) ? `20:${10 + Math.ceil(i / 2)}` : "5 minutes ago"));
    /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
    // Two frames: what the changed texts moved has settled.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  });
  const png = await page.screenshot({ animations: "disabled" });
  if (png.length > LARGEST) throw new Error(`${name}.png has ${png.length} bytes, more than ${LARGEST}`);
  const file = join(FOLDER, `${name}.png`);
  const old = await readFile(file).catch(() => null);
  const isNew = old === null || (await different(context, old, png)) > NOISE;
  if (isNew) await writeFile(file, png);
  console.log(`${name}.png: ${isNew ? `${png.length} bytes` : "as it was"}`);
  await context.close();
}

/** How many pixels differ so that one can see it. @param {import("playwright-core").BrowserContext} context @param {Buffer[]} pngs */
async function different(context, ...pngs) {
  const page = await context.newPage();
  return page.evaluate(
    async ([urls, seen]) => {
      const [one = new ImageData(1, 1), two = new ImageData(1, 1)] = await Promise.all(
        urls.map(async (url) => {
          const picture = await createImageBitmap(await (await fetch(url)).blob());
          const pen = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(picture.width, picture.height).getContext("2d"));
          pen.drawImage(picture, 0, 0);
          return pen.getImageData(0, 0, picture.width, picture.height);
        }),
      );
      if (one.width !== two.width || one.height !== two.height) return Infinity;
      return one.data.filter((value, i) => Math.abs(value - (two.data[i] ?? 0)) > seen).length;
    },
    /** @type {const} */ ([pngs.map((png) => `data:image/png;base64,${png.toString("base64")}`), SEEN]),
  );
}
