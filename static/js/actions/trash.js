// What was deleted: the list of it, and its end.
import * as api from "../net/trash.js";
import { attempt } from "./failure.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** @param {string} [cursor] */
export const readTrash = (cursor) => api.trash(cursor ? { cursor } : {});

/** Destroys something for good. @param {Id} id */
export async function destroy(id) {
  const gone = await attempt(async () => {
    await api.destroy(id);
    return true;
  });
  return gone === true;
}
