// The call for the deltas of a branch, page by page.
import { call, chat, items, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Reads a page of deltas, oldest first; `next` is the cursor to older ones. */
export async function deltaPage(
  sid: Wire.Id,
  range: { leaf: Wire.Id; limit: number; before?: Wire.Id },
): Promise<Wire.Page<Wire.NodeDelta>> {
  const answer = await call("GET", `${chat(sid)}/deltas${query({ ...range, all: "true" })}`);
  return { items: items(answer), next: answer?.next ?? null };
}
