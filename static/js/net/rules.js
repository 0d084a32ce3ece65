// The calls about the rules of a story.
import { call } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** @param {Wire.Id} sid @param {string | null} valuesModel null: whoever tells the story keeps them @returns {Promise<Wire.Session>} */
export const setValuesModel = (sid, valuesModel) => call("PATCH", `/api/sessions/${sid}`, { valuesModel });

/** @param {Wire.Id} sid @param {Wire.PluginChoice[]} plugins @returns {Promise<{op: number, plugins: Wire.PluginChoice[], warnings: string[]}>} */
export const setPlugins = (sid, plugins) => call("PUT", `/api/sessions/${sid}/plugins`, plugins);
