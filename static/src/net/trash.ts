// The calls for the trash, except restoring, which is in api.ts. Loaded with the trash.
import { call, deleteItem, items, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Reads a page of the trash, newest first. */
export async function trash(range: { cursor?: string; limit?: number } = {}): Promise<Wire.Page<Wire.TrashItem>> {
  const answer = await call("GET", `/api/trash${query(range)}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** Deletes something permanently. */
export const destroy = (id: Wire.Id) => deleteItem(`/api/trash/${id}?confirm=true`);
