// Tests in Chromium against the real server: playing a session.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import {
  HP,
  POLICY_ERROR,
  LOAD_ERROR,
  barValue,
  playUntilHurt,
  browser,
  chatPath,
  clotho,
  composer,
  lastMessage,
  readBranch,
  model,
  createSession,
  extraServers,
  waitForReply,
  sendMessage,
  readSession,
  messageTexts,
  clickMessageButton,
} from "./support/setup.mjs";
import { ATTACKS } from "./support/texts.mjs";

describe("the adventure", () => {
  test("S0-24 S1-19 S2-13 S0-50 S3-02: hit points are lost and restored by going back; a reroll has other dice; both branches stay", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page.getByRole("heading", { name: "Every message is a save point." }).waitFor();
    await page.getByRole("button", { name: /New character/ }).waitFor();
    await playUntilHurt(page);
    const hurt = await barValue(page, HP);
    await page.locator(".message.last .chip.down", { hasText: "Hit points" }).waitFor();
    await page.getByRole("note").filter({ hasText: "That was a bad roll." }).waitFor();

    await clickMessageButton(page.locator(".message").first(), "Rewind to here");
    await waitUntil(async () => (await barValue(page, HP)) === 20, "the hit points are back");
    assert.equal(await page.locator(".message").count(), 1);

    await page.getByRole("button", { name: "Go to the end of this branch" }).click();
    await waitUntil(async () => (await barValue(page, HP)) === hurt, "the wound is back with its timeline");
    const path = new URL(page.url()).pathname;
    assert.deepEqual(
      (await readBranch(path)).map((node) => node.id),
      await page.locator("[data-node]").evaluateAll((all) => all.map((e) => e.dataset.node)),
    );

    const [node, old] = [
      await lastMessage(page).locator("article").getAttribute("data-node"),
      await lastMessage(page).locator(".prose").innerText(),
    ];
    const count = (await readBranch(path)).at(-1).siblings.count;
    await clickMessageButton(lastMessage(page), "Regenerate");
    await lastMessage(page)
      .getByText(`${count + 1}/${count + 1}`)
      .waitFor();
    await page.locator(`.message.last.complete article:not([data-node="${node}"])`).waitFor();
    const dice = async (id) => (await clotho.api("GET", `${chatPath(path)}/node/${id}/delta`)).rolls;
    const other = (await readBranch(path)).at(-1).id;
    assert.ok((await dice(node)).length > 0 && (await dice(other)).length > 0, "both replies threw dice");
    assert.notDeepEqual(await dice(other), await dice(node));

    await lastMessage(page).getByRole("button", { name: "Previous swipe" }).click();
    await waitUntil(
      async () => (await lastMessage(page).locator("article").getAttribute("data-node")) !== other,
      "the other timeline is shown",
    );
    await lastMessage(page)
      .getByText(`${count}/${count + 1}`)
      .waitFor();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === old, "the old text is one click away");
    await waitUntil(async () => (await barValue(page, HP)) === hurt, "its wound too");
    await close();
  });

  test("a new user sees hints at a loss: go back, act differently, and switch between both branches", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const hint = page.getByRole("note");
    await hint.getByRole("button", { name: "Regenerate" }).waitFor();
    await hint.getByRole("button", { name: "Rewind" }).click();
    await waitUntil(async () => (await barValue(page, HP)) === 20, "the hit points are back");
    await hint.filter({ hasText: "You are back before this turn." }).waitFor();
    await page.locator(".replies button").nth(1).click();
    await page.locator(".message.user").getByText("2/2").waitFor();
    await hint.filter({ hasText: "Both branches are kept." }).waitFor();
    await hint.getByRole("button", { name: "Close" }).click();
    await hint.waitFor({ state: "detached" });
    await close();
  });

  test("a hint disappears when the user follows the old branch, and does not appear in another session", async () => {
    await createSession({ title: "Elsewhere" });
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const hint = page.getByRole("note");
    await hint.getByRole("button", { name: "Rewind" }).click();
    await hint.filter({ hasText: "You are back before this turn." }).waitFor();
    await page.getByRole("button", { name: "Go to the end of this branch" }).click();
    await hint.waitFor({ state: "detached" });
    const count = (await messageTexts(page)).length;
    await page.locator(".replies button").first().click();
    await waitUntil(async () => (await messageTexts(page)).length === count + 2, "the story goes on");
    await page.locator(".message.last.complete").waitFor();
    assert.equal(await hint.filter({ hasText: "Both branches are kept." }).count(), 0, "there is only one");
    await clickMessageButton(page.locator(".message").first(), "Rewind to here");
    await hint.filter({ hasText: "You are back before this turn." }).waitFor();
    await page.getByRole("link", { name: /^Clotho/ }).click();
    await page.locator(".session").filter({ hasText: "Elsewhere" }).getByRole("link").click();
    await page.locator(".message.last.complete").waitFor();
    assert.equal(await hint.count(), 0);
    await close();
  });

  test("S3-32: the history of a value shows the rule, the operation and the dice", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    await why.getByText("add /keep/hp").waitFor();
    await why.getByText("narrate").first().waitFor();
    // On a phone, a path wraps only between its steps.
    await page.setViewportSize({ width: 390, height: 844 });
    const broken = await why.locator("th, td:first-child code").evaluateAll((all) =>
      all
        .flatMap((one) =>
          [...one.childNodes].filter((node) => {
            const range = document.createRange();
            range.selectNodeContents(node);
            return !/\s/.test(node.textContent ?? "") && range.getClientRects().length > 1;
          }),
        )
        .map((node) => node.textContent),
    );
    assert.deepEqual(broken, []);
    await page.keyboard.press("Escape");
    await why.waitFor({ state: "detached" });
    await close();
  });

  test("a manual change of a value can be gone back from like any other", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const hurt = await barValue(page, HP);
    const row = page.locator(`[data-path="${HP}"]`);
    await row.hover();
    await page.getByRole("button", { name: "Edit Hit points" }).click();
    await row.getByRole("spinbutton").fill("3");
    await row.getByRole("button", { name: "Set" }).click();
    await waitUntil(async () => (await barValue(page, HP)) === 3, "the bar shows the new value");
    await clickMessageButton(lastMessage(page), "Rewind to here");
    await waitUntil(async () => (await barValue(page, HP)) === hurt, "the old value is back");
    await close();
  });

  test("a slash lists the commands of the session's plugins, and Tab completes them", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(clotho.base);
    await page
      .locator(".hero button, button.card")
      .filter({ hasText: /Lantern Keep|Play the adventure/ })
      .first()
      .click();
    await waitForReply(page);
    await composer(page).fill("/");
    const list = page.getByRole("list", { name: "Commands" });
    await list.getByRole("button", { name: /\/look.*Look around/ }).waitFor();
    await composer(page).fill("/inv");
    assert.equal(await list.getByRole("button").count(), 1);
    await composer(page).press("Tab");
    await waitUntil(async () => (await composer(page).inputValue()) === "/inventory ", "the command is completed");
    await list.waitFor({ state: "detached" });
    await composer(page).press("Enter");
    await page.locator(".message.last.assistant.complete").filter({ hasText: /bread/i }).waitFor();
    await composer(page).fill("/");
    await list.getByRole("button", { name: /\/look.*Look around/ }).waitFor();
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("button", { name: "中文" }).click();
    await page
      .getByRole("list", { name: "命令" })
      .getByRole("button", { name: /\/看.*看看四周/ })
      .waitFor();
    await close();
  });

  test("a bar is red only where its schema says that it is dangerous", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const meter = (path) => page.locator(`[data-path="${path}"] .meter`);
    assert.equal(await barValue(page, "/keep/tamsin/affinity"), 20);
    assert.doesNotMatch((await meter("/keep/tamsin/affinity").getAttribute("class")) ?? "", /danger/);
    assert.doesNotMatch((await meter(HP).getAttribute("class")) ?? "", /danger/);
    const path = new URL(page.url()).pathname;
    const { activeLeafId } = await readSession(path);
    await clotho.api("POST", `${chatPath(path)}/node/${activeLeafId}/world`, {
      operations: [{ op: "set", path: HP, value: 5 }],
    });
    await page.locator(`[data-path="${HP}"] .meter.danger`).waitFor();
    await close();
  });

  test("S0-51: the state panel of a second tab follows", async () => {
    const { page, close } = await openPage(browser);
    await playUntilHurt(page);
    const hurt = await barValue(page, HP);
    const other = await page.context().newPage();
    other.setDefaultTimeout(20_000);
    await other.goto(page.url());
    await waitUntil(async () => (await barValue(other, HP)) === hurt, "both tabs show the wound");
    const whole = await messageTexts(page);
    await clickMessageButton(page.locator(".message").first(), "Rewind to here");
    await waitUntil(async () => (await barValue(other, HP)) === 20, "the hit points are back in the second tab");
    assert.deepEqual(await messageTexts(other), whole.slice(0, 1));
    await page.getByRole("button", { name: "Go to the end of this branch" }).click();
    await waitUntil(async () => (await barValue(other, HP)) === hurt, "the wound is there again");
    await waitUntil(async () => (await messageTexts(other)).length === whole.length, "and the line that led to it");
    await close();
  });

  test("on a Chinese page, only names, keys and code are English", async () => {
    const { page, close } = await openPage(browser, { locale: "zh-CN" });
    const check = async (where) => {
      const found = await page.evaluate(() => {
        const shown = [...document.querySelectorAll("body *")].filter(
          (e) => e instanceof HTMLElement && e.offsetParent !== null && !e.closest("pre, code, kbd, .session"),
        );
        const own = (e) => [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.textContent);
        const texts = shown.flatMap((e) => [
          ...own(e),
          e.title,
          e.getAttribute("aria-label"),
          e.getAttribute("placeholder"),
        ]);
        return texts.filter(
          (text) =>
            /[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}|^[a-z]+ [|] /.test(text ?? "") && text !== "Switch to English",
        );
      });
      assert.deepEqual(found, [], where);
    };
    await page.goto(clotho.base);
    await page
      .locator("button.card, .hero button")
      .filter({ hasText: /守灯堡|开始冒险/ })
      .first()
      .waitFor();
    await check("the first page");
    await page
      .locator("button.card, .hero button")
      .filter({ hasText: /守灯堡|开始冒险/ })
      .first()
      .click();
    await page.locator(".variable", { hasText: "体力" }).waitFor();
    await page.locator(".replies button").first().click();
    await page.locator(".message.last.assistant.complete .changes").waitFor();
    await check("the story");
    await page.getByRole("textbox", { name: "你的消息" }).fill("/");
    await page.locator(".completions button").first().waitFor();
    await check("commands");
    await page.getByRole("textbox", { name: "你的消息" }).fill("");
    await clickMessageButton(lastMessage(page), "提示词查看器");
    await page.locator(".why-view table").first().waitFor();
    await check("why");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill(">");
    await page.getByRole("option").first().waitFor();
    await check("all commands");
    await close();
  });

  test("Chinese follows from the browser's languages, with the Chinese session; the switch applies at once", async () => {
    const { page, close } = await openPage(browser, { locale: "zh-CN" });
    await page.goto(clotho.base);
    await page
      .locator("button.card, .hero button")
      .filter({ hasText: /守灯堡|开始冒险/ })
      .first()
      .click();
    await page.getByRole("heading", { name: "状态" }).waitFor();
    await page.locator(".variable", { hasText: "体力" }).waitFor();
    assert.match((await messageTexts(page))[0], /[\u4e00-\u9fff]{5}/);
    assert.equal(await page.locator("html").getAttribute("lang"), "zh-CN");
    await page.getByRole("button", { name: "菜单" }).click();
    await page.getByRole("button", { name: "English" }).click();
    await page.getByRole("heading", { name: "State" }).waitFor();
    await page.locator(".variable", { hasText: "Hit points" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "State" }).waitFor();
    await close();
  });
});

