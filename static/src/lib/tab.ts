// The identity of this browser tab.
import { recall, remember } from "./storage.ts";

const WHERE = "sessionStorage";

/**
 * A duplicated tab copies the session storage. If the original is still open, `tab.open` is set, so they can be told
 * apart.
 */
const before = recall("tab.open", WHERE) === null ? recall("tab", WHERE) : null;

/** A name that survives a reload and that no other tab has. */
export const tab = before ?? Math.random().toString(36).slice(2);

const open = () => remember("tab.open", "yes", WHERE);
remember("tab", tab, WHERE);
open();
addEventListener("pageshow", open);
addEventListener("pagehide", () => remember("tab.open", null, WHERE));
