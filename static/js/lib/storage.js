// What the browser remembers for this reader. Storage may be full or forbidden: then nothing is remembered.

const PREFIX = "clotho.";

/** @param {string} key @returns {string | null} */
export function recall(key) {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string | null} value null forgets the key */
export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, value);
  } catch {
    // A full or forbidden storage costs the reader a draft after a reload, never the page.
  }
}
