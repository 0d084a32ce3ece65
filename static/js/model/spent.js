// What stories took, as far as somebody looked. Loaded with the rows of the library.
import { signal } from "../../vendor/preact.js";

/** @import { Id, Session, Spent } from "../lib/wire.d.ts" */

/** What was asked for, by story, and as of which operation. @type {import("../../vendor/preact.js").Signal<Map<Id, {op: number, sums: Spent | null}>>} */
const known = signal(new Map());

/** @param {Session} session @returns {boolean} whether nobody has asked since it last changed */
export const isUnasked = ({ id, op }) => known.peek().get(id)?.op !== op;

/** @param {Session} session @param {Spent | null} sums null: they are being asked for, or there was no answer */
export function putSpent({ id, op }, sums) {
  known.value = new Map(known.value).set(id, { op, sums });
}

/** @param {Id} sid @returns {Spent | null} the newest sums that are known of it */
export const spentOf = (sid) => known.value.get(sid)?.sums ?? null;
