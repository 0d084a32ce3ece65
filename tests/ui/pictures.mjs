// Takes the screenshots in docs/screenshots/ of the real page: those of the READMEs, and each page in light and dark
// mode, on a phone and in Chinese.
//   CLOTHO_BIN=… npm run pictures              all of them
//   CLOTHO_BIN=… npm run pictures -- stash     those that are named
import { VARIANTS, PAGES, seedData } from "./support/pages.mjs";
import {
  PHONE,
  WIDE,
  chatPath,
  close,
  clotho,
  isRequested,
  takeScreenshot,
  addVersions,
  createAdventure,
  waitUntilComplete,
} from "./support/screenshots.mjs";

const TALL = { viewport: { width: 1280, height: 1120 } };

try {
  const english = await createAdventure("en");
  const look = await branch(english);
  await inStory("menu", english, PHONE, openMenu);
  await inStory("stash", english, WIDE, openStash);
  await inStory("branches", english, { ...WIDE, colorScheme: "dark" }, openBranches);
  await inStory("compare", english, TALL, openCompare);
  await clear(english, look);
  await addVersions(english);
  await inStory("adventure", english, WIDE);
  for (const [look, { language, ...options }] of Object.entries(VARIANTS)) {
    const wanted = Object.entries(PAGES).filter(([page]) => isRequested(`${page}-${look}`));
    const fixture = wanted.length > 0 ? await seedData(language) : null;
    for (const [page, { path, sign, open }] of fixture ? wanted : [])
      await takeScreenshot(`${page}-${look}`, path(fixture), options, sign, (shown) => open?.(shown, fixture));
  }
} finally {
  await close();
}

/** @param {string} name @param {string} path @param {import("playwright-core").BrowserContextOptions} options @param {(page: import("playwright-core").Page) => Promise<unknown>} [open] */
async function inStory(name, path, options, open) {
  await takeScreenshot(name, path, options, ".message.last .changes", async (page) => {
    await page.locator(".replies button").first().waitFor();
    await open?.(page);
  });
}

/**
 * Adds a second branch, labels, and a fragment in the stash to a session.
 * @param {string} path @returns {Promise<string>} where the second line begins
 */
async function branch(path) {
  const chat = chatPath(path);
  const { items, leafId } = await clotho.api("GET", `${chat}/projection`);
  const say = (parentId, role, content, generate = false) =>
    clotho.api("POST", `${chat}/message`, { parentId, role, content, generate });
  const look = await say(items[0].id, "user", "look around", true);
  const seen = look.generations[0].id;
  await waitUntilComplete(chat, seen);
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

/** Removes the second branch and the labels again. @param {string} path @param {string} look */
async function clear(path, look) {
  const names = ["Over the gap", "A good look first"].map((name) => ({ op: "unlabel", name }));
  await clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations: [...names, { op: "prune", nodeId: look }] });
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
  for (const name of ["Over the gap", "A good look first"])
    await page.getByRole("checkbox", { name: `Compare “${name}”` }).check();
}

/** @param {import("playwright-core").Page} page */
async function openCompare(page) {
  await openBranches(page);
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.locator(".compare table").waitFor();
  await page.locator(".compare .parting").waitFor();
}
