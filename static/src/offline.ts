// The service worker: stores the page and the session that was read last, so that both open without a server. If the
// server answers, everything comes from it, except files that are already stored. Otherwise the stored copy is used,
// marked with `x-clotho-kept`.
//
// - PAGE: the document, and all files below the version that the document names. Files of other versions are deleted.
// - STORY: responses to the reads that open a session, of one session only. They are deleted when this device is
//   refused (401); those of a session are deleted when it is gone (404). Only GET requests are stored and answered
//   here.
//
// To make another read work offline, add a line to KEPT.

/** The events of a worker, as far as this one uses them. The compiler knows only the types of a page. */
interface WorkerEvent extends Event {
  waitUntil: (work: Promise<unknown>) => void;
}

interface FetchEvent extends WorkerEvent {
  request: Request;
  respondWith: (answer: Promise<Response>) => void;
}

interface ClientMessage extends WorkerEvent {
  data: { had?: string[] } | null;
}

interface ServiceWorkerScope {
  addEventListener: {
    (type: "install" | "activate", listener: (event: WorkerEvent) => void): void;
    (type: "fetch", listener: (event: FetchEvent) => void): void;
    (type: "message", listener: (event: ClientMessage) => void): void;
  };
  skipWaiting: () => Promise<void>;
  clients: { claim: () => Promise<void> };
}

type StoreResponse = (request: Request, response: Response) => Promise<unknown>;

const worker = self as unknown as ServiceWorkerScope;

const PAGE_CACHE = "clotho-page";
const SESSION_CACHE = "clotho-story";
/** Addresses of the page, which all have the same document. */
const DOCUMENT = /^\/(?:settings|s\/.*)?$/;
const FILE = /^\/assets\/[^/]+\//;
/** Reads of a session, with its id. KEPT also has the reads that are needed around a session. */
const SESSION_PATH = /^\/api\/(?:sessions|chat)\/([0-9a-f-]{36})(?:\/|$)/;
const CACHED_PATHS = [
  /^\/api\/auth\/me$/,
  /^\/api\/(?:sessions|characters|personas)$/,
  /^\/api\/(?:characters|personas)\/[^/]+\/avatar$/,
  /^\/api\/sessions\/(?:folders|tags)$/,
  SESSION_PATH,
];
/** Maximum size of a stored response in bytes. No session that is read offline needs larger ones. */
const MAX_BYTES = 4 << 20;
/** Maximum number of stored responses; the oldest are deleted. */
const MAX_RESPONSES = 400;

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== "GET" || origin !== location.origin) return;
  if (mode === "navigate") {
    if (DOCUMENT.test(pathname)) event.respondWith(fromNetwork(event, PAGE_CACHE, storeDocument, "/"));
  } else if (FILE.test(pathname)) event.respondWith(fromCache(event));
  else if (isStored(pathname)) event.respondWith(fromNetwork(event, SESSION_CACHE, storeAnswer, event.request));
});

// The page that installs this worker was loaded without it, and sends the addresses it loaded.
worker.addEventListener("message", (event) => {
  const urls = event.data?.had ?? [];
  // A page that was being loaded while the worker became active is missed by the claim at that moment.
  event.waitUntil(worker.clients.claim());
  event.waitUntil(Promise.all(["/", ...urls].map(storeFunctionFor)));
});

async function storeFunctionFor(address: string) {
  const url = new URL(address, location.origin);
  const way =
    url.pathname === "/"
      ? storeDocument
      : FILE.test(url.pathname)
        ? storeFile
        : isStored(url.pathname)
          ? storeAnswer
          : null;
  if (!way || url.origin !== location.origin) return;
  // What cannot be fetched now is stored at the next read.
  await fetch(url).then(
    (response) => way(new Request(url), response),
    () => null,
  );
}

const isStored = (path: string) => CACHED_PATHS.some((one) => one.test(path));

/** Returns the response of the server, or the stored one if there is no answer. */
async function fromNetwork(event: FetchEvent, cache: string, keep: StoreResponse, key: string | Request) {
  try {
    const response = await fetch(event.request);
    event.waitUntil(keep(event.request, response.clone()));
    return response;
  } catch (error) {
    const stored = await (await caches.open(cache)).match(key, { ignoreVary: true });
    if (!stored) throw error;
    return stored;
  }
}

/** Returns a file, preferably the stored one. Files of a version never change, except in development. */
async function fromCache(event: FetchEvent) {
  const cache = await caches.open(PAGE_CACHE);
  const stored = await cache.match(event.request, { ignoreVary: true });
  if (stored && !new URL(event.request.url).pathname.startsWith("/assets/dev/")) return stored;
  return fromNetwork(event, PAGE_CACHE, storeFile, event.request);
}

async function storeFile(request: Request, response: Response) {
  if (response.status === 200) await (await caches.open(PAGE_CACHE)).put(request, response);
}

async function storeDocument(_: Request, response: Response) {
  if (response.status !== 200) return;
  const cache = await caches.open(PAGE_CACHE);
  const [present] = /\/assets\/[^/"]+\//.exec(await response.clone().text()) ?? [];
  await cache.put("/", response);
  const old = (await cache.keys()).filter(
    ({ url }) => present && new URL(url).pathname !== "/" && !new URL(url).pathname.startsWith(present),
  );
  await Promise.all(old.map((request) => cache.delete(request)));
}

/**
 * The stored session; null until a session was read since this worker started. Parts of the session may arrive before
 * the session itself. They are stored too, and what does not belong to it is deleted when it arrives.
 */
let storedSession: string | null = null;

async function storeAnswer(request: Request, response: Response) {
  const { pathname } = new URL(request.url);
  const of = SESSION_PATH.exec(pathname)?.[1];
  if (response.status === 401) return caches.delete(SESSION_CACHE);
  if (response.status === 404 && pathname === `/api/sessions/${of}`) return deleteSession((id) => id === of);
  if (response.status !== 200) return;
  if (of && pathname === `/api/sessions/${of}` && of !== storedSession) {
    storedSession = of;
    await deleteSession((id) => id !== of);
  }
  const body = await response.arrayBuffer();
  if (body.byteLength > MAX_BYTES) return;
  const headers = new Headers(response.headers);
  headers.set("x-clotho-kept", new Date().toISOString());
  const cache = await caches.open(SESSION_CACHE);
  // Deleted first, so that the keys are ordered by age.
  await cache.delete(request, { ignoreVary: true });
  await cache.put(request, new Response(body, { headers }));
  const keys = await cache.keys();
  await Promise.all(keys.slice(0, Math.max(0, keys.length - MAX_RESPONSES)).map((old) => cache.delete(old)));
}

async function deleteSession(isGone: (id: string) => boolean) {
  const cache = await caches.open(SESSION_CACHE);
  const stale = (await cache.keys()).filter(({ url }) => {
    const id = SESSION_PATH.exec(new URL(url).pathname)?.[1];
    return id !== undefined && isGone(id);
  });
  await Promise.all(stale.map((request) => cache.delete(request)));
}

export {};
