// The calls about pictures of other servers.
import { call } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

const of = (/** @type {Wire.Id} */ cid) => `/api/characters/${cid}/outside`;

/** @param {Wire.Id} cid @returns {Promise<Wire.Outside>} */
export const outside = (cid) => call("GET", of(cid));

/** @param {Wire.Id} cid @param {boolean | null} allowed @returns {Promise<Wire.Outside>} */
export const allowOutside = (cid, allowed) => call("PUT", of(cid), { allowed });

/** Where our server has a picture of another one. @param {Wire.Id} cid @param {string} address */
export const pictureAt = (cid, address) => `${of(cid)}/picture?url=${encodeURIComponent(address)}`;
