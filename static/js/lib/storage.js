// What the browser remembers for this reader, or for this tab of theirs alone, also when it is loaded anew. Storage may be
// full or forbidden: then nothing is remembered.

/** @typedef {"localStorage" | "sessionStorage"} Where of the reader, or of the tab */

const PREFIX = "clotho.";

/** @param {string} key @param {Where} [where] @returns {string | null} */
export function recall(key, where = "localStorage") {
  try {
    return window[where].getItem(PREFIX + key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string | null} value null forgets the key @param {Where} [where] */
export function remember(key, value, where = "localStorage") {
  try {
    if (value === null) window[where].removeItem(PREFIX + key);
    else window[where].setItem(PREFIX + key, value);
  } catch {
    // A full or forbidden storage costs the reader a draft after a reload, never the page.
  }
}

/** What is remembered under names that begin so. @param {string} beginning @param {Where} [where] @returns {string[]} */
export function keysOf(beginning, where = "localStorage") {
  try {
    const all = Object.keys(window[where]).filter((key) => key.startsWith(PREFIX + beginning));
    return all.map((key) => key.slice(PREFIX.length));
  } catch {
    return [];
  }
}
