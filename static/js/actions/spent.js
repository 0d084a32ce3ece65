// Learns what stories took while their rows are looked at.
import { isUnasked, putSpent, spentOf } from "../model/spent.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/arrange.js";

/** @import { Session } from "../lib/wire.d.ts" */

/** The server adds up message by message: one story at a time. @type {Promise<void>} */
let last = Promise.resolve();

/** @param {Session} session */
export function askSpent(session) {
  if (!isUnasked(session)) return;
  // Until there is an answer the older one stands.
  putSpent(session, spentOf(session.id));
  last = last.then(async () => {
    const sums = await api.spent(session.id).catch(unknown);
    if (sums) putSpent(session, sums);
  });
}

/** @param {unknown} error @returns {null} a row that does not say what its story took is still a row */
function unknown(error) {
  if (!(error instanceof ApiError)) throw error;
  return null;
}
