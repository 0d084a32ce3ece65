// Which summaries show the messages they stand for.
import { signal } from "../../vendor/preact.js";

/** @import { Id } from "../lib/wire.d.ts" */

export const unfolded = signal(/** @type {ReadonlySet<Id>} */ (new Set()));

/** @param {Id} summary @param {boolean} open */
export function fold(summary, open) {
  const others = [...unfolded.peek()].filter((id) => id !== summary);
  unfolded.value = new Set(open ? [...others, summary] : others);
}
