// The call about what a line did to the world, page by page.
import { call, chat, items, query } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** Oldest first; `next` leads to older ones. @param {Wire.Id} sid @param {{leaf: Wire.Id, limit: number, before?: Wire.Id}} range @returns {Promise<Wire.Page<Wire.NodeDelta>>} */
export async function deltaPage(sid, range) {
  const answer = await call("GET", `${chat(sid)}/deltas${query({ ...range, all: "true" })}`);
  return { items: items(answer), next: answer?.next ?? null };
}
