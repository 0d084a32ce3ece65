// What the page costs in a browser, with ten thousand messages: the first pictures, frames, going there and back, a stream.
//   (cd tests/ui && npm ci) && CLOTHO_BIN=… node benches/page/page.mjs          all of it, as Markdown
//   CLOTHO_BIN=… node benches/page/page.mjs tree                                one part: tree, chat, stream, load
// Every figure is a median of rounds; the machine, its load and the program (release or not) belong to what is written down of it.
// Frames stand beside those of an empty page and of a bare canvas in the same run: no page draws more than the browser does.
import { loadavg } from "node:os";
import { launch } from "../../tests/ui/support/browser.mjs";
import { createLongSession } from "../../tests/ui/support/long-session.mjs";
import { startClotho, startModel } from "../../tests/ui/support/server.mjs";

const SIZE = 10_000;
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const PARTS = process.argv.slice(2);
const VIEW = { width: 1280, height: 860 };
const TOKENS = { count: 600, every: 10 };

const isWanted = (/** @type {string} */ part) => PARTS.length === 0 || PARTS.includes(part);
const rows = [];
const say = (what, figure, limit = "") => (rows.push([what, figure, limit]), console.error(`${what}: ${figure}`));
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const ms = (all) => `${Math.round(median(all))} ms (${Math.round(Math.min(...all))} to ${Math.round(Math.max(...all))})`;
/** The hundredth part that is worst, at its best. */
const p99 = (all) => [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * 0.99))];
/** How much slower than this machine a small one is taken to be. */
const SLOWER = 4;
const times = async (body, count = ROUNDS) => {
  const all = [];
  for (let i = 0; i < count; i += 1) all.push(await body(i));
  return all;
};

const model = await startModel();
const clotho = await startClotho(`[[providers]]\nid = "mock"\nbase_url = "${model.url}"\nmodels = ["m"]\n`);
const browser = await launch();
try {
  if (isWanted("load")) await load();
  if (isWanted("tree") || isWanted("chat")) {
    const path = await createLongSession(clotho, SIZE, (n) => `**Step ${n}** of a long way. ${"The road goes on, and on. ".repeat(1 + (n % 7))}`);
    if (isWanted("tree")) await tree(path);
    if (isWanted("chat")) await chat(path);
  }
  if (isWanted("stream")) await stream();
  console.log(`\n${new Date().toISOString().slice(0, 10)}, load ${loadavg().map((n) => n.toFixed(1)).join(" ")}, ${ROUNDS} rounds\n`);
  console.log(["| | median (least to most) | limit |", "| --- | --- | --- |", ...rows.map((row) => `| ${row.join(" | ")} |`)].join("\n"));
} finally {
  await Promise.allSettled([browser.close(), clotho.close(), model.close()]);
}
process.exit(0);

/** A fresh reader; nothing is in its cache. */
async function reader(open = "open") {
  const context = await browser.newContext({ locale: "en-GB", viewport: VIEW });
  await context.addInitScript((sides) => localStorage.setItem("clotho.tree.sides", sides), open);
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  return { page, close: () => context.close() };
}

/** In the page: milliseconds from pressing something until it is seen, and a frame more. */
function pressed([selector, seen]) {
  return new Promise((resolve) => {
    const start = performance.now();
    const look = () => (new Function(`return ${seen}`)() ? requestAnimationFrame(() => resolve(performance.now() - start)) : requestAnimationFrame(look));
    document.querySelector(selector).click();
    look();
  });
}

