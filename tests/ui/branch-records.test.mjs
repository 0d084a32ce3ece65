// Tests in Chromium against the real server: what belongs to one branch only, what was really sent, and the defaults.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { treeElement } from "./support/tree-page.mjs";
import { pluginFolder } from "./support/purse-plugin.mjs";
import { startClotho } from "./support/server.mjs";
import {
  browser,
  clotho,
  lastMessage,
  messageById,
  model,
  createSession,
  openSession,
  extraServers,
  waitForReply,
  sendMessage,
  messageTexts,
  messageButton,
  clickMessageButton,
} from "./support/setup.mjs";

/** A plugin that counts gold and records events. */
const CHRONICLE = {
  "plugin.toml":
    'id = "chronicle"\ntitle = "Chronicle"\ndescription = "Keeps what happened"\nversion = "1.0.0"\napi = "1"\n\n[state]\nschema = "state.schema.json"\n',
  "main.rhai":
    'const FOUND = "(?i)finds? (?<n>\\\\d+) gold";\n\nfn init(ctx) { ctx.set("gold", 10); ctx.set("happened", []); }\n\nfn on_reply(ctx) {\n    for found in ctx.find_all(global::FOUND) {\n        ctx.add("gold", parse_int(found.n), "found");\n        ctx.append("happened", `found ${found.n} gold`);\n    }\n}\n',
  "state.schema.json": JSON.stringify({
    type: "object",
    properties: {
      gold: { title: "Gold", type: "integer", minimum: 0, default: 0 },
      happened: { title: "What happened", type: "array", items: { type: "string" }, default: [] },
    },
    additionalProperties: false,
  }),
};

const on = (/** @type {string} */ id) => ({ identifier: id, enabled: true });
/** A context size so small that old messages are not in the prompt. */
const NARROW = {
  openai_max_context: 700,
  openai_max_tokens: 60,
  new_chat_prompt: "",
  new_example_chat_prompt: "",
  prompts: [{ identifier: "main", role: "system", content: "Tell it." }],
  prompt_order: [{ character_id: 100001, order: [on("main"), on("chatHistory")] }],
};

/** Starts a server with this plugin and a session with recall. */
async function startRecallServer() {
  const folder = await pluginFolder(CHRONICLE, "chronicle");
  const server = await startClotho(`
[plugins]
dir = "${folder}"

[recall]
share = 30

[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["m"]
`);
  extraServers.push(server);
  const preset = await server.api("POST", "/api/presets", { kind: "openai", name: "Narrow", body: NARROW });
  const character = await server.api("POST", "/api/characters", { name: "Rin", firstMessage: "Hello." });
  const { id: sid } = await server.api("POST", "/api/sessions", {
    characterIds: [character.id],
    model: "mock/m",
    plugins: [{ id: "chronicle" }],
  });
  await server.api("PATCH", `/api/sessions/${sid}`, {
    presetId: preset.id,
    recall: { enabled: true, collections: [] },
  });
  const at = `/api/chat/${sid}`;
  const whole = async (/** @type {string} */ id) => {
    await waitUntil(async () => (await server.api("GET", `${at}/node/${id}`)).status === "complete", "the reply");
    return id;
  };
  const leaf = async () => (await server.api("GET", `/api/sessions/${sid}`)).activeLeafId;
  const told = async (/** @type {string} */ content, /** @type {string} */ reply) => {
    model.queueReply([reply]);
    const { node, generations } = await server.api("POST", `${at}/message`, {
      parentId: await leaf(),
      content,
      generate: true,
    });
    return { user: node.id, reply: await whole(generations[0].id) };
  };
  const walk = async () => {
    for (let mile = 0; mile < 6; mile += 1)
      await told(
        `We walk on, mile ${mile}, ${"past dull hedges and grey fields ".repeat(8)}`,
        "Night falls over the empty road and nobody speaks for a long while.",
      );
  };
  return { server, sid, at, whole, leaf, told, walk };
}

