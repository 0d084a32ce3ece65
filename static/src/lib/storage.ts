// Browser storage, for the browser or for this tab only. It survives a reload. If storage is full or forbidden, nothing
// is remembered.

/** Storage of the browser or of the tab. */
type Where = "localStorage" | "sessionStorage";

const PREFIX = "clotho.";

export function readStored(key: string, where: Where = "localStorage"): string | null {
  try {
    return window[where].getItem(PREFIX + key);
  } catch {
    return null;
  }
}

/** @param value `null` removes the key */
export function writeStored(key: string, value: string | null, where: Where = "localStorage") {
  try {
    if (value === null) window[where].removeItem(PREFIX + key);
    else window[where].setItem(PREFIX + key, value);
  } catch {
    // A full or forbidden storage costs the user a draft after a reload, never the page.
  }
}

/** Returns the stored keys with a prefix. */
export function keysOf(beginning: string, where: Where = "localStorage"): string[] {
  try {
    const all = Object.keys(window[where]).filter((key) => key.startsWith(PREFIX + beginning));
    return all.map((key) => key.slice(PREFIX.length));
  } catch {
    return [];
  }
}
