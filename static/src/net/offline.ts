// Has the browser keep the page and the story that is read, for when no server answers (`src/offline.ts`).
import { addressOf } from "../lib/addresses.ts";

/** Browsers do so on this machine and over https only; elsewhere the page is as it was. */
export async function keepForOffline() {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  await workers.register(addressOf("offline"));
  const { active } = await workers.ready;
  // What came without the worker: before there was one, while it came, or because the page was reloaded past it.
  const tell = (list: PerformanceObserverEntryList) => {
    const had = list
      .getEntries()
      .filter((entry) => !(entry as PerformanceResourceTiming).workerStart)
      .map(({ name }) => name);
    if (had.length > 0) active?.postMessage({ had });
  };
  new PerformanceObserver(tell).observe({ type: "resource", buffered: true });
}