describe("one branch and no other", () => {
  test("S0-52: a session continued from an old message has its own state, events and memories", async () => {
    const { server, sid, at, whole, leaf, told, walk } = await startRecallServer();
    await told("The silver key lies under the third willow.", "She nods.");
    await walk();
    const { reply: old } = await told("What is in the chest?", "She finds 5 gold.");
    model.queueReply(["She finds 7 gold."]);
    const { generations } = await server.api("POST", `${at}/node/${old}/reroll`, {});
    const other = await whole(generations[0].id);
    assert.equal(await leaf(), other);
    await told("Where is the silver key? The silver key is in the chapel, the silver key!", "She finds 20 gold.");

    const { page, close } = await openPage(browser);
    await page.goto(`${server.base}/s/${sid}`);
    const gold = page.locator('[data-path="/chronicle/gold"] .value').first();
    const happened = page.locator('[data-path="/chronicle/happened"] .items li');
    await waitUntil(async () => (await gold.innerText()) === "37", "the gold of the newer line");
    await messageById(page, other).locator("article").focus();
    await messageButton(messageById(page, other), "Previous swipe").click();
    await waitUntil(
      async () => (await messageTexts(page)).at(-1) === "She finds 5 gold.",
      "the old record is on screen, with nothing below it",
    );
    await waitUntil(async () => (await gold.innerText()) === "15", "its state with it");
    assert.deepEqual(await happened.allInnerTexts(), ["found 5 gold"]);

    model.requests.length = 0;
    model.queueReply(["She finds 1 gold there."]);
    await sendMessage(page, "Where is the silver key?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "She finds 1 gold there.", "the reply came");
    await waitForReply(page);
    await waitUntil(async () => (await gold.innerText()) === "16", "the state goes on from the old record");
    assert.deepEqual(
      await happened.allInnerTexts(),
      ["found 5 gold", "found 1 gold"],
      "what happened on this line, and nothing of the other one",
    );
    const sent = JSON.stringify(model.requests);
    assert.match(sent, /What was said or written[^"]*third willow/, "what this line said long ago is recalled");
    assert.doesNotMatch(sent, /chapel|7 gold|20 gold/, "what only the other line said is not");
    const turns = await server.api("GET", `${at}/turns`);
    assert.equal(turns.at(-2).shownRecordId, old, "the new turn follows the old record");
    // The other branch is unchanged.
    await messageById(page, old).locator("article").focus();
    await messageButton(messageById(page, old), "Next swipe").click();
    await waitUntil(async () => (await gold.innerText()) === "37", "the other line has its own");
    assert.deepEqual(await happened.allInnerTexts(), ["found 7 gold", "found 20 gold"]);
    await close();
  });
});

describe("what was sent", () => {
  test("S3-13: the trace shows the exact prompt of a reply: every message with its role, as the model server received it", async () => {
    const persona = await clotho.api("POST", "/api/personas", {
      name: "Mara",
      description: "A smuggler.\n  She limps.",
    });
    const book = await clotho.api("POST", "/api/lorebooks", {
      name: "Tides",
      entries: [{ key: ["tide"], content: "It turns at six —\n\n\tor “thereabouts”. 六点退潮 <b>&amp;</b>" }],
    });
    await clotho.api("PUT", `/api/lorebooks/${book.id}/holds`, {
      everything: true,
      sessionIds: [],
      personaIds: [],
      characterIds: [],
    });
    const path = await createSession({ plugins: [{ id: "combat" }], personaId: persona.id });
    const { page, close } = await openSession(path);
    for (const [text, reply] of [
      ["  When does the **tide** turn?\n\n- now\n- later  ", "Soon.\n\n[HP -3]"],
      ["我等。", "She waits, too."],
    ]) {
      model.queueReply([reply]);
      await sendMessage(page, text);
      await waitUntil(
        async () => (await messageTexts(page)).at(-1)?.startsWith(reply.split("\n")[0]) ?? false,
        "the reply came",
      );
      await waitForReply(page);
    }
    const [first, second] = model.requests;
    assert.match(JSON.stringify(first), /六点退潮/, "lore and all");
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    for (const [message, { messages }] of [
      [page.locator(".message.assistant").nth(1), first],
      [lastMessage(page), second],
    ]) {
      await clickMessageButton(message, "Prompt inspector");
      await why.locator("summary", { hasText: "messages" }).click();
      const shown = await why.locator(".sent").evaluateAll((all) =>
        all.map((one) => ({
          role: one.querySelector("b")?.textContent?.split(" · ")[0],
          content: one.querySelector("pre")?.textContent,
        })),
      );
      assert.deepEqual(
        shown,
        messages.map(({ role, content }) => ({ role, content })),
      );
      await page.keyboard.press("Escape");
      await why.waitFor({ state: "detached" });
    }
    await close();
  });

  test("S1-19: a second reply is requested with the same prompt and another seed", async () => {
    const { page, close } = await openSession(await createSession());
    model.queueReply(["A bridge."]);
    await sendMessage(page, "What is there?");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "A bridge.", "the first reply");
    await waitForReply(page);
    model.queueReply(["A tower."]);
    await clickMessageButton(lastMessage(page), "Regenerate");
    await lastMessage(page).getByText("2/2").waitFor();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "A tower.", "the second reply");
    await waitForReply(page);
    await messageButton(lastMessage(page), "Previous swipe").click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "A bridge.", "the first one is one press away");
    await lastMessage(page).getByText("1/2").waitFor();
    const [{ seed: one, ...before }, { seed: two, ...after }] = model.requests;
    assert.deepEqual(after, before);
    assert.ok(Number.isInteger(one) && Number.isInteger(two) && one !== two, `${one}, ${two}`);
    await close();
  });
});

