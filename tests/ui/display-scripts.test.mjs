// Tests against the real server: texts displayed by regex scripts of cards, presets and the user, and harmful scripts.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { ATTACKS, ALLOWED, PARSER_REPORTS, findUnwanted } from "./support/attacks.mjs";
import { test, waitUntil } from "./support/browser.mjs";
import {
  POLICY_ERROR,
  browser,
  chatPath,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  composer,
  lastMessage,
  readBranch,
  messageById,
  model,
  createSession,
  openSession,
  waitForReply,
  sendMessage,
  readSession,
  clickMessageButton,
} from "./support/setup.mjs";

/** Returns a display script. */
const displayScript = (scriptName, findRegex, replaceString, more = {}) => ({
  scriptName,
  findRegex,
  replaceString,
  placement: [2],
  trimStrings: [],
  markdownOnly: true,
  ...more,
});

/** Creates a session whose card has scripts. @returns {Promise<string>} its address */
async function createScriptedSession(regex_scripts, card = {}) {
  const character = await clotho.api("POST", "/api/characters", {
    name: "Rin",
    firstMessage: "The map is not finished.",
    ...card,
    metadata: { extensions: { regex_scripts } },
  });
  return createSession({ characterIds: [character.id] });
}

/** Adds messages to the end of a branch through the API. @returns {Promise<string[]>} their ids */
async function addMessages(path, ...texts) {
  let parentId = (await readSession(path)).activeLeafId;
  const ids = [];
  for (const content of texts) {
    const role = ids.length % 2 === 0 ? "user" : "assistant";
    const { node } = await clotho.api("POST", `${chatPath(path)}/message`, { parentId, role, content });
    ids.push((parentId = node.id));
  }
  return ids;
}

const shownText = (page, id) => messageById(page, id).locator(".prose").innerText();
const waitForText = (page, id, text) =>
  waitUntil(async () => (await shownText(page, id)) === text, `${id} says ${text}`);
const presets = (page) => page.getByRole("dialog", { name: "Presets", exact: true });

