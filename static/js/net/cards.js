// The calls about characters as files.
import { ApiError, call, exchange, me, parse } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** Where a character can be had as a file. @param {Wire.Id} cid @param {"png" | "json" | "charx"} format */
export const cardFile = (cid, format) => `/api/characters/${cid}/export?format=${format}`;

/** Makes a character of a card of another program. @param {File} file @returns {Promise<Wire.ImportedCharacter>} */
export const sendCard = (file) => send("POST", "/api/characters/import", file);

/** Makes a lorebook of a file of another program. @param {File} file @returns {Promise<{name: string, report: Wire.Report}>} */
export const sendBook = (file) => send("POST", "/api/lorebooks/import", file);

/** @param {File} file @returns {Promise<{items: {name: string}[], report: Wire.Report}>} */
export const sendPersonas = (file) => send("POST", "/api/personas/import", file);

/** @param {Wire.Id} cid @param {File} file @returns {Promise<Wire.Character>} */
export const sendPicture = (cid, file) => send("PUT", `/api/characters/${cid}/avatar`, file);

/** @param {Wire.Id} cid @returns {Promise<Wire.FullCharacter>} */
export const character = (cid) => call("GET", `/api/characters/${cid}`);

/** @param {Wire.Id} cid @param {Wire.CharacterChanges} changes @returns {Promise<Wire.Character>} */
export const changeCharacter = (cid, changes) => call("PATCH", `/api/characters/${cid}`, changes);

/** @param {string} method @param {string} path @param {File} file @returns {Promise<any>} */
export async function send(method, path, file) {
  const { csrf } = await me();
  const body = new FormData();
  body.append("file", file);
  const headers = { Accept: "application/json", ...(csrf && { "X-CSRF-Token": csrf }) };
  const { response, text } = await exchange(path, { method, headers, body });
  const json = parse(text);
  if (!response.ok) throw new ApiError(response.status, json?.error ?? {});
  return json;
}
