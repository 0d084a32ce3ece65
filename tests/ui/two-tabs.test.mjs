// Tests against the real server: two tabs act at random, and both finally show what the server has.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import {
  LOAD_ERROR,
  chatPath,
  chooseFromPageMenu,
  clotho,
  composer,
  seedBranch,
  lastMessage,
  openSession,
  readSession,
} from "./support/setup.mjs";

const STEPS = 60;
const SEED = 20_261;
/** A time limit for many actions on a busy machine. */
const LIMIT = 8 * 60_000;

/** Returns pseudo-random integers from 0 up to, not including, n, the same each time. @param {number} seed */
function randomInteger(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** Counts the requests of a tab that are not answered yet. @param {import("playwright-core").Page} page */
function requestsOf(page) {
  const open = new Set();
  const ours = (request) => request.url().includes("/api/") && !request.url().includes("/ws");
  page.on("request", (request) => ours(request) && open.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
  return () => open.size;
}

const idsOf = (page) =>
  page.locator(".message article").evaluateAll((all) => all.map((one) => one.getAttribute("data-node")));

/** Focuses a message if it is still there, and presses a key. */
async function pressOnMessage(page, id, key) {
  const isThere = await page.evaluate((at) => {
    const article = document.querySelector(`[data-node="${at}"]`);
    if (article instanceof HTMLElement) article.focus();
    return article !== null;
  }, id);
  if (isThere) await page.keyboard.press(key);
}

/**
 * What a user can do, by name.
 * @type {Record<string, (page: import("playwright-core").Page, pick: (n: number) => number, step: number) => Promise<void>>}
 */
const ACTS = {
  async say(page, _pick, step) {
    await composer(page).fill(`Step ${step}.`);
    await composer(page).press("Enter");
  },
  reroll: async (page) => pressOnMessage(page, (await idsOf(page)).at(-1), "r"),
  cut: async (page, pick) => pressOnMessage(page, beyondFirst(await idsOf(page), pick), "Delete"),
  leaveOut: async (page, pick) => pressOnMessage(page, oneOf(await idsOf(page), pick), "x"),
  goBack: async (page, pick) => pressOnMessage(page, oneOf(await idsOf(page), pick), "b"),
  otherVersion: async (page, pick) =>
    pressOnMessage(page, oneOf(await idsOf(page), pick), pick(2) ? "Alt+ArrowLeft" : "Alt+ArrowRight"),
  rate: async (page, pick) => pressOnMessage(page, oneOf(await idsOf(page), pick), String(1 + pick(5))),
  undo: async (page) => pressOnMessage(page, (await idsOf(page)).at(-1), "Control+z"),
  redo: async (page) => pressOnMessage(page, (await idsOf(page)).at(-1), "Control+y"),
  async putBack(page, pick) {
    await chooseFromPageMenu(page, "Stash");
    await page.getByRole("dialog").waitFor();
    const buttons = await page.getByRole("button", { name: "Put back in place" }).all();
    await buttons[pick(Math.max(1, buttons.length))]?.click();
  },
  async name(page, pick, step) {
    await pressOnMessage(page, oneOf(await idsOf(page), pick), "n");
    const field = page.getByRole("textbox", { name: "Name", exact: true });
    if (await field.count()) await field.fill(`Place ${step}`);
    if (await field.count()) await field.press("Enter");
  },
  async edit(page, pick, step) {
    await pressOnMessage(page, beyondFirst(await idsOf(page), pick), "e");
    const field = page.getByRole("textbox", { name: "Edit", exact: true });
    if (await field.count()) await field.fill(`Said anew ${step}.`);
    if (await field.count()) await field.press("Control+Enter");
  },
  async change(page, pick) {
    const button = page.getByRole("button", { name: "Edit Rope" });
    if ((await button.count()) === 0) return;
    await button.click();
    await page.getByRole("spinbutton", { name: "Rope" }).fill(String(pick(90)));
    await page.getByRole("button", { name: "Set", exact: true }).click();
  },
};

const oneOf = (ids, pick) => ids[pick(ids.length)];
const beyondFirst = (ids, pick) => ids[1 + pick(Math.max(1, ids.length - 1))];

/** Most actions send messages; otherwise little would be left of the session. */
const WISHES = [...Object.keys(ACTS), "say", "say", "say", "reroll", "undo", "putBack"];

/** Returns the branch that a tab shows: its messages and their marks. */
const shownState = (page) =>
  page.locator(".message").evaluateAll((all) =>
    all.map((one) => {
      const stars = /\d/.exec(one.querySelector(".given-stars")?.getAttribute("aria-label") ?? "");
      return `${one.querySelector("[data-node]")?.getAttribute("data-node")} ${one.classList.contains("disabled")} ${stars?.[0] ?? 0}`;
    }),
  );

/** Returns the same from the server. */
async function serverState(path) {
  const { items } = await clotho.api("GET", `${chatPath(path)}/projection?all=true&limit=500`);
  return items
    .filter(({ kind }) => kind !== "root" && kind !== "change")
    .map(({ id, isEnabled, metadata }) => `${id} ${!isEnabled} ${metadata?.rating ?? 0}`);
}

const ropeShown = async (page) =>
  (await page.locator('[data-path="/rope"] .value').count())
    ? page.locator('[data-path="/rope"] .value').innerText()
    : "";

async function ropeOf(path) {
  const { activeLeafId } = await readSession(path);
  const { world } = await clotho.api("GET", `${chatPath(path)}/node/${activeLeafId}/world`);
  return String(world.vars.rope ?? "");
}

async function stashShown(page) {
  await page.keyboard.press("Escape");
  await chooseFromPageMenu(page, "Stash");
  const dialog = page.getByRole("dialog", { name: "Stash" });
  await dialog.locator(".fragment, .blank").first().waitFor();
  const names = await dialog
    .locator(".fragment article")
    .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  return names;
}

/** Closes what is open, if it has not closed meanwhile. @param {import("playwright-core").Page} page */
async function closeAll(page) {
  const cancel = page.locator("form.edit, form.edit-value").getByRole("button", { name: "Cancel" });
  await waitUntil(
    async () => {
      if (await page.getByRole("dialog").count()) await page.keyboard.press("Escape");
      else if (await cancel.count())
        await cancel
          .first()
          .evaluate((button) => button.click(), null, { timeout: 1_000 })
          .catch(() => null);
      else return true;
      return false;
    },
    "nothing is open",
    60_000,
  );
}

describe("two tabs of one session", () => {
  test(
    "S0-56: after sixty random actions in two tabs, both show the branch, marks, values and stash of the server",
    async () => {
      const { path, ids } = await seedBranch();
      await clotho.api("POST", `${chatPath(path)}/node/${ids[3]}/world`, {
        operations: [{ op: "set", path: "/rope", value: 3 }],
      });
      const { page, close } = await openSession(path, { expected: LOAD_ERROR });
      const other = await page.context().newPage();
      other.setDefaultTimeout(20_000);
      await other.goto(clotho.base + path);
      await lastMessage(other).waitFor();
      const tabs = [page, other].map((tab) => ({ tab, waits: requestsOf(tab) }));
      const pick = randomInteger(SEED);
      const done = [];
      const isTold = async (tab) => {
        const isSame = async () => (await shownState(tab)).join() === (await serverState(path)).join();
        await waitUntil(isSame, "the line is the server's", 60_000).catch(async () =>
          assert.deepEqual(await shownState(tab), await serverState(path), done.join(", ")),
        );
      };
      for (let step = 0; step < STEPS; step += 1) {
        // Waits only for this tab. The other one gets the change while it already does something else.
        const { tab, waits } = tabs[pick(2)];
        const act = WISHES[pick(WISHES.length)];
        done.push(act);
        await ACTS[act](tab, pick, step);
        await waitUntil(async () => waits() === 0, `the tab has its answers to step ${step}: ${act}`, 60_000);
        await closeAll(tab);
        // Compares both tabs from time to time, so that a later change cannot hide a missed one.
        if (pick(2)) for (const { tab } of tabs) await isTold(tab);
      }
      assert.ok((await readSession(path)).op > STEPS / 2, `most acts did something: ${done.join(", ")}`);
      for (const { tab } of tabs) {
        await isTold(tab);
        await waitUntil(
          async () => (await ropeShown(tab)) === (await ropeOf(path)),
          "the value is the server's",
          60_000,
        );
        const { items } = await clotho.api("GET", `${chatPath(path)}/stash`);
        const names = items.map(({ name, firstLine }) => name || firstLine || "A part without text");
        await waitUntil(
          async () => (await stashShown(tab)).join("|") === names.join("|"),
          "the stash is the server's",
          60_000,
        );
      }
      await close();
    },
    LIMIT,
  );
});
