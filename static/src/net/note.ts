// The call about the author's note of a story.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** What its author notes to the model from now on. */
export const setNote = (sid: Wire.Id, authorsNote: Wire.AuthorsNote | null): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { authorsNote });
