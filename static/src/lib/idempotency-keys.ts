// Idempotency keys: a request that is sent twice takes effect once.

/** Returns a new random key. */
const randomKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * Returns a function that gives each request a key. Equal requests in a row get the same key, so they can be repeated.
 */
export function idempotencyKeys() {
  let last = { words: "", key: "" };
  return (request: unknown) => {
    const words = JSON.stringify(request);
    if (words !== last.words) last = { words, key: randomKey() };
    return last.key;
  };
}
