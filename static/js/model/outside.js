// Whether pictures of other servers are shown, for each character; and which message asks while nobody has said so.
import { signal } from "../../vendor/preact.js";

/** @import { Signal } from "../../vendor/preact.js" */
/** @import { Id } from "../lib/wire.d.ts" */

/** `allowed`: null = nobody was asked, undefined = not known yet. `waiting`: the messages on screen that name such pictures. `wanted`: the one at which a reader wants to be asked. @typedef {{allowed: boolean | null | undefined, waiting: Id[], wanted: Id | null}} Outside */

/** @type {Map<Id, Signal<Outside>>} */
const all = new Map();

/** @param {Id} cid @returns {Signal<Outside>} */
export function outsideOf(cid) {
  const known = all.get(cid) ?? signal(/** @type {Outside} */ ({ allowed: undefined, waiting: [], wanted: null }));
  all.set(cid, known);
  return known;
}

/** @param {Id} cid @param {Partial<Outside>} change */
function put(cid, change) {
  const of = outsideOf(cid);
  of.value = { ...of.peek(), ...change };
}

/** @param {Id} cid @param {boolean | null} allowed */
export const putAllowed = (cid, allowed) => put(cid, { allowed, wanted: null });

/** @param {Id} cid @param {Id} nid */
export const wantAsked = (cid, nid) => put(cid, { wanted: nid });

/** A message with such pictures is on screen. @param {Id} cid @param {Id} nid @returns {() => void} it is no more */
export function waits(cid, nid) {
  put(cid, { waiting: [...outsideOf(cid).peek().waiting, nid] });
  return () => {
    const { waiting } = outsideOf(cid).peek();
    const at = waiting.indexOf(nid);
    put(cid, { waiting: waiting.filter((_, i) => i !== at) });
  };
}

/** The one message that asks: where a reader wants it, else the last one, for ids grow with time. @param {Id} cid @returns {Id | null} */
export function askedAt(cid) {
  const { allowed, waiting, wanted } = outsideOf(cid).value;
  if (wanted !== null && waiting.includes(wanted)) return wanted;
  return allowed === null ? (waiting.toSorted().at(-1) ?? null) : null;
}
