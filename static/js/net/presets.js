// The calls about what other programs keep for their prompts.
import { call, items, query } from "./api.js";
import { send } from "./cards.js";

/** @import * as Wire from "../lib/wire.d.ts" */

const at = (/** @type {Wire.Id} */ id) => `/api/presets/${id}`;

/** @param {string} [cursor] @returns {Promise<Wire.Page<Wire.Preset>>} */
export async function presets(cursor) {
  const answer = await call("GET", `/api/presets${query({ limit: 500, cursor })}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** @param {Wire.Id} id @returns {Promise<Wire.WholePreset>} */
export const preset = (id) => call("GET", at(id));

/** @param {Wire.Id} id @param {string} name @returns {Promise<Wire.Preset>} */
export const rename = (id, name) => call("PATCH", at(id), { name });

/** By which preset the prompts of a story are made from now on; null: as the server makes them. @param {Wire.Id} sid @param {Wire.Id | null} presetId @returns {Promise<Wire.Session>} */
export const useIn = (sid, presetId) => call("PATCH", `/api/sessions/${sid}`, { presetId });

/** @param {Wire.Id} id */
export const remove = (id) => call("DELETE", at(id));

/** @param {File} file @param {string} [kind] where nothing in the file says it @returns {Promise<{items: Wire.Preset[], report: Wire.Report}>} */
export const sendPresets = (file, kind) => send("POST", `/api/presets/import${query({ kind })}`, file);

/** Where a preset can be had as a file. @param {Wire.Id} id */
export const presetFile = (id) => `${at(id)}/export`;
