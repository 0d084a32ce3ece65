// Tests against the real server: the recall settings of a session, and its documents.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { createPurseSession } from "./support/purse-plugin.mjs";
import { startClotho } from "./support/server.mjs";
import {
  browser,
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  lastMessage,
  model,
  createSession,
  openSession,
  extraServers,
  waitForReply,
  sendMessage,
  readSession,
  clickMessageButton,
} from "./support/setup.mjs";

/** Creates a session of long messages, most of which no longer fit the prompt. @param {string} [more] of the settings of summaries */
async function createLongWalk(more = "", miles = 8) {
  const server = await startClotho(`
[generation]
context_tokens = 700
reply_tokens = 60

[summaries]
every = 100
share = 30
${more}

[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["m"]

[[providers]]
id = "down"
base_url = "http://127.0.0.1:9/v1"
models = ["m"]
`);
  extraServers.push(server);
  const character = await server.api("POST", "/api/characters", { name: "Rin", firstMessage: "Hello." });
  const made = await server.api("POST", "/api/sessions", {
    characterIds: [character.id],
    model: "mock/m",
    plugins: [],
  });
  let { activeLeafId: parentId } = made;
  const newest = async () => (await server.api("GET", `/api/sessions/${made.id}`)).activeLeafId;
  for (let mile = 0; mile < miles; mile += 1) {
    const content = `Mile ${mile}, ${"past dull hedges and grey fields ".repeat(8)}`;
    const { generations } = await server.api("POST", `/api/chat/${made.id}/message`, {
      parentId,
      content,
      generate: true,
    });
    await waitUntil(
      async () => (await server.api("GET", `/api/chat/${made.id}/node/${generations[0].id}`)).status === "complete",
      "the reply",
    );
    parentId = await newest();
  }
  return { server, made };
}

