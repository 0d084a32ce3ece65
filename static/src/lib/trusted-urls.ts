// The addresses of the page's own workers. The page's Trusted Types policy (`src/http/finalize.rs`) takes script addresses
// only from here. To add one, add a line below.

/** The worker of regex scripts, and the service worker that keeps the page for times without a server. */
const URLS = { scripts: new URL("./script-worker.js", import.meta.url).href, offline: "/offline.js" };

type Which = keyof typeof URLS;

/** The part of `globalThis.trustedTypes` that is used here. Not every browser has it. */
interface TrustedTypes {
  createPolicy: (name: string, rules: { createScriptURL: (one: Which) => string }) => Policy;
}

interface Policy {
  createScriptURL: (one: Which) => string;
}

let policy: Policy | undefined;

/** Returns the address in the form that the browser accepts. */
export function trustedUrl(which: Which): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  policy ??= types?.createPolicy("clotho-worker", { createScriptURL: (one) => URLS[one] });
  return policy ? policy.createScriptURL(which) : URLS[which];
}
