// The calls about lorebooks and their entries.
import { call, items, query } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

const at = (/** @type {Wire.Id} */ id) => `/api/lorebooks/${id}`;
const entry = (/** @type {Wire.Id} */ id, /** @type {string} */ uid) => `${at(id)}/entries/${encodeURIComponent(uid)}`;

/** @template T @param {string} path @param {Record<string, string | number | undefined>} range @returns {Promise<Wire.Page<T>>} */
async function page(path, range) {
  const answer = await call("GET", path + query(range));
  return { items: items(answer), next: answer?.next ?? null };
}

/** @param {string} [cursor] @returns {Promise<Wire.Page<Wire.Lorebook>>} */
export const books = (cursor) => page("/api/lorebooks", { limit: 500, cursor });

/** @param {Wire.Id} id @param {string} [cursor] @returns {Promise<Wire.Page<Wire.LoreEntry>>} */
export const entries = (id, cursor) => page(`${at(id)}/entries`, { limit: 500, cursor });

/** @param {{name: string, entries?: Partial<Wire.LoreEntry>[]}} book @param {string} key the same key twice acts once @returns {Promise<Wire.Lorebook & {entries: Wire.LoreEntry[]}>} */
export const create = (book, key) => call("POST", "/api/lorebooks", book, { key });

/** @param {Wire.Id} id @param {string} name @returns {Promise<Wire.Lorebook>} */
export const rename = (id, name) => call("PATCH", at(id), { name });

/** @param {Wire.Id} id @returns {Promise<Wire.LorebookHolds>} */
export const holds = (id) => call("GET", `${at(id)}/holds`);

/** @param {Wire.Id} id @param {Wire.LorebookHolds} holds @returns {Promise<Wire.LorebookHolds>} */
export const setHolds = (id, holds) => call("PUT", `${at(id)}/holds`, holds);

/** @returns {Promise<Wire.LoreRules>} */
export const rules = () => call("GET", "/api/lorebooks/settings");

/** What is left out is as usual. @param {Partial<Wire.LoreRules>} rules @returns {Promise<Wire.LoreRules>} */
export const setRules = (rules) => call("PUT", "/api/lorebooks/settings", rules);

/** @param {Wire.Id} id */
export const remove = (id) => call("DELETE", at(id));

/** @param {Wire.Id} id @param {Partial<Wire.LoreEntry>} fields @param {string} key the same key twice acts once @returns {Promise<Wire.LoreEntry>} */
export const addEntry = (id, fields, key) => call("POST", `${at(id)}/entries`, { entry: fields }, { key });

/** `expected`: what was seen there; if it says something else by now, nothing is changed. Null is what is missing. @typedef {{[field in keyof Wire.LoreEntry]?: Wire.LoreEntry[field] | null} | undefined} Expected */

/** @param {Wire.Id} id @param {string} uid @param {Partial<Wire.LoreEntry>} fields @param {Expected} [expected] @returns {Promise<Wire.LoreEntry>} */
export const changeEntry = (id, uid, fields, expected) => call("PATCH", entry(id, uid), { entry: fields, expectedEntry: expected });

/** @param {Wire.Id} id @param {string} uid @param {Expected} expected */
export const removeEntry = (id, uid, expected) => call("DELETE", entry(id, uid), { expectedEntry: expected });

/** Where a lorebook can be had as a file. @param {Wire.Id} id */
export const bookFile = (id) => `${at(id)}/export`;