describe("a failing model server", () => {
  test("S0-22: the page shows that the model thinks; a failure is shown with its message and a retry button, and the retry works", async () => {
    const { page, close } = await openSession(await createSession());
    model.refuse(500, "the lamp is out");
    const held = model.queueHeldReply(["A light."]);
    await sendMessage(page, "What is there?");
    const failure = lastMessage(page).getByRole("group", { name: "The reply failed." });
    await failure.getByText("the lamp is out").waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Your message" }).isEnabled(), true);
    model.recover();
    await failure.getByRole("button", { name: "Try again" }).click();
    await page.locator('.message.last article[aria-busy="true"]').waitFor();
    await lastMessage(page).getByText("Waiting for the model").waitFor();
    await page.getByRole("button", { name: "Stop generating" }).waitFor();
    held.open();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "A light.", "it answers");
    await waitForReply(page);
    await close();
  });
});

describe("without any settings", () => {
  test("S4-49: on a fresh server, a new session has arrows between versions and its tree", async () => {
    const server = await startClotho(`[[providers]]\nid = "mock"\nbase_url = "${model.url}"\nmodels = ["m"]\n`);
    extraServers.push(server);
    const { page, close } = await openPage(browser);
    await page.goto(server.base);
    await page.getByRole("button", { name: /New character/ }).click();
    const form = page.getByRole("dialog", { name: "New character" });
    await form.getByLabel("Name").fill("Rin");
    await form.getByLabel("First message").fill("The map is not finished.");
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog", { name: "Rin" }).getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/s\//);
    model.queueReply(["Snow."]);
    await sendMessage(page, "To the north.");
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "the reply came");
    await waitForReply(page);
    assert.equal(await page.locator(".siblings").count(), 0, "there is nothing to choose from yet");
    model.queueReply(["Ice."]);
    await clickMessageButton(lastMessage(page), "Regenerate");
    await lastMessage(page).getByText("2/2").waitFor();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Ice.", "another reply");
    await waitForReply(page);
    await messageButton(lastMessage(page), "Previous swipe").click();
    await waitUntil(async () => (await messageTexts(page)).at(-1) === "Snow.", "and back");
    await page.locator('.topbar [data-command="page.tree"]').click();
    await treeElement(page).waitFor();
    const sid = page.url().split("/")[4];
    await page.getByText(/^4 messages/).waitFor();
    assert.equal((await server.api("GET", `/api/sessions/${sid}`)).mode, "tree");
    await close();
  });
});
