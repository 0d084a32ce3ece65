// The identity of this browser tab.
import { readStored, writeStored } from "./storage.ts";

const WHERE = "sessionStorage";

/**
 * A duplicated tab copies the session storage. If the original is still open, `tab.open` is set, so they can be told
 * apart.
 */
const before = readStored("tab.open", WHERE) === null ? readStored("tab", WHERE) : null;

/** A name that survives a reload and that no other tab has. */
export const tab = before ?? Math.random().toString(36).slice(2);

const open = () => writeStored("tab.open", "yes", WHERE);
writeStored("tab", tab, WHERE);
open();
addEventListener("pageshow", open);
addEventListener("pagehide", () => writeStored("tab.open", null, WHERE));
