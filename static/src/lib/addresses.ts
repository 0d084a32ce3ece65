// The addresses that scripts of their own run at: there are no others, and the policy of the page (`src/http/seal.rs`)
// takes them from here only. To add one: a line below.

/** Where regex scripts run, and what keeps the page for when no server answers. */
const ADDRESSES = { scripts: new URL("./script-worker.js", import.meta.url).href, offline: "/offline.js" };

type Which = keyof typeof ADDRESSES;

/** What a browser has that takes addresses of scripts from a policy only. */
interface TrustedTypes {
  createPolicy: (name: string, rules: { createScriptURL: (one: Which) => string }) => Policy;
}

interface Policy {
  createScriptURL: (one: Which) => string;
}

let policy: Policy | undefined;

/** The address, as the browser wants it. */
export function addressOf(which: Which): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  policy ??= types?.createPolicy("clotho-worker", { createScriptURL: (one) => ADDRESSES[one] });
  return policy ? policy.createScriptURL(which) : ADDRESSES[which];
}
