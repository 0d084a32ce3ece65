// Tests against the real server: quick replies of plugins.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import { createPurseSession } from "./support/purse-plugin.mjs";
import { browser, checkAccessibility, model, extraServers, messageTexts } from "./support/setup.mjs";

const FILES = {
  "plugin.toml":
    'id = "guide"\ntitle = "Guide"\nversion = "1.0.0"\napi = "1"\n[permissions]\nrequest = ["input.stop"]\n[[command]]\nname = "look"\nhelp = { en = "Looks around", zh = "看看四周" }\n',
  "main.rhai": `fn on_input(ctx) { if ctx.command == "look" { return #{ reply: "A square, a well." }; } }
fn quick_replies(ctx) { [#{ label: "Follow", send: "I follow her." }, #{ label: "跟上", send: "我跟上去。" }, #{ label: "Look", send: "/look" }] }
`,
};

/** Opens a session with quick replies. @param {Parameters<typeof openPage>[1]} [options] */
async function openGuidedSession(options) {
  const story = await createPurseSession(model, {
    replies: ["Hm."],
    plugins: [{ id: "guide" }],
    files: FILES,
    id: "guide",
  });
  extraServers.push(story.server);
  const opened = await openPage(browser, options);
  const { page } = opened;
  await page.goto(story.server.base + story.path);
  const offer = (/** @type {string} */ name) => page.locator(".replies").getByRole("button", { name, exact: true });
  await page.locator(".replies button").first().waitFor();
  return { ...story, ...opened, offer, field: page.locator("main textarea").first() };
}

describe("quick replies", () => {
  test("rank 6: a quick reply is appended to the text in the field, and only the user sends it", async () => {
    const { page, close, offer, field } = await openGuidedSession();
    const before = await messageTexts(page);
    const asked = model.requests.length;
    assert.equal(await offer("Follow").getAttribute("title"), "Put into the field: I follow her.");
    await offer("Follow").click();
    await waitUntil(async () => (await field.inputValue()) === "I follow her.", "it stands in the field");
    assert.ok(await field.evaluate((box) => box === document.activeElement), "the field has the keyboard");
    // A second press adds nothing. Another quick reply is appended, also to the user's own text.
    await offer("Follow").press("Enter");
    await offer("跟上").click();
    assert.equal(await field.inputValue(), "I follow her.我跟上去。");
    await field.fill("Well …\n");
    await offer("Follow").click();
    assert.equal(await field.inputValue(), "Well … I follow her.");
    assert.deepEqual([await messageTexts(page), model.requests.length], [before, asked]);
    await checkAccessibility(page, "suggestions");
    await page.reload();
    assert.equal(await field.inputValue(), "Well … I follow her.");
    model.queueReply(["She turns."]);
    await field.press("Enter");
    await page.locator(".message.last").getByText("She turns.").waitFor();
    assert.ok((await messageTexts(page)).includes("Well … I follow her."));
    await close();
  });

  test("a quick reply that is a command runs at once, and the text in the field stays", async () => {
    const { page, close, offer, field } = await openGuidedSession();
    await field.fill("Half a sentence");
    assert.equal(await offer("Look").getAttribute("title"), "Send: /look");
    await offer("Look").click();
    await page.locator(".message.last").getByText("A square, a well.").waitFor();
    assert.equal(await field.inputValue(), "Half a sentence");
    await field.fill("");
    await offer("Look").click();
    await page.locator(".message").getByText("A square, a well.").nth(1).waitFor();
    await waitUntil(async () => (await field.inputValue()) === "", "the field is empty");
    await close();
  });
});
