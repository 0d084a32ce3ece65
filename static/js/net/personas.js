// The calls about who a reader plays.
import { call, items } from "./api.js";
import { send } from "./cards.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** @returns {Promise<Wire.Persona[]>} */
export const personas = async () => items(await call("GET", "/api/personas?limit=500"));

/** @param {{name: string, description: string}} fields @param {string} key the same key twice acts once @returns {Promise<Wire.Persona>} */
export const create = (fields, key) => call("POST", "/api/personas", fields, { key });

/** @param {Wire.Id} pid @param {{name: string, description: string}} fields @returns {Promise<Wire.Persona>} */
export const change = (pid, fields) => call("PATCH", `/api/personas/${pid}`, fields);

/** @param {Wire.Id} pid */
export const remove = (pid) => call("DELETE", `/api/personas/${pid}`);

/** @param {Wire.Id} pid @param {File} file @returns {Promise<Wire.Persona>} */
export const sendPicture = (pid, file) => send("PUT", `/api/personas/${pid}/avatar`, file);

/** Whom the reader plays in a story from now on; null: only themselves. @param {Wire.Id} sid @param {Wire.Id | null} personaId @returns {Promise<Wire.Session>} */
export const playAs = (sid, personaId) => call("PATCH", `/api/sessions/${sid}`, { personaId });
