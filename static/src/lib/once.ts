// Asking twice for the same thing, and getting it once.

/** A key that nobody has had. */
const fresh = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Keys for a request that may have to be sent again: the same words have the same key until they are others. */
export function keyring() {
  let last = { words: "", key: "" };
  return (request: unknown) => {
    const words = JSON.stringify(request);
    if (words !== last.words) last = { words, key: fresh() };
    return last.key;
  };
}
