// One Chromium for a test file; pages that fail their test on any console error or breach of the content policy; and the
// limits that end a run which hangs.
import assert from "node:assert/strict";
import { test as plainTest } from "node:test";
import { chromium } from "playwright-core";

const FLAGS =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: FLAGS.split(" "),
  });

const TEST_LIMIT = 120_000;
const RUN_LIMIT = 15 * 60_000;

/** What is cut away while a page still reads what happened there is not found; the page goes on without a word of it. */
const PURGED_WHILE_READ = /status of 404 \(Not Found\) \S+\/(?:world|deltas\?\S+)$/;

/** A test with a limit: one that hangs fails, and the others still run. @param {string} name @param {() => Promise<void>} body @param {number} [limit] milliseconds */
export const test = (name, body, limit = TEST_LIMIT) => plainTest(name, { timeout: limit }, body);

/** The last resort: ends this process, and with it its servers and its browser, when the whole run hangs. */
export function limitRun() {
  const end = () => {
    console.error(`the run did not end within ${RUN_LIMIT / 60_000} minutes`);
    process.exit(1);
  };
  setTimeout(end, RUN_LIMIT).unref();
}

/** Puts away what a test that failed half-way left open. @param {import("playwright-core").Browser} browser */
export const closePages = (browser) => Promise.all(browser.contexts().map((context) => context.close()));

/** What waits for a frame comes late, as on a slow machine; what is pressed does not. @param {number} ms */
function delayFrames(ms) {
  const wait = window.setTimeout.bind(window);
  window.requestAnimationFrame = (then) => wait(() => then(performance.now()), ms);
  window.cancelAnimationFrame = (id) => clearTimeout(id);
  // The libraries of the page do not wait longer than this for a frame.
  window.setTimeout = /** @type {any} */ (
    (/** @type {() => void} */ then, /** @type {number} */ pause, ...more) =>
      wait(then, pause === 35 ? ms : pause, ...more)
  );
}

/**
 * A fresh reader.
 * @param {import("playwright-core").Browser} browser
 * @param {import("playwright-core").BrowserContextOptions & {expected?: RegExp, late?: number}} [options] `expected`: errors that belong to the test; `late`: frames are, by so many milliseconds
 */
export async function openPage(browser, { expected, late = 0, ...options } = {}) {
  // What the browser keeps for when no server answers would answer in its place: only those tests have it that are about it.
  const context = await browser.newContext({
    locale: "en-GB",
    viewport: { width: 1280, height: 860 },
    reducedMotion: "reduce",
    serviceWorkers: "block",
    ...options,
  });
  if (late > 0) await context.addInitScript(delayFrames, late);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const wrong = [];
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`content policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  page.on(
    "console",
    (message) => message.type() === "error" && wrong.push(`${message.text()} ${message.location().url}`),
  );
  page.on("pageerror", (error) => wrong.push(`${error.message} ${error.stack}`));
  const close = async () => {
    await context.close();
    assert.deepEqual(
      wrong.filter((text) => !expected?.test(text) && !PURGED_WHILE_READ.test(text)),
      [],
    );
  };
  return { page, close, wrong };
}

/** Waits until something is true; what it waited for is in the failure. @param {() => Promise<boolean>} is @param {string} what */
export async function waitUntil(is, what, watchdog = 20_000) {
  const end = Date.now() + watchdog;
  while (!(await is())) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
