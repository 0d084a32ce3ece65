// Tests against the real server: the generation settings of a story.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test } from "./support/browser.mjs";
import {
  checkAccessibility,
  chooseFromPageMenu,
  createSession,
  model,
  openSession,
  readSession,
  sendMessage,
  waitForReply,
} from "./support/setup.mjs";

describe("generation settings", () => {
  test("what a player sets is sent with the next reply, and other parameters stay", async () => {
    const path = await createSession({ params: { dry_multiplier: 0.8, temperature: 0.5 } });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Generation settings");
    const form = page.getByRole("dialog", { name: "Generation settings" });
    assert.equal(await form.getByLabel("Temperature", { exact: true }).inputValue(), "0.5");
    await form.getByLabel("Response length").fill("150");
    await form.getByLabel("Temperature", { exact: true }).fill("");
    await form.getByLabel("Top K", { exact: true }).fill("40");
    await form.getByLabel("Stop strings").fill("\\nYou:\nEND");
    await checkAccessibility(page, "the generation settings");
    await form.getByRole("button", { name: "Save" }).click();
    await form.waitFor({ state: "detached" });
    assert.deepEqual((await readSession(path)).params, {
      dry_multiplier: 0.8,
      max_tokens: 150,
      top_k: 40,
      stop: ["\nYou:", "END"],
    });
    model.queueReply(["She nods."]);
    await sendMessage(page, "Well?");
    await waitForReply(page);
    const sent = model.requests.at(-1);
    assert.equal(sent.max_tokens ?? sent.max_completion_tokens, 150);
    assert.deepEqual(
      [sent.top_k, sent.stop, sent.dry_multiplier, sent.temperature],
      [40, ["\nYou:", "END"], 0.8, undefined],
    );
    await close();
  });

  test("additional parameters that are no JSON object are refused in words, and nothing is lost", async () => {
    const path = await createSession({ params: { seed: 7 } });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Generation settings");
    const form = page.getByRole("dialog", { name: "Generation settings" });
    await form.getByLabel("Additional parameters").fill("top_a: 1");
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByText("The additional parameters are not a JSON object.").waitFor();
    assert.equal(await form.getByLabel("Additional parameters").inputValue(), "top_a: 1");
    assert.deepEqual((await readSession(path)).params, { seed: 7 });
    await form.getByLabel("Additional parameters").fill('{"top_a": 1}');
    await form.getByRole("button", { name: "Save" }).click();
    await form.waitFor({ state: "detached" });
    assert.deepEqual((await readSession(path)).params, { top_a: 1, seed: 7 });
    await close();
  });

  test("samplers of every group are set, and fields that cannot be read are named", async () => {
    const path = await createSession({ params: { dry_multiplier: 0.8, banned_strings: ["spine"] } });
    const { page, close } = await openSession(path);
    await chooseFromPageMenu(page, "Generation settings");
    const form = page.getByRole("dialog", { name: "Generation settings" });
    assert.equal(await form.getByLabel("DRY multiplier").inputValue(), "0.8");
    assert.equal(await form.getByLabel("Banned strings").inputValue(), "spine");
    await form.getByText("XTC", { exact: true }).click();
    await form.getByLabel("XTC probability").fill("0.5");
    await form.getByLabel("Logit bias").fill("{");
    await checkAccessibility(page, "the generation settings with open groups");
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByText("“Logit bias” cannot be read.").waitFor();
    await form.getByLabel("Logit bias").fill('{"9": -5}');
    await form.getByLabel("Banned token ids").fill("3, 4");
    await form.getByRole("button", { name: "Save" }).click();
    await form.waitFor({ state: "detached" });
    assert.deepEqual((await readSession(path)).params, {
      dry_multiplier: 0.8,
      xtc_probability: 0.5,
      banned_strings: ["spine"],
      banned_tokens: [3, 4],
      logit_bias: { 9: -5 },
    });
    await close();
  });
});
