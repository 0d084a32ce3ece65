// Stories that come in from files.
import { signal } from "../../vendor/preact.js";

/**
 * `share`: how much of the phase is done, 0 to 1; `fault`: why it failed, in words.
 * @typedef {{n: number, name: string, phase: "sending" | "waiting" | "reading" | "failed", share: number, fault: {text: string, hint: string} | null}} Incoming
 */

/** Those on their way and those that failed, in the order in which they were brought. */
export const incoming = signal(/** @type {Incoming[]} */ ([]));

/** @param {Incoming} next */
export function putIncoming(next) {
  const known = incoming.peek().some(({ n }) => n === next.n);
  incoming.value = known ? incoming.peek().map((one) => (one.n === next.n ? next : one)) : [...incoming.peek(), next];
}

/** @param {number} n */
export function dropIncoming(n) {
  incoming.value = incoming.peek().filter((one) => one.n !== n);
}
