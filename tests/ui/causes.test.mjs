// Tests against the real server: the causes of a value, shown from the state panel and from a message.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { causesOf, inputsOf } from "../../static/src/lib/causes.ts";
import { openPage, test } from "./support/browser.mjs";
import { createPurseSession } from "./support/purse-plugin.mjs";
import { browser, checkAccessibility, model, extraServers, clickMessageButton, lastMessage } from "./support/setup.mjs";

const FILES = {
  "plugin.toml": `id = "gifts"
title = { en = "Gifts", zh = "礼物" }
version = "1.0.0"
api = "1"

[state]
schema = "state.schema.json"

[permissions]
request = ["tools", "notes"]

[[tool]]
name = "give_gift"
description = "Rin is given something."
[tool.parameters]
type = "object"
required = ["item"]
[tool.parameters.properties]
item = { type = "string" }

[[rule]]
name = "met"
on = "affinity"
once = true
do = [{ op = "set", path = "met", value = true }]
`,
  "main.rhai": `fn init(ctx) { ctx.set("affinity", 5); }
fn tool_give_gift(ctx, args) {
    if args.item == "stone" { ctx.fail("she has no use for stones"); }
    ctx.add("affinity", 20, \`gift: \${args.item}\`);
    #{ affinity: ctx.get("affinity") }
}
fn on_reply(ctx) { if ctx.text.contains("smile") { ctx.add("affinity", 1, "she smiles"); } }
`,
  "state.schema.json": JSON.stringify({
    type: "object",
    properties: {
      affinity: { title: "Affinity", type: "integer", minimum: 0, maximum: 100 },
      met: { title: "Met", type: "boolean" },
      stage: {
        title: "Stage",
        type: "string",
        "x-computed": [{ when: "affinity >= 20", is: "friend" }, { is: "stranger" }],
      },
    },
  }),
};

/** The calls of a model that gives a gift, and another that is refused. */
const GIFTS = [
  { call: { name: "give_gift", arguments: { item: "ring" } } },
  { call: { name: "give_gift", arguments: { item: "stone" } } },
];

/**
 * Opens a session in which a model called tools.
 * @param {Parameters<typeof openPage>[1]} [options]
 */
async function openGiftSession(options, calls = GIFTS) {
  const story = await createPurseSession(model, {
    replies: ["Hm."],
    plugins: [{ id: "gifts" }],
    files: FILES,
    id: "gifts",
  });
  extraServers.push(story.server);
  const { page, close } = await openPage(browser, options);
  await page.goto(story.server.base + story.path);
  await page.locator(".message.last.complete").waitFor();
  model.queueReply(calls);
  model.queueReply(["A smile."]);
  await page.locator("main textarea").first().fill("For you.");
  await page.keyboard.press("Enter");
  await page.locator(".message.last.complete").getByText("A smile.").waitFor();
  return { ...story, page, close };
}

