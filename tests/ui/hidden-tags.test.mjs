// Tests against the real server: tags that a model writes for the bundled plugins are not shown to users.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test } from "./support/browser.mjs";
import {
  barValue,
  checkAccessibility,
  clotho,
  composer,
  lastMessage,
  readBranch,
  model,
  createSession,
  openSession,
  waitForReply,
  sendMessage,
  clickMessageButton,
} from "./support/setup.mjs";

describe("hidden tags", () => {
  test("S3-18: tags that combat and affinity have read are not shown; the message, its edit and the next prompt contain them", async () => {
    const path = await createSession({ plugins: [{ id: "combat" }, { id: "affinity" }] });
    const { page, close } = await openSession(path);
    const reply = "It *bites*. [HP -7] [GET 3 arrows]\n\nShe helps you up. [AFFINITY +2] [a map](1) HP: 35/40";
    model.queueReply([reply]);
    await sendMessage(page, "I wait.");
    await waitForReply(page);
    const text = lastMessage(page).locator(".prose");
    await text.getByText("She helps you up.").waitFor();
    assert.deepEqual(await text.locator("p").allInnerTexts(), ["It bites.", "She helps you up. a map HP: 35/40"]);
    assert.equal(await barValue(page, "/combat/hp"), 33);
    assert.equal(await barValue(page, "/affinity/closeness"), 7);
    const told = (await readBranch(path)).at(-1);
    assert.equal(told.content, reply);
    assert.equal(told.display, "It *bites*.  \n\nShe helps you up.  [a map](1) HP: 35/40");
    await checkAccessibility(page, "a reply without its tags");
    await clickMessageButton(lastMessage(page), "Edit");
    assert.equal(await lastMessage(page).locator("textarea").inputValue(), reply);
    await page.keyboard.press("Escape");
    model.queueReply(["Nothing here."]);
    await composer(page).fill("And now?");
    await composer(page).press("Enter");
    await page.locator(".message.last").getByText("Nothing here.").waitFor();
    assert.ok(JSON.stringify(model.requests.at(-1)).includes("[HP -7]"), "the model sees how tags are written");
    await close();
  });

  test("unread tags stay visible: tags in a greeting, and tags of plugins that are off", async () => {
    const character = await clotho.api("POST", "/api/characters", {
      name: "Mira",
      firstMessage: "Say [HP -5] when I am hurt.",
    });
    const { id } = await clotho.api("POST", "/api/sessions", {
      characterIds: [character.id],
      model: "mock/m",
      plugins: [{ id: "combat" }],
    });
    const { page, close } = await openSession(`/s/${id}`);
    await lastMessage(page).getByText("Say [HP -5] when I am hurt.").waitFor();
    model.queueReply(["She smiles. [AFFINITY +2]"]);
    await sendMessage(page, "Hello.");
    await lastMessage(page).getByText("She smiles. [AFFINITY +2]").waitFor();
    await close();
  });
});