/** In the page: collects the waits between frames, or between the pictures that an element has drawn, until it is told to stop. */
function watchFrames([drawing]) {
  const seen = /** @type {any} */ (window);
  Object.assign(seen, { gaps: [], isOver: false });
  // What counts is a tree that was drawn, not a frame that the browser had.
  let [last, drawn, pictures] = [performance.now(), -1, 0];
  const step = () => {
    const now = performance.now();
    pictures = drawing ? /** @type {any} */ (document.querySelector(drawing)).frames : pictures + 1;
    if (pictures > drawn) (seen.gaps.push(now - last), (last = now), (drawn = pictures));
    if (!seen.isOver) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
/** In the page: what was collected, but for the first. */
function watched() {
  Object.assign(window, { isOver: true });
  return /** @type {any} */ (window).gaps.slice(1);
}

/** In the page: moves the tree with each frame, there and back, until the watching is over. */
function moveTree([dy]) {
  const canvas = /** @type {any} */ (document.querySelector("tree-canvas"));
  let n = 0;
  const step = () => {
    canvas.pan(0, (n++ >> 5) % 2 ? -dy : dy);
    if (!(/** @type {any} */ (window).isOver)) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

/** In an empty page: fills a canvas of that size anew with each frame, until the watching is over. */
function fillCanvas([wide, tall]) {
  const canvas = document.body.appendChild(Object.assign(document.createElement("canvas"), { width: wide, height: tall }));
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  let n = 0;
  const step = () => {
    pen.fillStyle = n++ % 2 ? "#eee" : "#ddd";
    pen.fillRect(0, 0, wide, tall);
    if (/** @type {any} */ (window).isOver) canvas.remove();
    else requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

/** In an empty page: writes words at the end of a paragraph as they come, and stays at its end. What no page does with less. */
function writeBare([words, count, every]) {
  document.body.style.cssText = "margin:0 auto;width:40rem;font:17px/1.6 serif";
  const text = document.body.appendChild(document.createElement("p")).appendChild(new Text());
  text.parentElement.style.whiteSpace = "pre-wrap";
  const start = performance.now();
  let n = 0;
  const step = () => {
    const due = Math.min(count, Math.floor((performance.now() - start) / every));
    if (due > n) text.appendData(Array.from({ length: due - n }, () => words[n++ % words.length]).join(""));
    scrollTo(0, document.body.scrollHeight);
    if (n < count) requestAnimationFrame(step);
    else text.parentElement.remove();
  };
  requestAnimationFrame(step);
}

/** The waits between frames while something goes on for so long, or between the pictures that an element has drawn. */
async function gapsWhile(page, act, drawing = "") {
  await page.evaluate(watchFrames, [drawing]);
  await act();
  return page.evaluate(watched);
}
/** As long as each row of frames is looked at. */
async function rest(page) {
  await page.waitForTimeout(2_000);
}

/** Frames a second of some rounds, and what the worst of them waited for. @param {number[][]} rounds */
function frames(rounds) {
  const rates = rounds.map((gaps) => 1000 / (gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length));
  return `${Math.round(median(rates))} a second (${Math.round(Math.min(...rates))} to ${Math.round(Math.max(...rates))}), p99 ${Math.round(p99(rounds.flat()))} ms`;
}

/** What the browser draws by itself here. */
async function baselines() {
  const { page, close } = await reader();
  await page.goto("about:blank");
  say("frames of an empty page", frames(await times(() => gapsWhile(page, () => rest(page)))));
  const filled = () => gapsWhile(page, async () => (await page.evaluate(fillCanvas, [VIEW.width, VIEW.height]), await rest(page)));
  say("frames of a bare canvas of that size, filled anew each time", frames(await times(filled)));
  await close();
}

/** A mouse that drags over the small map, from one end to the other. */
async function dragged(page) {
  const box = await page.locator("tree-canvas .tree-map").boundingBox();
  const [x, from, to] = [box.x + box.width / 2, box.y + 4, box.y + box.height - 4];
  await page.mouse.move(x, from);
  await page.mouse.down();
  const move = async () => {
    for (let i = 0; i <= 120; i += 1) await page.mouse.move(x, from + ((to - from) * i) / 120);
  };
  const gaps = await gapsWhile(page, move, "tree-canvas");
  await page.mouse.up();
  return gaps;
}

/** While the page's processor is a slower one. @param {import("playwright-core").CDPSession} cdp */
async function slowed(cdp, act) {
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  const done = await act();
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 1 });
  return done;
}

/** What the page has in memory and in its document. @param {import("playwright-core").CDPSession} cdp */
async function weight(cdp) {
  await cdp.send("HeapProfiler.collectGarbage");
  await cdp.send("Performance.enable");
  const { JSHeapUsedSize, Nodes } = Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
  return `${(JSHeapUsedSize / 1024 / 1024).toFixed(1)} MB, ${Nodes} nodes of the document`;
}

async function tree(path) {
  const OPEN = '.topbar [data-command="page.tree"]';
  const FRAME = '(document.querySelector("tree-canvas")?.frames ?? 0) > 0';
  const CHAT = 'document.querySelector("tree-canvas") === null && getComputedStyle(document.querySelector(".chat")).visibility === "visible"';
  // `new Function` is forbidden to the page; the bench is not the page.
  const open = async () => {
    const opened = await reader();
    const cdp = await opened.page.context().newCDPSession(opened.page);
    await cdp.send("Page.setBypassCSP", { enabled: true });
    await opened.page.goto(clotho.base + path);
    await opened.page.locator(OPEN).waitFor();
    await opened.page.locator(".message.last").waitFor();
    return { ...opened, cdp };
  };
  await baselines();
  const first = await times(async () => {
    const { page, close } = await open();
    const took = await page.evaluate(pressed, [OPEN, FRAME]);
    const answered = await page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.includes("skeleton")).map(({ duration }) => duration)[0] ?? 0);
    await close();
    return { took, answered };
  });
  say("tree: from the button to the first picture, nothing cached", ms(first.map(({ took }) => took)), "500 ms");
  say("— of that the server's answer", ms(first.map(({ answered }) => answered)));
  const { page, close, cdp } = await open();
  await page.evaluate(pressed, [OPEN, FRAME]);
  const cards = await page.locator("tree-canvas").evaluate((canvas) => canvas.scene.cards.size);
  say("cards of the tree, all unfolded", String(cards));
  say("memory of the page with that tree, after a sweep", await weight(cdp));
  const rate = async (what, dy, limit) => say(what, frames(await times(() => gapsWhile(page, async () => (await page.evaluate(moveTree, [dy]), await rest(page)), "tree-canvas"))), limit);
  await page.locator("tree-canvas").evaluate((canvas) => canvas.pan(0, 3_000));
  await rate("frames, near, while it pans, the small map with it", 14, "45");
  await rate("frames, near, a whole screen further each time, as by the small map", 900, "30");
  say("frames, while a mouse drags the small map from end to end", frames(await times(() => dragged(page))), "30");
  await slowed(cdp, () => rate(`— near, while it pans, on a processor ${SLOWER} times slower`, 14));
  await page.locator("tree-canvas").evaluate((canvas) => canvas.fit());
  await rate("frames, the whole tree in sight", 3, "20");
  await slowed(cdp, () => rate(`— the whole tree, on a processor ${SLOWER} times slower`, 3));
  const back = await times(async () => {
    const toChat = await page.evaluate(pressed, [".tree-back", CHAT]);
    const toTree = await page.evaluate(pressed, [OPEN, FRAME]);
    return { toChat, toTree };
  }, ROUNDS * 2);
  say("from the tree to the chat", ms(back.map(({ toChat }) => toChat)), "200 ms");
  say("from the chat to the tree, which is known", ms(back.map(({ toTree }) => toTree)), "200 ms");
  await close();
}

async function chat(path) {
  const first = await times(async () => {
    const { page, close } = await reader();
    // The largest text that was painted is one of a message, from its first picture on.
    await page.addInitScript(() => {
      const seen = /** @type {any} */ (window);
      const look = (list) => list.getEntries().forEach(({ element, startTime }) => element?.closest(".message .prose") && (seen.seenAt ??= startTime));
      new PerformanceObserver(look).observe({ type: "largest-contentful-paint", buffered: true });
    });
    await page.goto(clotho.base);
    // The page and its scripts are there already, as they are for who comes from the list of stories.
    await page.goto(clotho.base + path);
    await page.waitForFunction(() => /** @type {any} */ (window).seenAt > 0);
    const took = await page.evaluate(() => /** @type {any} */ (window).seenAt);
    await close();
    return took;
  });
  say("chat of 10 000 messages: from the address to the first picture of its last messages", ms(first), "400 ms");
  const { page, close } = await reader();
  await page.goto(clotho.base + path);
  await page.locator(".message.last").waitFor();
  say("messages of it in the page", String(await page.locator(".message").count()));
  const cdp = await page.context().newCDPSession(page);
  say("memory of the page with that chat, after a sweep", await weight(cdp));
  await page.mouse.move(VIEW.width / 2, VIEW.height / 2);
  const upwards = await times(() =>
    gapsWhile(page, async () => {
      for (let i = 0; i < 100; i += 1) await page.mouse.wheel(0, -240);
    }),
  );
  say(`frames, while a wheel turns upwards through ${ROUNDS * 100 * 240} pixels`, frames(upwards));
  say("— messages in the page then, and memory", `${await page.locator(".message").count()}; ${await weight(cdp)}`);
  await page.goto(clotho.base + path);
  await page.locator(".message.last").waitFor();
  const all = await page.evaluate(
    (size) =>
      new Promise((resolve) => {
        const one = document.querySelector(".message.last");
        const box = document.createElement("div");
        box.className = one.parentElement.className;
        const start = performance.now();
        for (let i = 0; i < size; i += 1) box.append(one.cloneNode(true));
        one.parentElement.parentElement.append(box);
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
      }),
    SIZE,
  );
  say("— as many copies of one finished message put into the page at once", `${Math.round(all)} ms`);
  await close();
}

async function stream() {
  const character = await clotho.api("POST", "/api/characters", { name: "Rin", firstMessage: "The map is not finished." });
  const { id } = await clotho.api("POST", "/api/sessions", { characterIds: [character.id], model: "mock/m", plugins: [] });
  const { page, close } = await reader();
  await page.goto(`${clotho.base}/s/${id}`);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  const metrics = async () => Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value * 1000]));
  const words = ["*snow* ", "falls ", "over ", "the ", "harbour, ", "“and ", "stays”, ", "she ", "says.\n\n"];
  const written = async (n, counts, bare = false) => {
    const held = model.queueHeldReply(Array.from({ length: TOKENS.count }, (_, i) => words[i % words.length]));
    await clotho.api("POST", `/api/chat/${id}/message`, { parentId: (await clotho.api("GET", `/api/sessions/${id}`)).activeLeafId, content: `On, ${n}.`, generate: true });
    held.next(1);
    if (counts) await page.locator(".message.generating .prose").filter({ hasText: "snow" }).waitFor();
    await page.evaluate(watchFrames, [""]);
    const before = await metrics();
    const start = performance.now();
    if (bare) await page.evaluate(writeBare, [words, TOKENS.count, TOKENS.every]);
    for (let sent = 1; sent < TOKENS.count; ) {
      const due = Math.min(TOKENS.count, Math.floor((performance.now() - start) / TOKENS.every)) + 1;
      if (due > sent) (held.next(due - sent), (sent = due));
      await new Promise((resolve) => setTimeout(resolve, TOKENS.every));
    }
    const after = await metrics();
    const gaps = await page.evaluate(watched);
    held.open();
    if (counts) await page.locator(".message.last.complete").waitFor();
    const dropped = gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / (1000 / 60)) - 1), 0);
    return { dropped: (100 * dropped) / (gaps.length + dropped), gaps, cost: (after.TaskDuration - before.TaskDuration) / TOKENS.count };
  };
  const tell = (what, runs) => {
    const dropped = runs.map((run) => run.dropped);
    const gaps = runs.flatMap((run) => run.gaps);
    say(what, `${median(dropped).toFixed(1)} % (most ${Math.max(...dropped).toFixed(1)} %), p99 ${Math.round(p99(gaps))} ms, longest ${Math.round(Math.max(...gaps))} ms`);
  };
  const what = `${1000 / TOKENS.every} tokens a second, ${TOKENS.count} of them: frames that were dropped`;
  const runs = await times((n) => written(n, true));
  tell(what, runs);
  say("— main thread for each token, all in all", `${median(runs.map(({ cost }) => cost)).toFixed(2)} ms`);
  tell(`— on a processor ${SLOWER} times slower`, await slowed(cdp, () => times((n) => written(n, true))));
  // The same is written while nobody looks: what an empty page misses beside it is the machine's.
  await page.goto("about:blank");
  tell("— by an empty page while the same is written and nobody looks", await times((n) => written(n, false)));
  const bare = await times((n) => written(n, false, true));
  tell("— by a page that is nothing but one paragraph with the same words, scrolled to its end", bare);
  say("— main thread of that page for each token", `${median(bare.map(({ cost }) => cost)).toFixed(2)} ms`);
  await close();
}

async function load() {
  const { page, close } = await reader();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  const kinds = new Map();
  const sums = { script: 0, all: 0 };
  cdp.on("Network.responseReceived", ({ requestId, type }) => kinds.set(requestId, type));
  cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    sums.all += encodedDataLength;
    if (kinds.get(requestId) === "Script") sums.script += encodedDataLength;
  });
  await page.goto(clotho.base, { waitUntil: "networkidle" });
  const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
  say("first load, as it is sent: scripts with their headers", kb(sums.script));
  say("— all of it, with styles, icons and answers", kb(sums.all));
  await close();
}