describe("causes of values", () => {
  test("S3-20: the history of a value names the plugin, rule, tool or person, the message, and the old and new value", async () => {
    const { page, close, server, sid } = await openGiftSession();
    const { activeLeafId } = await server.api("GET", `/api/sessions/${sid}`);
    await server.api("POST", `/api/chat/${sid}/node/${activeLeafId}/world`, {
      operations: [{ op: "set", path: "/gifts/affinity", value: 40, why: "I say so" }],
    });
    const affinity = page.locator('[data-path="/gifts/affinity"]');
    await affinity.getByText("40", { exact: true }).waitFor();
    await affinity.getByTitle("Why is Affinity so?").click();
    const dialog = page.getByRole("dialog", { name: "History of “Affinity”" });
    const events = dialog.locator(".events > li");
    await events.nth(2).waitFor();
    const [hand, gift, begun] = await events.allInnerTexts();
    for (const part of ["26 → 40", "You, manually", "I say so", "Between two messages"])
      assert.ok(hand?.includes(part), `${part} in ${hand}`);
    for (const part of [
      "5 → 26",
      "A smile.",
      "the model called its tool “give_gift”",
      "gift: ring",
      "read the reply",
      "she smiles",
      "on_reply",
    ])
      assert.ok(gift?.includes(part), `${part} in ${gift}`);
    for (const part of ["none → 5", "Start of the story", "set up the state"])
      assert.ok(begun?.includes(part), `${part} in ${begun}`);
    await checkAccessibility(page, "why a value is so");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    // A manifest rule, and a computed value.
    await page.locator('[data-path="/gifts/met"]').getByTitle("Why is Met so?").click();
    await page.getByRole("dialog").getByText("declarative rule:").waitFor();
    await page.keyboard.press("Escape");
    await page.locator('[data-path="/gifts/stage"]').getByTitle("Why is Stage so?").press("Enter");
    const stage = page.getByRole("dialog", { name: "History of “Stage”" });
    await stage.getByText("It is computed from other variables").waitFor();
    await stage.getByText('affinity >= 20 → "friend"').waitFor();
    const change = stage.locator(".events > li").first();
    await change.getByText("Stranger → Friend").or(change.getByText("stranger → friend")).waitFor();
    await change.getByText("gift: ring").waitFor();
    await change.getByRole("button").click();
    await stage.waitFor({ state: "detached" });
    await close();
  });

  test("S3-12: the trace of a reply shows each call with its arguments and answer, and the inputs of computed values", async () => {
    const { page, close } = await openGiftSession();
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    await why.getByText("the model called its tool “give_gift”").first().waitFor();
    await why.getByText('{"item":"ring"}').waitFor();
    await why.getByText('{"affinity":25}').waitFor();
    await why.getByText("She has no use for stones.").first().waitFor();
    await why.getByText("The model had give_gift and made 2 calls.").waitFor();
    await why.getByText("computed from Affinity").waitFor();
    await checkAccessibility(page, "why a reply did so");
    await close();
  });

  test("S3-12: the trace says in the user's language why a tool call was refused", async () => {
    const unknown = { call: { name: "take_gift", arguments: { item: "ring" } } };
    const { page, close } = await openGiftSession({ locale: "zh-CN" }, [...GIFTS, unknown]);
    await clickMessageButton(lastMessage(page), "提示词查看器");
    const why = page.getByRole("dialog", { name: "提示词查看器" });
    await why.getByText("没有名为“take_gift”的工具。可用的工具：give_gift").waitFor();
    // What the author of the tool wrote stays as it is.
    await why.getByText("She has no use for stones.").first().waitFor();
    await checkAccessibility(page, "why a tool call was refused");
    await close();
  });

  test("the trace says in the user's language what is wrong with a lorebook entry and what was not scanned", async () => {
    const { page, close, server } = await openGiftSession({ locale: "zh-CN" });
    const { id } = await server.api("POST", "/api/lorebooks", {
      name: "Tides",
      entries: [
        { comment: "Ebb", constant: true, content: "It turns at six.", when: "affinity >=" },
        { comment: "Names", key: Array.from({ length: 10_001 }, (_, i) => `name ${i}`), content: "Known." },
      ],
    });
    await server.api("PUT", `/api/lorebooks/${id}/holds`, { everything: true });
    model.queueReply(["The tide turns."]);
    await page.locator("main textarea").first().fill("The tide?");
    await page.keyboard.press("Enter");
    await page.locator(".message.last.complete").getByText("The tide turns.").waitFor();
    await clickMessageButton(lastMessage(page), "提示词查看器");
    const why = page.getByRole("dialog", { name: "提示词查看器" });
    await why.getByText("条件由 affinity >= 20 这样的部分组成").waitFor();
    await why.getByText("只使用条目 1 的前 10000 个关键词").waitFor();
    await checkAccessibility(page, "what is wrong with a lorebook");
    await close();
  });

  test("model calls of plugins and their results are shown in the trace", async () => {
    const files = {
      "plugin.toml":
        'id = "moods"\ntitle = "Moods"\nversion = "1.0.0"\napi = "1"\n[permissions]\nrequest = ["model.call"]\n',
      "main.rhai":
        'fn on_reply(ctx) { ctx.ask("mood", #{ messages: "In one word: how does she feel?" }); }\nfn on_answer(ctx) { ctx.set("mood", ctx.answer.text, "asked"); }\n',
    };
    const story = await createPurseSession(model, { replies: [], plugins: [{ id: "moods" }], files, id: "moods" });
    extraServers.push(story.server);
    const { page, close } = await openPage(browser);
    await page.goto(story.server.base + story.path);
    await page.locator(".message.last").waitFor();
    model.queueReply(["A smile."]);
    model.queueReply(["glad"]);
    await page.locator("main textarea").first().fill("Hello.");
    await page.keyboard.press("Enter");
    await page.locator('[data-path="/moods"], [data-path="/moods/mood"]').first().waitFor();
    await page.locator(".by-hand").getByText("A model answered a plugin").waitFor();
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    await why.getByText("Model calls by plugins").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".by-hand button").first().click();
    await why.getByText("read a model’s answer").waitFor();
    await why.getByText("Answer to “mood”").waitFor();
    await checkAccessibility(page, "what a model answered a plugin");
    await close();
  });

  test("the causes work on a narrow screen and in Chinese", async () => {
    const { page, close } = await openGiftSession({ viewport: { width: 390, height: 844 }, locale: "zh-CN" });
    await page.getByRole("navigation").getByRole("button", { name: "状态" }).click();
    await page.locator('[data-path="/gifts/affinity"] .now').click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("模型调用了它的工具“give_gift”").waitFor();
    assert.equal(await dialog.locator(".sheet").evaluate((box) => box.scrollWidth - box.clientWidth), 0);
    await checkAccessibility(page, "why, on a narrow screen");
    await close();
  });
});

