// Has the browser keep the page and the story that is read, for when no server answers (`static/offline.js`).
import { addressOf } from "../lib/addresses.js";

/** Browsers do so on this machine and over https only; elsewhere the page is as it was. */
export async function keepForOffline() {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  const isNew = workers.controller === null;
  await workers.register(addressOf("offline"));
  if (!isNew) return;
  const { active } = await workers.ready;
  // What came before the worker did.
  const had = performance.getEntriesByType("resource").map(({ name }) => name);
  active?.postMessage({ had });
}
