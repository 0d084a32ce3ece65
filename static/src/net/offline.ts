// Has the browser store the page and the open session for times without a server (`src/offline.ts`).
import { trustedUrl } from "../lib/trusted-urls.ts";

/** Starts the service worker. Browsers allow it only on localhost and over https; elsewhere, nothing changes. */
export async function keepForOffline() {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  await workers.register(trustedUrl("offline"));
  const { active } = await workers.ready;
  // Resources that were loaded without the worker: before it existed, while it was installed, or by a forced reload.
  const tell = (list: PerformanceObserverEntryList) => {
    const had = list
      .getEntries()
      .filter((entry) => !(entry as PerformanceResourceTiming).workerStart)
      .map(({ name }) => name);
    if (had.length > 0) active?.postMessage({ had });
  };
  new PerformanceObserver(tell).observe({ type: "resource", buffered: true });
}