describe("causes", () => {
  test("operations of several calls of one plugin are assigned to their call; if the counts differ, only the plugin is named", async () => {
    const ops = [
      { op: "set", path: "/lore/x", by: "server", in: "lore" },
      { op: "add", path: "/a/hp", value: 1, by: "a" },
      { op: "add", path: "/a/hp", value: 2, by: "a" },
      { op: "insert", path: "/a/pack", key: "rope/x", value: 1, by: "a" },
    ];
    const rules = [
      { plugin: "a", hook: "on_input", ops: 1 },
      { plugin: "a", hook: "on_reply", ops: 2 },
    ];
    const hooks = (/** @type {object} */ delta, /** @type {string} */ path) =>
      causesOf(/** @type {any} */ (delta), path).map(({ run }) => run?.hook ?? null);
    assert.deepEqual(hooks({ operations: ops, rules }, "/a/hp"), ["on_input", "on_reply"]);
    assert.deepEqual(hooks({ operations: ops, rules }, "/a/pack/rope~1x"), ["on_reply"]);
    assert.deepEqual(hooks({ operations: ops, rules }, "/a/pack/lamp"), []);
    assert.deepEqual(hooks({ operations: ops, rules: rules.slice(1) }, "/a/hp"), [null, null]);
  });

  test("a computed value names its siblings or paths from its root", async () => {
    const of = (/** @type {any} */ computed) => inputsOf({ "x-computed": computed }, "/a/people/rin/stage");
    assert.deepEqual(of([{ when: 'affinity >= 20 and mood == "calm"', is: "friend" }, { is: "stranger" }]), [
      "/a/people/rin/affinity",
      "/a/people/rin/mood",
    ]);
    assert.deepEqual(of("min(/combat.hp, 100) - wounds.deep"), ["/a/combat/hp", "/a/people/rin/wounds/deep"]);
  });
});
