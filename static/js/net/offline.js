// Has the browser keep the page and the story that is read, for when no server answers (`static/offline.js`).
import { addressOf } from "../lib/addresses.js";

/** Browsers do so on this machine and over https only; elsewhere the page is as it was. */
export async function keepForOffline() {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  const isNew = workers.controller === null;
  const held = new Promise((resolve) => workers.addEventListener("controllerchange", resolve, { once: true }));
  const known = await workers.getRegistration();
  await workers.register(addressOf("offline"));
  if (!isNew) return;
  const { active } = await workers.ready;
  // A page that was reloaded past a worker that is there already is not taken over by it.
  if (!known?.active) await held;
  const since = performance.now();
  // What came before the worker did, and what was on its way by then.
  const tell = (/** @type {PerformanceObserverEntryList} */ list) => {
    const had = list.getEntries().filter(({ startTime }) => startTime < since).map(({ name }) => name);
    if (had.length > 0) active?.postMessage({ had });
  };
  new PerformanceObserver(tell).observe({ type: "resource", buffered: true });
}
