// The call about the author's note of a story.
import { call } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** What its author notes to the model from now on. @param {Wire.Id} sid @param {Wire.AuthorsNote | null} authorsNote @returns {Promise<Wire.Session>} */
export const setNote = (sid, authorsNote) => call("PATCH", `/api/sessions/${sid}`, { authorsNote });
