// The calls about rules that a card carries.
import { call } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

const at = (/** @type {Wire.Id} */ cid) => `/api/characters/${cid}/rules`;

/** @param {Wire.Id} cid @returns {Promise<Wire.CardRules>} */
export const read = (cid) => call("GET", at(cid));

/** @param {Wire.Id} cid @param {string} plugin @returns {Promise<Wire.CardRules>} */
export const put = (cid, plugin) => call("PUT", at(cid), { plugin });

/** @param {Wire.Id} cid @returns {Promise<unknown>} */
export const drop = (cid) => call("DELETE", at(cid));

/** @param {Wire.Id} cid @param {{codeHash: string, installedHash?: string}} seen @returns {Promise<Wire.PluginDetail>} */
export const accept = (cid, seen) => call("POST", `${at(cid)}/accept`, seen);
