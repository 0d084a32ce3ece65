// Which of the browser's tabs this is.
import { recall, remember } from "./storage.ts";

const WHERE = "sessionStorage";

/** A copy of a tab brings along what the tab remembers; that the tab itself is still open tells them apart. */
const before = recall("tab.open", WHERE) === null ? recall("tab", WHERE) : null;

/** A name that outlasts a reload and that no other tab has. */
export const tab = before ?? Math.random().toString(36).slice(2);

const open = () => remember("tab.open", "yes", WHERE);
remember("tab", tab, WHERE);
open();
addEventListener("pageshow", open);
addEventListener("pagehide", () => remember("tab.open", null, WHERE));
