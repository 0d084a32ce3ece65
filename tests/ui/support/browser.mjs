// Starts one Chromium for a test file. A page fails its test on any console error or violation of the content policy.
// Time limits end a run that hangs.
import assert from "node:assert/strict";
import { test as plainTest } from "node:test";
import { chromium } from "playwright-core";

// Playwright turns off features with the same flag, and Chromium reads only the last one: its list is repeated here. The
// last three prepare the popup of an address bar that nobody sees, for every page, which costs a sixth of the processor.
const DISABLED_FEATURES = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "WebUIOmniboxPopup",
  "WebUIOmniboxFullPopup",
  "WebUIOmniboxAimPopup",
];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${DISABLED_FEATURES.join(",")}`,
];

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: FLAGS,
  });

const TEST_LIMIT = 120_000;
const RUN_LIMIT = 15 * 60_000;

/** A purge while a page still reads the message gives 404. The page ignores it. */
const PURGED_WHILE_READ = /status of 404 \(Not Found\) \S+\/(?:world|deltas\?\S+)$/;

/**
 * Defines a test with a time limit, so that the others still run if it hangs.
 * @param {string} name @param {() => Promise<void>} body @param {number} [limit] milliseconds
 */
export const test = (name, body, limit = TEST_LIMIT) => plainTest(name, { timeout: limit }, body);

/** Ends this process with its servers and its browser if the whole run hangs. */
export function limitRun() {
  const end = () => {
    console.error(`the run did not end within ${RUN_LIMIT / 60_000} minutes`);
    process.exit(1);
  };
  setTimeout(end, RUN_LIMIT).unref();
}

/** Closes the pages that a failed test left open. @param {import("playwright-core").Browser} browser */
export const closePages = (browser) => Promise.all(browser.contexts().map((context) => context.close()));

/** Delays animation frames, as on a slow machine. Input is not delayed. @param {number} ms */
function delayFrames(ms) {
  const wait = window.setTimeout.bind(window);
  window.requestAnimationFrame = (then) => wait(() => then(performance.now()), ms);
  window.cancelAnimationFrame = (id) => clearTimeout(id);
  // The libraries of the page wait no longer than this for a frame.
  window.setTimeout = /** @type {any} */ (
    (/** @type {() => void} */ then, /** @type {number} */ pause, ...more) =>
      wait(then, pause === 35 ? ms : pause, ...more)
  );
}

/**
 * Opens a page in a new browser context.
 * @param {import("playwright-core").Browser} browser
 * @param {import("playwright-core").BrowserContextOptions & {expected?: RegExp, late?: number}} [options] `expected`: console errors that belong to the test; `late`: delay of frames in milliseconds
 */
export async function openPage(browser, { expected, late = 0, ...options } = {}) {
  // A service worker would answer from its cache. Only its own tests allow it.
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
  // From now on the browser asks here for files. If that began with the click on a button, the click could come first.
  page.on("filechooser", () => {});
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

/** Waits until a condition is true. A failure names the condition. @param {() => Promise<boolean>} is @param {string} what */
export async function waitUntil(is, what, watchdog = 20_000) {
  const end = Date.now() + watchdog;
  while (!(await is())) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