describe("memory", () => {
  test("recall is switched on for a session; documents are added, viewed, selected and deleted", async () => {
    const path = await createSession();
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Memory");
    const dialog = page.getByRole("dialog", { name: "Memory", exact: true });
    const on = dialog.getByRole("checkbox", { name: /^Recall older messages/ });
    await on.check();
    await waitUntil(async () => (await readSession(path)).recall.enabled === true, "it is on");
    await dialog.getByLabel("Collection").fill("Maps");
    await dialog.getByLabel("Text", { exact: true }).fill("  ");
    await dialog.getByRole("button", { name: "Add" }).click();
    const blank = dialog.getByText("Enter a collection and a text.");
    await blank.waitFor();
    await dialog.getByLabel("Text", { exact: true }).fill("The harbour lies north of the ferry.");
    await dialog.getByRole("button", { name: "Add" }).click();
    const row = dialog.getByRole("article", { name: "Maps", exact: true });
    await row.getByText("1 document").waitFor();
    assert.equal(await blank.count(), 0, "what was said of the try before is done with");
    await row.getByRole("checkbox").check();
    await waitUntil(
      async () => (await readSession(path)).recall.collections.join() === "Maps",
      "the collection is looked through",
    );
    await row.getByRole("button", { name: "Show documents" }).click();
    await row.getByText("The harbour lies north of the ferry.").waitFor();
    await checkAccessibility(page, "the memory of a story");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.reload();
    await chooseFromPageMenu(page, "Memory");
    assert.ok(await on.isChecked());
    assert.ok(await row.getByRole("checkbox").isChecked());
    await row.getByRole("button", { name: "Show documents" }).click();
    const destroy = row.getByRole("button", { name: "Delete this document permanently" });
    await destroy.click();
    await row.getByText("You cannot restore this document.").waitFor();
    await checkAccessibility(page, "the question before a document is destroyed");
    await row.getByRole("button", { name: "Cancel" }).click();
    assert.equal(
      (await clotho.api("GET", "/api/documents?collection=Maps")).items.length,
      1,
      "it is asked about first",
    );
    await destroy.click();
    await row.getByRole("button", { name: "Delete permanently", exact: true }).click();
    await row.getByText("0 documents").waitFor();
    assert.deepEqual(await clotho.api("GET", "/api/collections"), []);
    // The collection is empty now, so its row disappears when it is unticked.
    await row.getByRole("checkbox").click();
    await row.waitFor({ state: "detached" });
    await close();
  });

  test("S3-09: messages that no longer fit are summarised, with a link to them; a summary is corrected and made again", async () => {
    const { server, made } = await createLongWalk();
    const { page, close } = await openPage(browser);
    await page.goto(`${server.base}/s/${made.id}`);
    await chooseFromPageMenu(page, "Memory");
    const dialog = page.getByRole("dialog", { name: "Memory", exact: true });
    await dialog.getByRole("checkbox", { name: /^Summarise automatically/ }).check();
    const first = dialog.getByRole("article", { name: /messages$/ }).first();
    await first.getByText("Yes.", { exact: true }).waitFor();
    await waitUntil(
      async () => !(await server.api("GET", `/api/sessions/${made.id}/summaries`)).isWorking,
      "all of it",
    );
    await first.getByRole("button", { name: "Edit" }).click();
    await first.getByLabel("Text").fill("They set out.");
    await first.getByRole("button", { name: "Save" }).click();
    await first.getByText("They set out.", { exact: true }).waitFor();
    await first.getByText("Edited").waitFor();
    await checkAccessibility(page, "what is summed up");
    // A change by another client is not overwritten without a question.
    await first.getByRole("button", { name: "Edit" }).click();
    await first.getByLabel("Text").fill("They set out early.");
    const id = (await server.api("GET", `/api/sessions/${made.id}/summaries`)).items.find(
      ({ content }) => content === "They set out.",
    ).id;
    await server.api("PATCH", `/api/sessions/${made.id}/summaries/${id}`, { content: "They set out late." });
    await first.getByRole("button", { name: "Save" }).click();
    await first.getByText("This summary was changed elsewhere.").waitFor();
    await first.getByText("They set out late.", { exact: true }).waitFor();
    await checkAccessibility(page, "two who correct one summary");
    await first.getByRole("button", { name: "Overwrite with mine" }).click();
    await first.getByText("They set out early.", { exact: true }).waitFor();
    // An existing text is removed only after a question.
    await first.getByRole("button", { name: "Regenerate" }).click();
    await first.getByText("Your text is deleted permanently.").waitFor();
    await checkAccessibility(page, "the question before a summary is made anew");
    await first.getByRole("button", { name: "Cancel" }).click();
    await first.getByText("They set out early.", { exact: true }).waitFor();
    await first.getByRole("button", { name: "Regenerate" }).click();
    await first.getByRole("button", { name: "Delete", exact: true }).click();
    await first.getByText("Yes.", { exact: true }).waitFor();
    await first.getByText(/^From “Hello\.” to “|^From “Mile 0, past|^“/).waitFor();
    await first.getByRole("button", { name: "Last message" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Mile 0,").first().waitFor();
    await page.goto(`${server.base}/s/${made.id}`);
    await lastMessage(page).waitFor();
    await sendMessage(page, "And then?");
    await waitForReply(page);
    await clickMessageButton(lastMessage(page), "Prompt inspector");
    const block = page
      .getByRole("dialog", { name: "Prompt inspector" })
      .locator(".blocks li")
      .filter({ has: page.locator("b", { hasText: /^Summary$/ }) });
    await block
      .first()
      .getByText(/from memory$/)
      .waitFor();
    const why = page.getByRole("dialog", { name: "Prompt inspector" });
    await why.getByText("Summary from the state").waitFor();
    await why.locator(".summarised .long").getByText("Yes.").waitFor();
    assert.equal(
      await why.locator("section").first().getByRole("table").count(),
      0,
      "a summary is no row of raw words",
    );
    await close();
  });

  test("S3-09: a summary appears even if the setting arrives before the work has begun", async () => {
    const { server, made } = await createLongWalk();
    const { page, close } = await openPage(browser);
    let looks = 0;
    let isAnswered = false;
    await page.route(/\/summaries(\?|$)/, (route) => {
      looks += 1;
      return isAnswered ? route.continue() : route.fulfill({ json: { items: [], isWorking: false, problem: null } });
    });
    await page.route(`**/api/sessions/${made.id}`, async (route) => {
      if (route.request().method() !== "PATCH") return route.continue();
      const before = looks;
      const response = await route.fetch();
      await waitUntil(async () => looks > before, "the page has heard of it and looked");
      isAnswered = true;
      return route.fulfill({ response });
    });
    await page.goto(`${server.base}/s/${made.id}`);
    await chooseFromPageMenu(page, "Memory");
    const dialog = page.getByRole("dialog", { name: "Memory", exact: true });
    await dialog.getByRole("checkbox", { name: /^Summarise automatically/ }).check();
    await dialog
      .getByRole("article", { name: /messages$/ })
      .first()
      .getByText("Yes.", { exact: true })
      .waitFor();
    await close();
  });

  test("S3-09: chapters contain their parts, sent summaries are marked, and an unsaved correction survives a reload", async () => {
    const { server, made } = await createLongWalk("chapter = 2", 14);
    const at = `/api/sessions/${made.id}`;
    await server.api("PATCH", at, { summaries: { enabled: true } });
    const { generations } = await server.api("POST", `/api/chat/${made.id}/message`, {
      parentId: (await server.api("GET", at)).activeLeafId,
      content: "On.",
      generate: true,
    });
    await waitUntil(
      async () => (await server.api("GET", `/api/chat/${made.id}/node/${generations[0].id}`)).status === "complete",
      "the reply",
    );
    const summed = () => server.api("GET", `${at}/summaries`);
    await waitUntil(
      async () => (await summed()).items.some(({ level }) => level > 1) && !(await summed()).isWorking,
      "a chapter is there",
    );
    const { page, close } = await openPage(browser);
    await page.goto(`${server.base}/s/${made.id}`);
    await sendMessage(page, "Further.");
    await waitForReply(page);
    await waitUntil(async () => !(await summed()).isWorking, "all is summed up");
    const all = (await summed()).items;
    await chooseFromPageMenu(page, "Memory");
    const dialog = page.getByRole("dialog", { name: "Memory", exact: true });
    const list = dialog.locator("details.section-fold").filter({ hasText: "Summaries of this branch" }).first();
    await list.waitFor();
    if (!(await list.evaluate((box) => /** @type {HTMLDetailsElement} */ (box).open)))
      await list.locator("summary").first().click();
    const chapter = dialog.getByRole("article", { name: /^Chapter of/ }).first();
    await chapter.waitFor();
    const outside = await dialog.getByRole("article", { name: /messages?$/ }).count();
    assert.ok(outside < all.length, `${outside} of ${all.length} stand outside`);
    await chapter.getByText(/^Its \d+ summaries$/).click();
    const part = chapter.getByRole("article", { name: /^\d+ messages?$/ }).first();
    await part.getByText(/^From “.+” to “.+”$|^“.+”$/).waitFor();
    await dialog.getByText("In the last prompt").first().waitFor();
    await checkAccessibility(page, "chapters and their parts");

    await part.getByRole("button", { name: "Edit" }).click();
    await part.getByLabel("Text").fill("Two lines,\nhalf written");
    await page.reload();
    await lastMessage(page).waitFor();
    await chooseFromPageMenu(page, "Memory");
    assert.equal(await part.getByLabel("Text").inputValue(), "Two lines,\nhalf written");
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Keep editing" }).click();
    await part.getByRole("button", { name: "Save" }).click();
    // The chapter is made again from the current text of its parts.
    await waitUntil(
      async () =>
        (await summed()).items.some(({ content, isEdited }) => isEdited && content === "Two lines,\nhalf written"),
      "it is kept",
    );
    await dialog.getByText("half written").first().waitFor({ state: "attached" });
    await close();
  });

  test("S3-09: a summary proposed by a plugin names it, and is deleted after a question", async () => {
    const files = {
      "plugin.toml":
        'id = "scribe"\ntitle = "Scribe"\nversion = "1.0.0"\napi = "1"\n[permissions]\nrequest = ["tree.summarise"]\n',
      "main.rhai": "fn on_reply(ctx) { ctx.propose_summary(`Seen: ${ctx.text}`, 1); }\n",
    };
    const { server, path } = await createPurseSession(model, {
      replies: ["She finds a gate."],
      plugins: [{ id: "scribe" }],
      files,
      id: "scribe",
    });
    extraServers.push(server);
    const { page, close } = await openPage(browser);
    await page.goto(`${server.base}${path}`);
    await chooseFromPageMenu(page, "Memory");
    const dialog = page.getByRole("dialog", { name: "Memory", exact: true });
    const one = dialog.getByRole("article", { name: "3 messages", exact: true });
    await one.getByText("Seen: She finds a gate.").waitFor();
    await one.getByText("From the plugin scribe").waitFor();
    await checkAccessibility(page, "a summary that a plugin proposed");
    await one.getByRole("button", { name: "Delete permanently" }).click();
    await one.getByText("The summary is deleted permanently").waitFor();
    await one.getByRole("button", { name: "Delete", exact: true }).click();
    await one.waitFor({ state: "detached" });
    await close();
  });

  test("S3-09: the reason why nothing could be summarised is in the user's language", async () => {
    const { server, made } = await createLongWalk();
    await server.api("PATCH", `/api/sessions/${made.id}`, { summaries: { enabled: true, model: "down/m" } });
    const { page, close } = await openPage(browser, { locale: "zh-CN" });
    await page.goto(`${server.base}/s/${made.id}`);
    await waitUntil(
      async () => Boolean((await server.api("GET", `/api/sessions/${made.id}/summaries`)).problem),
      "it has failed",
    );
    await page.getByRole("button", { name: "菜单", exact: true }).click();
    await page.locator(".menu:popover-open").getByRole("button", { name: "记忆", exact: true }).click();
    await page.getByText(/上一次总结失败.*连不上模型服务器：连接被拒绝.*。/).waitFor();
    await close();
  });
});
