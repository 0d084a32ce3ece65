// The trash: listing it, and deleting from it permanently.
import * as api from "../net/trash.ts";
import { attempt } from "./error-text.ts";
import type { Id } from "../lib/wire.d.ts";

export const readTrash = (cursor?: string) => api.trash(cursor ? { cursor } : {});

/** Deletes something permanently. */
export async function destroy(id: Id) {
  const isDeleted = await attempt(async () => {
    await api.destroy(id);
    return true;
  });
  return isDeleted === true;
}
