// Tests in Chromium against the real server: what an imported file wants, and what its new owner accepts.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import { checkAccessibility, clotho, createSession, openSession, readSession } from "./support/setup.mjs";

/** Exports a session with costly settings and imports the file again, which makes a copy. @returns {Promise<string>} */
async function importOwnFile() {
  const path = await createSession({ plugins: [{ id: "combat" }], params: { max_tokens: 4000 } });
  const sid = path.replace("/s/", "");
  await clotho.api("PATCH", `/api/sessions/${sid}`, { summaries: { enabled: true, every: 200, model: "mock/m" } });
  const file = await (await fetch(`${clotho.base}/api/sessions/${sid}/export`)).arrayBuffer();
  const headers = { Origin: clotho.base, "Content-Type": "application/zstd" };
  const me = await (await fetch(`${clotho.base}/api/auth/me`)).json();
  if (me?.csrf) headers["X-CSRF-Token"] = me.csrf;
  const answer = await fetch(`${clotho.base}/api/sessions/import`, { method: "POST", headers, body: file });
  const { jobId } = await answer.json();
  let job;
  await waitUntil(async () => {
    job = await clotho.api("GET", `/api/jobs/${jobId}`);
    return !["queued", "running"].includes(job.state);
  }, "the file is imported");
  return `/s/${job.result.sessionId}`;
}

const grantsOf = (session) => session.plugins.find(({ id }) => id === "combat").grants;

const question = (page) => page.getByRole("dialog", { name: "This file brings settings" });

describe("the settings of an imported file", () => {
  test("an imported story asks which of its settings apply, and only the selected ones do", async () => {
    const path = await importOwnFile();
    const { page, close } = await openSession(path);
    await question(page).waitFor();
    await question(page).getByText("max_tokens: 4000").waitFor();
    await question(page).getByText("Written by mock/m while you play.").waitFor();
    await checkAccessibility(page, "the settings of an imported file");
    const before = await readSession(path);
    assert.deepEqual([before.params, grantsOf(before), before.model], [{}, [], null]);
    await question(page)
      .getByRole("checkbox", { name: /^Permissions of the plugin/ })
      .check();
    await question(page)
      .getByRole("checkbox", { name: /^Model parameters/ })
      .check();
    await question(page).getByRole("button", { name: "Use what is selected" }).click();
    await question(page).waitFor({ state: "detached" });
    const after = await readSession(path);
    assert.deepEqual([after.params, after.requestedSettings], [{ max_tokens: 4000 }, null]);
    assert.ok(grantsOf(after).includes("input.stop"));
    assert.deepEqual([after.model, after.summaries.enabled], [null, false]);
    await close();
  });

  test("a question that was closed comes back, and declining it changes nothing", async () => {
    const path = await importOwnFile();
    const { page, close } = await openSession(path);
    await question(page).waitFor();
    await page.keyboard.press("Escape");
    await question(page).waitFor({ state: "detached" });
    assert.ok((await readSession(path)).requestedSettings);
    await page.reload();
    await question(page).getByRole("button", { name: "Use none" }).click();
    await question(page).waitFor({ state: "detached" });
    const after = await readSession(path);
    assert.deepEqual([after.requestedSettings, after.params, grantsOf(after)], [null, {}, []]);
    // The plugin still has no permissions, and the page offers them.
    await page.getByText("need more permissions in this story").waitFor();
    await close();
  });
});
