// The call for the author's note of a session.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Sets the author's note; null: none. */
export const setNote = (sid: Wire.Id, authorsNote: Wire.AuthorsNote | null): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { authorsNote });