describe("a session with a model", () => {
  test("S0-36 S1-12 S1-18: the reply grows while the model writes; thoughts are folded; HEAD moves at the end", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    const held = model.queueHeldReply([{ reasoning: "She asks about the coast." }, "The **coast** ", "is long."]);
    await page.goto(clotho.base + path);
    await sendMessage(page, "How long is the coast?");
    await page.locator(".message.last.generating").waitFor();
    held.next(2);
    await lastMessage(page).locator(".live strong", { hasText: "coast" }).waitFor();
    const user = (await readBranch(path)).at(-1);
    assert.equal((await readSession(path)).activeLeafId, user.id);
    held.open();
    await waitForReply(page);
    assert.equal((await messageTexts(page)).at(-1), "The coast is long.");
    await lastMessage(page).getByText("Reasoning").click();
    await lastMessage(page).getByText("She asks about the coast.").waitFor();
    const reply = (await readBranch(path)).at(-1);
    assert.equal((await readSession(path)).activeLeafId, reply.id);
    await page.locator("[aria-live=polite]", { hasText: "The coast is long." }).waitFor({ state: "attached" });
    await close();
  });

  test("clamped operations are reported quietly, a failed rule openly; the text stays", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    model.queueReply(["You fall a long way."]);
    await page.route("**/projection*", async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      const reply = body.items.findLast((node) => node.role === "assistant" && node.kind === "message");
      const problem = (code, message) => ({ code, message, plugin: "combat" });
      if (reply)
        reply.problems = [
          problem("clamped", "hp: -3 is below 0, kept at 0"),
          problem("error", "line 4: no such function"),
        ];
      await route.fulfill({ response, json: body });
    });
    await page.goto(clotho.base + path);
    await sendMessage(page, "I jump.");
    const quiet = lastMessage(page).locator("details", { hasText: "A value was limited to its allowed range" });
    await quiet.waitFor();
    assert.equal(await quiet.getAttribute("open"), null);
    await quiet.locator("summary").click();
    await quiet.getByText("Hp: -3 is below 0, kept at 0.").waitFor();
    await lastMessage(page).getByText("A plugin failed here; the text stays").waitFor();
    await lastMessage(page).getByText("Line 4: no such function.").waitFor();
    assert.equal((await messageTexts(page)).at(-1), "You fall a long way.");
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close();
  });

  test("S0-50: a second reply is requested without the first one in the prompt", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    model.queueReply(["First answer."]);
    await page.goto(clotho.base + path);
    await sendMessage(page, "Where are we?");
    await waitForReply(page);
    model.queueReply(["Second answer."]);
    await clickMessageButton(lastMessage(page), "Regenerate");
    await lastMessage(page).getByText("2/2").waitFor();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Second answer.", "the second reply is shown");
    assert.doesNotMatch(JSON.stringify(model.requests.at(-1)), /First answer/);
    await close();
  });

  test("S3-32 S0-16: the trace of a reply shows its prompt, parameters and changes", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession({ plugins: [{ id: "combat" }], params: { temperature: 0.4 } });
    model.queueReply(["The blade finds you.\n\n[HP -7]"]);
    await page.goto(clotho.base + path);
    await sendMessage(page, "I lower my guard.");
    await waitForReply(page);
    await waitUntil(async () => (await barValue(page, "/combat/hp")) === 33, "the rules have read the reply");
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    await why.locator(".chip", { hasText: "Hit points" }).getByText("−7").waitFor();
    await why.getByText("/combat/hp").first().waitFor();
    const reply = (await readBranch(path)).at(-1);
    const fact = async (name) => why.locator("dl div").filter({ hasText: name }).locator("dd").innerText();
    assert.equal(await fact("Model"), "mock/m");
    const { params } = (await clotho.api("GET", `${chatPath(path)}/node/${reply.id}`)).metadata;
    assert.deepEqual([params.temperature, params.seed], [model.requests[0].temperature, model.requests[0].seed]);
    assert.equal(
      await fact("Parameters"),
      `Temperature: 0.4, Seed: ${params.seed}, Max tokens: ${model.requests[0].max_tokens}`,
    );
    await why.locator("summary", { hasText: "messages" }).click();
    assert.deepEqual(
      await why.locator(".sent pre").allInnerTexts(),
      model.requests[0].messages.map((message) => message.content),
    );
    assert.match((await why.locator(".sent pre").allInnerTexts()).join(), /I lower my guard\./);
    await page.keyboard.press("Escape");
    await close();
  });

  test("S3-18: hidden tags of a reply are not shown, and its prose is unchanged byte for byte", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    const prose = "The tide turns at nine; 九点退潮 — “be quick”, she says.";
    const told = `${prose}\n\n<UpdateVariable>\n_.set('tide', 9);\n</UpdateVariable>`;
    model.queueReply([`<think>nine or ten?</think>\n${told}`]);
    await page.goto(clotho.base + path);
    await sendMessage(page, "When?");
    await waitForReply(page);
    await waitUntil(async () => (await messageTexts(page)).at(-1) === prose, "the prose alone is shown");
    const stored = (await readBranch(path)).at(-1);
    assert.equal(stored.content, told, "the stored reply keeps every byte of its text");
    assert.equal(stored.reasoning, "nine or ten?", "the thought is its reasoning");
    await page.reload();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === prose, "after a reload too");
    await close();
  });

  test("S0-49: after twenty turns through the page, the branch has forty messages and the greeting", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    await page.goto(clotho.base + path);
    for (let i = 1; i <= 20; i += 1) {
      model.queueReply([`Answer ${i}.`]);
      await sendMessage(page, `Question ${i}?`);
      await lastMessage(page).getByText(`Answer ${i}.`, { exact: true }).waitFor();
      await waitForReply(page);
    }
    const expected = [
      "The map is not finished.",
      ...Array.from({ length: 20 }, (_, i) => [`Question ${i + 1}?`, `Answer ${i + 1}.`]).flat(),
    ];
    assert.deepEqual(await messageTexts(page), expected);
    const items = await readBranch(path);
    assert.deepEqual(
      items.map((node) => node.content),
      expected,
    );
    assert.equal(items.at(-1).id, (await readSession(path)).activeLeafId);
    assert.equal(model.requests.length, 20);
    assert.deepEqual(
      model.requests[19].messages.slice(-40).map((message) => message.content),
      expected.slice(0, 40),
    );
    await close();
  });

  test("on a Chinese page, a failure and its hint are in Chinese, whatever language the server uses", async () => {
    const { page, close } = await openPage(browser, { locale: "zh-CN", expected: LOAD_ERROR });
    const path = await createSession({ model: "locked/m" });
    await page.goto(clotho.base + path);
    await page.getByRole("textbox", { name: "你的消息" }).fill("你好");
    await page.keyboard.press("Enter");
    const failure = page.getByRole("group", { name: "回复失败。" });
    await failure.getByText("模型服务器拒绝了请求。").waitFor();
    await failure.getByText("密钥对不对").waitFor();
    await page.goto(`${clotho.base}/s/00000000-0000-4000-8000-000000000000`);
    await page.getByText("这个故事不存在。").waitFor();
    const tooLong = await createSession();
    await page.goto(clotho.base + tooLong);
    await page.route("**/message", (route) =>
      route.fulfill({
        status: 413,
        json: { error: { code: "too_large", message: "the text is too long", hint: "send less at once" } },
      }),
    );
    await page.getByRole("textbox", { name: "你的消息" }).fill("很长");
    await page.keyboard.press("Enter");
    await page.getByText("内容太长了。").waitFor();
    await page.getByText("一次少写一些。").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close();
  });

  test("S0-46: stopping keeps the text, and the draft survives a reload", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    const held = model.queueHeldReply(["Kept words. ", "Never said."]);
    await page.goto(clotho.base + path);
    await sendMessage(page, "Tell me everything.");
    held.next();
    await lastMessage(page).locator(".live", { hasText: "Kept words." }).waitFor();
    await composer(page).fill("half a thought");
    await page.getByRole("button", { name: "Stop generating" }).click();
    await waitForReply(page);
    await lastMessage(page).getByText("Stopped before the end.").waitFor();
    assert.equal((await messageTexts(page)).at(-1), "Kept words.");
    // The field never appears without its draft, because typing at once would lose it. Its content is recorded before
    // the first paint.
    await page.addInitScript(() => {
      const watch = new MutationObserver(async () => {
        const box = /** @type {HTMLTextAreaElement | null} */ (document.querySelector("form.composer textarea"));
        if (!box) return;
        watch.disconnect();
        for (let turn = 0; turn < 20; turn += 1) await null;
        document.documentElement.dataset.begunWith = box.value;
      });
      watch.observe(document, { childList: true, subtree: true });
    });
    await page.reload();
    await composer(page).waitFor();
    await page.locator("html[data-begun-with]").waitFor();
    assert.equal(await page.locator("html").getAttribute("data-begun-with"), "half a thought");
    assert.equal(await composer(page).inputValue(), "half a thought");
    await close();
    held.open();
  });

  test("after a reload during a reply, the received text is shown and the rest follows", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    const held = model.queueHeldReply(["One, ", "two, ", "three."]);
    await page.goto(clotho.base + path);
    await sendMessage(page, "Count.");
    held.next();
    await lastMessage(page).locator(".live", { hasText: "One," }).waitFor();
    await page.reload();
    await lastMessage(page).locator(".live", { hasText: "One," }).waitFor();
    held.open();
    await waitForReply(page);
    assert.equal((await messageTexts(page)).at(-1), "One, two, three.");
    await close();
  });

  test("a failed reply stays on the branch when the user continues below it", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    await page.goto(clotho.base + path);
    model.queueHeldReply(["Half a sentence, ", null]).open();
    await sendMessage(page, "What is there?");
    await page.locator(".failure").waitFor();
    model.queueReply(["And on it goes."]);
    await sendMessage(page, "Go on.");
    await waitUntil(
      async () => (await messageTexts(page)).at(-1) === "And on it goes.",
      "the next message is answered",
    );
    const expected = ["What is there?", "Half a sentence,", "Go on.", "And on it goes."];
    assert.deepEqual(
      (await messageTexts(page)).slice(-4).map((text) => text.trim()),
      expected,
    );
    await page.reload();
    await waitUntil(async () => (await messageTexts(page)).length >= 4, "the line is read anew");
    assert.deepEqual(
      (await messageTexts(page)).slice(-4).map((text) => text.trim()),
      expected,
    );
    await close();
  });

  test("S1-16: without a model server the message stays, the failure has a text and a hint, and the retry works", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession({ model: "down/m" });
    await page.goto(clotho.base + path);
    await sendMessage(page, "Is anybody there?");
    const failure = page.locator(".failure");
    await failure.waitFor();
    assert.match(await failure.innerText(), /The model server cannot be reached\.\s+\S+/);
    await failure.locator(".hint", { hasText: "base URL" }).waitFor();
    assert.equal((await readBranch(path)).at(-1).content, "Is anybody there?");
    await page.reload();
    await failure.waitFor();
    await failure.getByRole("button", { name: "Change model" }).click();
    await page.getByRole("combobox", { name: "Model", exact: true }).selectOption("mock/m");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await waitUntil(async () => (await readSession(path)).model === "mock/m", "the story has the other model");
    model.queueReply(["I am."]);
    await failure.getByRole("button", { name: "Try again" }).click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "I am.", "the retry is answered");
    await close();
  });

  test("S0-55: after kill -9 during a reply, the page says so, reconnects, and shows the received text with a retry", async () => {
    const { page, close } = await openPage(browser, {
      expected: /WebSocket|ERR_CONNECTION_REFUSED|Failed to load resource/,
    });
    const server = await startClotho(`[[providers]]\nid = "mock"\nbase_url = "${model.url}"\nmodels = ["m"]\n`);
    extraServers.push(server);
    const character = await server.api("POST", "/api/characters", { name: "Rin", firstMessage: "Yes?" });
    const made = await server.api("POST", "/api/sessions", {
      characterIds: [character.id],
      model: "mock/m",
      plugins: [],
    });
    const held = model.queueHeldReply(["Said before the crash. ", "Lost."]);
    await page.goto(`${server.base}/s/${made.id}`);
    await sendMessage(page, "Go on.");
    held.next();
    await lastMessage(page).locator(".live", { hasText: "Said before" }).waitFor();
    // Received text is saved within a second. This waits until it is on disk, not for a time.
    await waitUntil(() => server.hasOnDisk("Said before the crash."), "the text is on disk");
    await server.stop("SIGKILL");
    await page.getByText("Connection lost.").waitFor();
    held.open();
    await server.start();
    await page.getByText("Connection lost.").waitFor({ state: "detached" });
    await page.locator(".failure").waitFor();
    assert.equal((await messageTexts(page)).at(-1), "Said before the crash.");
    model.queueReply(["And on."]);
    await page.locator(".failure").getByRole("button", { name: "Try again" }).click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "And on.", "the retry is answered");
    await close();
  });

  test("hostile replies stay text: nothing runs, nothing is requested, no unwanted element remains", async () => {
    const { page, close } = await openPage(browser, { expected: POLICY_ERROR });
    const path = await createSession();
    await page.goto(clotho.base + path);
    await waitForReply(page);
    for (const attack of ATTACKS) {
      model.queueReply([attack]);
      const count = await page.locator(".message").count();
      await sendMessage(page, "Go on.");
      await waitUntil(async () => (await page.locator(".message").count()) === count + 2, "the message is there");
      await waitForReply(page);
    }
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).hacked), undefined);
    const found = await page
      .locator(".prose *")
      .evaluateAll((all) => all.flatMap((e) => [e.localName, ...e.getAttributeNames()]));
    const unwanted = new Set(
      found.filter((name) =>
        /^(script|img|iframe|svg|math|style|form|input|base|meta|template|object|embed|link)$|^(on.*|style|id|class|src.*)$/.test(
          name,
        ),
      ),
    );
    assert.deepEqual([...unwanted], []);
    const links = await page.locator(".prose a").evaluateAll((all) => all.map((a) => a.getAttribute("href") ?? ""));
    assert.ok(links.length > 0 && links.every((href) => /^$|^https:\/\/example\.org/.test(href)), links.join());
    await close();
  });
});

describe("Markdown", () => {
  test("speech has its own colour, not in code, until the user switches it off", async () => {
    const { page, close } = await openPage(browser);
    const path = await createSession();
    model.queueReply(['She says "Wait", “wait”, «wait», 「等」 and 『等』.\n\n`"code"`']);
    await page.goto(clotho.base + path);
    await waitForReply(page);
    await sendMessage(page, "Go on.");
    await lastMessage(page).getByText("She says").waitFor();
    await waitForReply(page);
    assert.deepEqual(await lastMessage(page).locator("q").allInnerTexts(), [
      '"Wait"',
      "“wait”",
      "«wait»",
      "「等」",
      "『等』",
    ]);
    const isTinted = () =>
      lastMessage(page).evaluate(
        (e) => getComputedStyle(e.querySelector("q")).color !== getComputedStyle(e.querySelector("p")).color,
      );
    assert.ok(await isTinted());
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "Colour dialogue", exact: true }).click();
    await waitUntil(async () => !(await isTinted()), "it has the colour of the text");
    await page.reload();
    await waitForReply(page);
    assert.equal(await isTinted(), false);
    await close();
  });
});
