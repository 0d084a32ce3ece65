// The addresses that scripts of their own run at: there are no others, and the policy of the page (`src/http/seal.rs`)
// takes them from here only. To add one: a line below.

/** Where regex scripts run, and what keeps the page for when no server answers. */
const ADDRESSES = { scripts: new URL("./script-worker.js", import.meta.url).href, offline: "/offline.js" };

/** @type {any} */
let policy;

/** The address, as the browser wants it. @param {keyof typeof ADDRESSES} which @returns {string} */
export function addressOf(which) {
  const types = /** @type {any} */ (globalThis).trustedTypes;
  policy ??= types?.createPolicy("clotho-worker", { createScriptURL: (/** @type {keyof typeof ADDRESSES} */ one) => ADDRESSES[one] });
  return policy ? policy.createScriptURL(which) : ADDRESSES[which];
}
