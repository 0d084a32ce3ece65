// The calls about what was deleted; bringing it back stands in api.js. Loaded with the trash.
import { call, items, query } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** @param {{cursor?: string, limit?: number}} [range] @returns {Promise<Wire.Page<Wire.TrashItem>>} the newest first */
export async function trash(range = {}) {
  const answer = await call("GET", `/api/trash${query(range)}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** Destroys something; nothing brings it back. @param {Wire.Id} id */
export const destroy = (id) => call("DELETE", `/api/trash/${id}?confirm=true`);
