// What the browser remembers for this reader, or for this tab of theirs alone, also when it is loaded anew. Storage may
// be full or forbidden: then nothing is remembered.

/** of the reader, or of the tab */
type Where = "localStorage" | "sessionStorage";

const PREFIX = "clotho.";

export function recall(key: string, where: Where = "localStorage"): string | null {
  try {
    return window[where].getItem(PREFIX + key);
  } catch {
    return null;
  }
}

/** @param value null forgets the key */
export function remember(key: string, value: string | null, where: Where = "localStorage") {
  try {
    if (value === null) window[where].removeItem(PREFIX + key);
    else window[where].setItem(PREFIX + key, value);
  } catch {
    // A full or forbidden storage costs the reader a draft after a reload, never the page.
  }
}

/** What is remembered under names that begin so. */
export function keysOf(beginning: string, where: Where = "localStorage"): string[] {
  try {
    const all = Object.keys(window[where]).filter((key) => key.startsWith(PREFIX + beginning));
    return all.map((key) => key.slice(PREFIX.length));
  } catch {
    return [];
  }
}
