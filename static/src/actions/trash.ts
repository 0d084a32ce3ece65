// What was deleted: the list of it, and its end.
import * as api from "../net/trash.ts";
import { attempt } from "./failure.ts";
import type { Id } from "../lib/wire.d.ts";

export const readTrash = (cursor?: string) => api.trash(cursor ? { cursor } : {});

/** Destroys something for good. */
export async function destroy(id: Id) {
  const gone = await attempt(async () => {
    await api.destroy(id);
    return true;
  });
  return gone === true;
}
