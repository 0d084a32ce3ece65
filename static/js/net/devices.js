// The calls about devices of the house.
import { call, items } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** @returns {Promise<Wire.Device[]>} */
export const devices = async () => items(await call("GET", "/api/devices"));

/** A code for one device. @returns {Promise<Wire.Pairing>} */
export const pair = () => call("POST", "/api/devices/pairing", {});

/** Pairs this device. @param {string} code @returns {Promise<Wire.Device>} */
export const claim = (code) => call("POST", "/api/devices/claim", { code });

const at = (/** @type {Wire.Id} */ id) => `/api/devices/${id}`;

/** @param {Wire.Id} id @param {string} name @returns {Promise<Wire.Device>} */
export const rename = (id, name) => call("PATCH", at(id), { name });

/** @param {Wire.Id} id */
export const revoke = (id) => call("DELETE", at(id));