describe("S4-52: display scripts", () => {
  test("scripts change the display of texts and not the texts: copying, editing and storage use the original", async () => {
    const path = await createScriptedSession([
      displayScript(
        "bar",
        "/<hp>(\\d+)<\\/hp>/g",
        '<div style="color:#9fe3b4;position:fixed">{{char}} has <b>$1</b> of {{getvar::most}} for {{user}}</div>',
      ),
      displayScript("mine", "/^> /", "", { placement: [1] }),
      displayScript("kept", "/fog/g", "mist", { markdownOnly: false }),
      displayScript("sent", "/mist/g", "rain", { markdownOnly: false, promptOnly: true }),
      displayScript("off", "/mist/g", "snow", { disabled: true }),
    ]);
    const [asked, reply] = await addMessages(path, "> I <b>wait</b>.", "The fog lifts. <hp>7</hp>");
    const { page, close } = await openSession(path, {
      expected: POLICY_ERROR,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const made = async () => /^The mist lifts\.\s+Rin has 7 of for You$/.test(await shownText(page, reply));
    await waitUntil(made, "the reply is as the card means it");
    const bar = messageById(page, reply).locator(".prose div").first();
    assert.deepEqual(await bar.evaluate((e) => [e.style.position, e.dataset.ink]), ["", ""]);
    await waitForText(page, asked, "I wait.");
    assert.deepEqual(
      (await readBranch(path)).map(({ content }) => content),
      ["The map is not finished.", "> I <b>wait</b>.", "The fog lifts. <hp>7</hp>"],
    );
    await clickMessageButton(messageById(page, reply), "Copy");
    await waitUntil(
      async () => (await page.evaluate(() => navigator.clipboard.readText())) === "The fog lifts. <hp>7</hp>",
      "the original is copied",
    );
    await clickMessageButton(messageById(page, reply), "Edit");
    assert.equal(await messageById(page, reply).getByRole("textbox").inputValue(), "The fog lifts. <hp>7</hp>");
    await page.keyboard.press("Escape");
    await waitUntil(made, "it is so again");
    await checkAccessibility(page, "a text that a script made");
    await close();
  });

  test("depths are counted from the newest message that counts, and updated with each new one", async () => {
    const path = await createScriptedSession([
      displayScript("new", "/$/", " (new)", { maxDepth: 0 }),
      displayScript("old", "/$/", " (old)", { minDepth: 2 }),
    ]);
    const [asked, first, , second] = await addMessages(path, "One.", "Snow.", "Two.", "Rain.");
    const { page, close } = await openSession(path);
    await waitForText(page, second, "Rain. (new)");
    await waitForText(page, first, "Snow. (old)");
    assert.equal(await shownText(page, asked), "One.");
    await clickMessageButton(lastMessage(page), "Exclude from prompt");
    await waitForText(page, second, "Rain. (new) (old)");
    await clickMessageButton(lastMessage(page), "Include in prompt");
    await waitForText(page, second, "Rain. (new)");
    model.queueReply(["Hail."]);
    await sendMessage(page, "Three.");
    await waitForReply(page);
    await waitUntil(
      async () => (await lastMessage(page).locator(".prose").innerText()) === "Hail. (new)",
      "the newest is another one",
    );
    await waitForText(page, second, "Rain. (old)");
    await close();
  });

  test("thoughts have their own scripts", async () => {
    const path = await createScriptedSession([displayScript("quiet", "/secret/g", "…", { placement: [6] })]);
    const { page, close } = await openSession(path);
    model.queueReply([{ reasoning: "A secret plan." }, "No secret."]);
    await sendMessage(page, "Well?");
    await waitForReply(page);
    await lastMessage(page).locator(".thinking summary").click();
    await lastMessage(page).getByText("A … plan.").waitFor();
    assert.equal(await lastMessage(page).locator(".prose").innerText(), "No secret.");
    await close();
  });

  test("a session without scripts loads nothing for them, and shows nothing of another session's scripts", async () => {
    const [plain, other] = [
      await createSession(),
      await createScriptedSession([displayScript("map", "/map/", "chart")]),
    ];
    const { page, close } = await openSession(plain);
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.reload();
    await lastMessage(page).waitFor();
    await page.waitForLoadState("networkidle");
    assert.ok(
      asked.some((url) => url.endsWith("/scripts/shown")),
      "the page asked whether there are any",
    );
    assert.deepEqual(
      asked.filter((url) => /scripting\.js|apart\.js|script-worker\.js|lib\/scripts\.js|macros\.js/.test(url)),
      [],
    );
    const go = (to) =>
      page.evaluate((to) => (history.pushState(null, "", to), dispatchEvent(new PopStateEvent("popstate"))), to);
    await go(other);
    await lastMessage(page).getByText("The chart is not finished.").waitFor();
    assert.equal(page.workers().length, 1);
    await go(plain);
    await lastMessage(page).getByText("The map is not finished.").waitFor();
    await waitUntil(async () => page.workers().length === 0, "the worker went with its story");
    await close();
  });

  test("a growing reply is displayed through the scripts block by block, and hidden parts never appear", async () => {
    const path = await createScriptedSession([
      displayScript("hide", "/<hidden>[^]*?(<\\/hidden>|$)/g", ""),
      displayScript("name", "/keeper/g", "**warden**"),
    ]);
    const { page, close } = await openSession(path);
    const pieces = [
      "The keeper waits.\n\nSecond ",
      "block.\n\n<hidden>Nobody",
      " reads this.</hidden>Third block.\n\nThe keep",
      "er goes.",
      "\n\nLast.",
    ];
    const held = model.queueHeldReply(pieces);
    await sendMessage(page, "Well?");
    held.next();
    await lastMessage(page).locator(".prose strong").getByText("warden").waitFor();
    const first = await lastMessage(page).locator(".prose p").first().elementHandle();
    await page.evaluate(() => {
      const seen = /** @type {any} */ ((window.seen = []));
      new MutationObserver(() => seen.push(document.querySelector(".message.last .prose")?.textContent ?? "")).observe(
        document.querySelector(".line"),
        { subtree: true, childList: true, characterData: true },
      );
    });
    for (const text of ["Second block.", "Third block.", "The warden goes."]) {
      held.next();
      await lastMessage(page).getByText(text, { exact: true }).waitFor();
    }
    assert.ok(await first.evaluate((e) => e.isConnected), "what can no longer change stays as it is");
    held.open();
    await lastMessage(page).getByText("Last.").waitFor();
    await waitForReply(page);
    await waitUntil(
      async () =>
        (await lastMessage(page).locator(".prose").innerText()) ===
        "The warden waits.\n\nSecond block.\n\nThird block.\n\nThe warden goes.\n\nLast.",
      "all of it is there",
    );
    const seen = await page.evaluate(() => /** @type {any} */ (window).seen.join(" | "));
    assert.doesNotMatch(seen, /hidden|Nobody|keeper/);
    await close();
  });

  test("when a script removes part of a growing text, the text is rendered again", async () => {
    const path = await createScriptedSession([displayScript("swap", "/^([^]*)END$/", "All **other**.\n\nWords.")]);
    const { page, close } = await openSession(path);
    const held = model.queueHeldReply(["One.\n\nTwo.\n\nThree.\n\nFour.", "\n\nFive.END", "!"]);
    await sendMessage(page, "Well?");
    held.next();
    await lastMessage(page).getByText("Four.").waitFor();
    held.next();
    await waitUntil(
      async () => (await lastMessage(page).locator(".prose").innerText()) === "All other.\n\nWords.",
      "it is another text",
    );
    held.open();
    await waitForReply(page);
    await waitUntil(
      async () => (await lastMessage(page).locator(".prose").innerText()).endsWith("Five.END!"),
      "it is the first one again",
    );
    await close();
  });

  test("own display scripts are edited here, and those of a card are switched off; both apply at once", async () => {
    const path = await createScriptedSession([displayScript("map", "/map/", "chart")]);
    const { page, close } = await openSession(path);
    await lastMessage(page).getByText("The chart is not finished.").waitFor();
    await chooseFromPageMenu(page, "Presets");
    const box = presets(page);
    await box.getByText("Show scripts").click();
    await box.getByText("display only", { exact: true }).waitFor();
    await box.getByRole("checkbox", { name: "1 script of the card" }).click();
    await lastMessage(page).getByText("The map is not finished.").waitFor();
    await box.getByRole("button", { name: "New script" }).click();
    await box.getByRole("textbox", { name: "Name" }).fill("Done");
    await box.getByRole("textbox", { name: "Find regex" }).fill("/not finished/");
    await box.getByRole("textbox", { name: "Replace with" }).fill("done");
    await box.getByRole("checkbox", { name: "Chat display; the saved text stays" }).check();
    await box.getByRole("checkbox", { name: "Outgoing prompt" }).uncheck();
    await checkAccessibility(page, "a script for what is shown");
    await box.getByRole("button", { name: "Save" }).click();
    await lastMessage(page).getByText("The map is done.").waitFor();
    const kept = (await clotho.api("GET", "/api/presets?limit=500&kind=regex")).items.find(
      ({ name }) => name === "Done",
    );
    const { body } = await clotho.api("GET", `/api/presets/${kept.id}`);
    assert.deepEqual([body.promptOnly, body.markdownOnly], [false, true]);
    await box.getByRole("article", { name: "Done" }).getByRole("button", { name: "Delete" }).click();
    await lastMessage(page).getByText("The map is not finished.").waitFor();
    await page.keyboard.press("Escape");
    await close();
  });
});

describe("S4-52: harmful scripts", () => {
  test("an endless script is stopped and named; the page responds meanwhile, and other messages are unaffected", async () => {
    const path = await createScriptedSession([
      displayScript("endless", "/(a+)+$/", "x"),
      displayScript("good", "/map|chart/g", "plan"),
    ]);
    const long = `A chart of ${"a".repeat(4_000)}!`;
    const ids = await addMessages(
      path,
      ...Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? "And?" : `${i}: ${long}`)),
    );
    const { page, close } = await openSession(path);
    // The page handles a click while the script runs, not after its end.
    await page.evaluate(() => {
      const late = /** @type {any} */ ((window.late = []));
      let before = performance.now();
      setInterval(() => (late.push(performance.now() - before), (before = performance.now())), 10);
    });
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.locator(".menu:popover-open").waitFor();
    await page.keyboard.press("Escape");
    const newest = ids.at(-1);
    const note = page.getByText("A card script took too long and was skipped: endless");
    await note.waitFor();
    await waitUntil(
      async () => (await shownText(page, newest)).startsWith("29: A plan of aaa"),
      "the scripts around it have done their work",
    );
    await waitUntil(async () => (await shownText(page, ids[1])).startsWith("1: A plan of aaa"), "the oldest too");
    assert.equal(await page.getByText("A card script took too long").count(), 1, "it is tried on one message only");
    const late = await page.evaluate(() => Math.max(.../** @type {any} */ (window).late));
    assert.ok(late < 5_000, `the page stood still for ${late} ms; the pattern would take years`);
    await checkAccessibility(page, "a script that was skipped");

    model.queueReply([`Another chart. ${"a".repeat(4_000)}!`]);
    await sendMessage(page, "More?");
    await waitForReply(page);
    await lastMessage(page).getByText("Another plan.").waitFor();
    assert.equal(await lastMessage(page).getByText("took too long").count(), 0);
    await chooseFromPageMenu(page, "Presets");
    await presets(page).getByText("Show scripts").click();
    await presets(page)
      .getByRole("listitem")
      .filter({ hasText: "endless" })
      .getByText("took too long, skipped")
      .waitFor();
    await page.keyboard.press("Escape");
    await composer(page).waitFor();
    await close();
  });

  test("results of scripts are sanitised: nothing runs, requests, or leaves its message", async () => {
    // The server accepts no text with U+0000.
    const attacks = [
      ...ATTACKS.filter((attack) => !attack.includes("\u0000")),
      "```html\n<style>body{display:none}</style><script>window.hacked=1</script><div onclick=window.hacked=1>x</div>\n```",
      "<style>.bar{display:none}</style><script>window.hacked=1</script>{{trim}}<img src=x onerror=window.hacked=1>",
    ];
    const path = await createScriptedSession(
      attacks.map((attack, i) => displayScript(`attack ${i}`, `/\\[${i}\\]/`, attack)),
    );
    const texts = attacks.map((_, i) => `[${i}] attack`);
    await addMessages(path, ...texts.flatMap((text) => ["Go on.", text]).slice(0, 78));
    const { page, close } = await openSession(path, {
      expected: new RegExp(`${POLICY_ERROR.source}|${PARSER_REPORTS.source}`),
    });
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await waitUntil(
      async () =>
        !(await page.locator(".message.assistant .prose").allInnerTexts()).some((text) =>
          /^\[\d+\] attack$/.test(text),
        ),
      "all of them have been made",
    );
    assert.deepEqual(await page.evaluate(findUnwanted, ALLOWED), []);
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(clotho.base)),
      [],
    );
    await close();
  });

  test("the page can start no other worker than the one for scripts", async () => {
    const path = await createScriptedSession([displayScript("map", "/map/", "chart")]);
    const { page, close } = await openSession(path, { expected: /TrustedScriptURL|TrustedTypePolicy|content policy/ });
    await lastMessage(page).getByText("The chart is not finished.").waitFor();
    const tried = await page.evaluate(() => {
      const outcome = (/** @type {() => unknown} */ make) => {
        try {
          make();
          return "made";
        } catch (error) {
          return error instanceof Error ? error.name : "";
        }
      };
      const types = /** @type {any} */ (window).trustedTypes;
      return [
        outcome(() => new Worker("/assets/dev/built/js/script-worker.js")),
        outcome(() => types.createPolicy("clotho-worker", {})),
        outcome(() => types.createPolicy("mine", {})),
      ];
    });
    assert.deepEqual(tried, ["TypeError", "TypeError", "TypeError"]);
    await close();
  });
});
