// Takes the screenshots in docs/screenshots/: the program, a browser, a session with fixed dice, and the camera. Random
// results are requested again until they are as wanted, and times of day are replaced. So an unchanged page leaves the
// files unchanged.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, limitRun, waitUntil } from "./browser.mjs";
import { startClotho } from "./server.mjs";
import { pageOfModules } from "./typescript.mjs";

/** @import { BrowserContextOptions, Page } from "playwright-core" */

const FOLDER = join(fileURLToPath(import.meta.url), "../../../../docs/screenshots");
const MAX_BYTES = 250_000;
/** Anti-aliased edges differ between runs: a colour value by this much, or at most so many values by more. */
const VISIBLE_DIFFERENCE = 24;
const MAX_DIFFERENT = 120;
/** If nothing was fetched for this many milliseconds, the page is loaded. */
const QUIET_TIME = 300;
/** The dice of the first action in every screenshot: it fails and costs five hit points. */
const WANTED_DICE = "9 1,3";

export const WIDE = { viewport: { width: 1280, height: 900 } };
export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** The requested screenshots; none means all. */
const REQUESTED = process.argv.slice(2);

limitRun();
// Dialogs are opened through the page's own modules, which are bundled in the program. Here they are served one by one.
process.env.CLOTHO_SERVER__STATIC_DIR ??= pageOfModules();
export const clotho = await startClotho();
export const browser = await launch();
await mkdir(FOLDER, { recursive: true });

/** Ends the browser and the server. */
export const close = () => Promise.allSettled([browser.close(), clotho.close()]);

/** @param {string} name */
export function isRequested(name) {
  return REQUESTED.length === 0 || REQUESTED.includes(name);
}

/** Creates a session whose first action has the wanted outcome. @param {string} language @returns {Promise<string>} its address */
export async function createAdventure(language) {
  const characters = (await clotho.api("GET", "/api/characters")).items;
  const keep = characters.find((one) =>
    one.metadata?.clotho?.plugins?.some((plugin) => plugin.config?.language === language),
  );
  for (let tries = 0; tries < 5000; tries += 1) {
    const session = await clotho.api("POST", "/api/sessions", { characterIds: [keep.id], ...keep.metadata.clotho });
    const chat = `/api/chat/${session.id}`;
    const { quickReplies } = await clotho.api("GET", `${chat}/projection`);
    const sent = await clotho.api("POST", `${chat}/message`, {
      parentId: session.activeLeafId,
      content: quickReplies[0].send,
      generate: true,
    });
    const wanted = sent.generations[0].id;
    await waitUntilComplete(chat, wanted);
    const { rolls } = await clotho.api("GET", `${chat}/node/${wanted}/delta`);
    if (rolls.map((roll) => roll.dice.join()).join(" ") !== WANTED_DICE) {
      await clotho.api("DELETE", `/api/sessions/${session.id}`);
      continue;
    }
    return `/s/${session.id}`;
  }
  throw new Error("the dice never fell as wanted");
}

/** @param {string} path */
export function chatPath(path) {
  return path.replace("/s/", "/api/chat/");
}

/** Adds two versions to the end of a session, with any outcome, and stays at the first. @param {string} path */
export async function addVersions(path) {
  const chat = chatPath(path);
  const { leafId } = await clotho.api("GET", `${chat}/projection`);
  for (let more = 0; more < 2; more += 1) {
    const other = await clotho.api("POST", `${chat}/node/${leafId}/reroll`, {});
    await waitUntilComplete(chat, other.generations[0].id);
  }
  await clotho.api("PUT", `${chat}/active_leaf`, { nodeId: leafId, exact: true });
}

/** @param {string} chat @param {string} id */
export async function waitUntilComplete(chat, id) {
  await waitUntil(
    async () => (await clotho.api("GET", `${chat}/node/${id}`)).status !== "generating",
    "the reply is written",
  );
  const node = await clotho.api("GET", `${chat}/node/${id}`);
  if (node.status !== "complete") throw new Error(`a reply failed: ${JSON.stringify(node.metadata)}`);
}

/**
 * @param {string} name @param {string} path @param {BrowserContextOptions} options @param {string} sign what is there when the page is
 * @param {(page: Page) => Promise<unknown>} [open] what is opened before it is taken
 */
export async function takeScreenshot(name, path, options, sign, open) {
  if (!isRequested(name)) return;
  const context = await browser.newContext({ locale: "en-GB", reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  await page.addInitScript(() =>
    ["hint.goBack", "hint.again", "hint.timelines"].forEach((hint) => localStorage.setItem(`clotho.${hint}`, "seen")),
  );
  await page.goto(clotho.base + path);
  await page.locator(sign).first().waitFor();
  await page.waitForLoadState("networkidle");
  await open?.(page);
  await page.evaluate(waitUntilLoaded, QUIET_TIME);
  await page.evaluate(async () => {
    await document.fonts.ready;
    const isInStory = (/** @type {Element} */ time) => time.closest("dialog") === null;
    [...document.querySelectorAll("time")].forEach(
      (time, i) => (time.textContent = isInStory(time) ? `20:${10 + Math.ceil(i / 2)}` : "5 minutes ago"),
    );
    /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
    // Two frames, so that the layout of the changed texts is final.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  });
  const png = await page.screenshot({ animations: "disabled" });
  if (png.length > MAX_BYTES) throw new Error(`${name}.png has ${png.length} bytes, more than ${MAX_BYTES}`);
  const file = join(FOLDER, `${name}.png`);
  const old = await readFile(file).catch(() => null);
  const isNew = old === null || (await countDifferentPixels(context, old, png)) > MAX_DIFFERENT;
  if (isNew) await writeFile(file, png);
  console.log(`${name}.png: ${isNew ? `${png.length} bytes` : "as it was"}`);
  await context.close();
}

/**
 * Waits until nothing more is fetched, because menus, the state panel and icons load after the content.
 * @param {number} quiet milliseconds
 */
async function waitUntilLoaded(quiet) {
  const fetched = () => performance.getEntriesByType("resource").length;
  for (let before = -1; before !== fetched(); await new Promise((resolve) => setTimeout(resolve, quiet)))
    before = fetched();
}

/** Returns how many colour values differ visibly. @param {import("playwright-core").BrowserContext} context @param {Buffer[]} pngs */
async function countDifferentPixels(context, ...pngs) {
  const page = await context.newPage();
  return page.evaluate(
    async ([urls, seen]) => {
      const [one = new ImageData(1, 1), two = new ImageData(1, 1)] = await Promise.all(
        urls.map(async (url) => {
          const picture = await createImageBitmap(await (await fetch(url)).blob());
          const pen = /** @type {OffscreenCanvasRenderingContext2D} */ (
            new OffscreenCanvas(picture.width, picture.height).getContext("2d")
          );
          pen.drawImage(picture, 0, 0);
          return pen.getImageData(0, 0, picture.width, picture.height);
        }),
      );
      if (one.width !== two.width || one.height !== two.height) return Infinity;
      return one.data.filter((value, i) => Math.abs(value - (two.data[i] ?? 0)) > seen).length;
    },
    /** @type {const} */ ([pngs.map((png) => `data:image/png;base64,${png.toString("base64")}`), VISIBLE_DIFFERENCE]),
  );
}
