// The calls of the workshop: what a plugin is, its files, and what its rules would do.
import { call, items } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

const at = (/** @type {string} */ id) => `/api/plugins/${encodeURIComponent(id)}`;
const fileAt = (/** @type {string} */ id, /** @type {string} */ path) => `${at(id)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;

/** @returns {Promise<Wire.PluginInfo[]>} */
export const plugins = async () => items(await call("GET", "/api/plugins?limit=200"));

/** @param {string} id @returns {Promise<Wire.PluginDetail>} */
export const plugin = (id) => call("GET", at(id));

/** @param {string} id @param {string} path @returns {Promise<Wire.PluginFile>} */
export const file = (id, path) => call("GET", fileAt(id, path));

/** @param {string} id @param {string} path @param {string} content @returns {Promise<Wire.PluginFileKept>} */
export const keepFile = (id, path, content) => call("PUT", fileAt(id, path), { content });

/** @param {string} id @param {Wire.Texts} files @returns {Promise<Wire.PluginChecked>} */
export const check = (id, files) => call("POST", `${at(id)}/check`, { files });

/** @returns {Promise<Wire.PluginReference>} */
export const reference = () => call("GET", "/api/plugins/reference");

/** @param {string} id @param {Wire.Texts} files @returns {Promise<Wire.PluginTested>} */
export const test = (id, files) => call("POST", `${at(id)}/test`, { files });

/** @param {string} id @param {Wire.PluginTry} wanted @returns {Promise<Wire.PluginTried>} */
export const tryHook = (id, wanted) => call("POST", `${at(id)}/try`, wanted);

/** @param {string} id @param {Wire.PluginReplay} wanted @returns {Promise<Wire.PluginReplayed>} */
export const replay = (id, wanted) => call("POST", `${at(id)}/replay`, wanted);
