// The calls of who edits a preset.
import { call } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

const at = (/** @type {Wire.Id} */ id) => `/api/presets/${id}`;

/** Changes some of what a preset says; `expected`: what was seen there. @param {Wire.Id} id @param {Wire.PresetChange} change @param {Wire.PresetChange} expected @returns {Promise<Wire.WholePreset>} */
export const changePreset = (id, change, expected) => call("PATCH", at(id), { change, expected });

/** A new preset that begins as another one is, or as our own. @param {Wire.Id | "own"} from @param {string} name @param {string} key the same key twice acts once @returns {Promise<Wire.WholePreset>} */
export const copyPreset = (from, name, key) => call("POST", "/api/presets", { from, name }, { key });

/** The prompt that a send would make, by a preset where one is named. @param {Wire.Id} sid @param {{parentId: Wire.Id, content?: string, presetId?: Wire.Id}} asked @returns {Promise<Wire.Trace>} */
export const promptBy = (sid, asked) => call("POST", `/api/chat/${sid}/prompt`, asked);
