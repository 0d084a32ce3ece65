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

/** The regex scripts that have a part in a story. @param {Wire.Id} sid @returns {Promise<Wire.StoryScript[]>} */
export const scriptsOf = async (sid) => items(await call("GET", `/api/sessions/${sid}/scripts`));

/** Those that change what is shown in it, with what they need to run. @param {Wire.Id} sid @returns {Promise<Wire.ScriptsShown>} */
export const shownScripts = (sid) => call("GET", `/api/sessions/${sid}/scripts/shown`);

/** @param {Wire.Id} sid @param {{card: boolean, preset: boolean}} regexScripts @returns {Promise<Wire.Session>} */
export const allowScripts = (sid, regexScripts) => call("PATCH", `/api/sessions/${sid}`, { regexScripts });

/** @param {Wire.Id | null} id null: a new one @param {string} name @param {Record<string, unknown>} body @returns {Promise<Wire.Preset>} */
export const keepScript = (id, name, body) => (id ? call("PATCH", at(id), { name, body }) : call("POST", "/api/presets", { kind: "regex", name, body }));

/** @param {Wire.Id} id */
export const remove = (id) => call("DELETE", at(id));

/** @param {File} file @param {string} [kind] where nothing in the file says it @returns {Promise<{items: Wire.Preset[], report: Wire.Report}>} */
export const sendPresets = (file, kind) => send("POST", `/api/presets/import${query({ kind })}`, file);

/** Where a preset can be had as a file. @param {Wire.Id} id */
export const presetFile = (id) => `${at(id)}/export`;
