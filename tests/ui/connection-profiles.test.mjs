// Tests against the real server: the connection profile of a story.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { test, waitUntil } from "./support/browser.mjs";
import {
  checkAccessibility,
  chooseFromPageMenu,
  clotho,
  createSession,
  openSession,
  readSession,
} from "./support/setup.mjs";

const profiles = async () => (await clotho.api("GET", "/api/profiles")).items;

describe("connection profiles", () => {
  test("a story's settings are saved as a profile, which another story takes over by one choice", async () => {
    const first = await createSession({ params: { temperature: 0.4 } });
    const { page, close } = await openSession(first);
    await chooseFromPageMenu(page, "Connection profile");
    const dialog = page.getByRole("dialog", { name: "Connection profile" });
    await dialog.getByRole("button", { name: "Save as profile" }).click();
    await dialog.getByLabel("Name of the profile").fill("Calm");
    await checkAccessibility(page, "the name of a connection profile");
    await dialog.getByRole("button", { name: "Save" }).click();
    const choice = dialog.getByRole("combobox", { name: /^Connection profile/ });
    await dialog.getByRole("button", { name: "Rename" }).waitFor();
    const [made] = (await profiles()).filter((/** @type {{name: string}} */ { name }) => name === "Calm");
    assert.equal(await choice.inputValue(), made.id);
    assert.deepEqual([made.params, (await readSession(first)).profileId], [{ temperature: 0.4 }, made.id]);
    await dialog.getByRole("button", { name: "Save as profile" }).click();
    await dialog.getByLabel("Name of the profile").fill("Calm");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Another profile has this name.").waitFor();
    await close();

    const second = await createSession();
    const other = await openSession(second);
    const field = other.page.getByRole("textbox", { name: "Your message" });
    await field.fill("/profile nobody has this");
    await field.press("Enter");
    await other.page.getByText("There is no connection profile “nobody has this”.").waitFor();
    await field.fill("/profile calm");
    await field.press("Enter");
    await other.page.getByText("Connection profile: Calm").waitFor();
    assert.equal(await field.inputValue(), "");
    const taken = await readSession(second);
    assert.deepEqual([taken.profileId, taken.params], [made.id, { temperature: 0.4 }]);
    assert.equal(taken.counts.turns, 0, "a command of the page is no message");
    await other.close();
  });

  test("a story that differs from its profile says so, and the profile is updated, renamed and deleted", async () => {
    const made = await clotho.api("POST", "/api/profiles", { name: "Bright", params: { temperature: 1 } });
    const path = await createSession({ profileId: made.id });
    const { page, close } = await openSession(path);
    await clotho.api("PATCH", `/api/sessions/${(await readSession(path)).id}`, { params: { temperature: 1.2 } });
    await chooseFromPageMenu(page, "Connection profile");
    const dialog = page.getByRole("dialog", { name: "Connection profile" });
    await dialog.getByText("This story has been changed since, or the profile has.").waitFor();
    await dialog.getByRole("button", { name: "Update" }).click();
    await dialog.getByText("This story has been changed since, or the profile has.").waitFor({ state: "detached" });
    assert.deepEqual((await clotho.api("GET", `/api/profiles/${made.id}`)).params, { temperature: 1.2 });
    await dialog.getByRole("button", { name: "Rename" }).click();
    await dialog.getByLabel("Name of the profile").fill("Brightest");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("option", { name: "Brightest" }).waitFor({ state: "attached" });
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("group", { name: "Delete" }).getByRole("button", { name: "Delete" }).click();
    await waitUntil(
      async () => !(await profiles()).some((/** @type {{id: string}} */ { id }) => id === made.id),
      "it is deleted",
    );
    const left = await readSession(path);
    assert.deepEqual([left.profileId, left.params], [null, { temperature: 1.2 }]);
    await close();
  });
});
