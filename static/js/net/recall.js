// The calls about what a story recalls.
import { call, items, query } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** What a story recalls from now on. @param {Wire.Id} sid @param {Wire.Recall} recall @returns {Promise<Wire.Session>} */
export const setRecall = (sid, recall) => call("PATCH", `/api/sessions/${sid}`, { recall });

/** @returns {Promise<Wire.Collection[]>} */
export const collections = () => call("GET", "/api/collections");

/** @param {string} collection @param {string} [cursor] @returns {Promise<Wire.Page<Wire.Document>>} */
export async function documents(collection, cursor) {
  const answer = await call("GET", `/api/documents${query({ collection, limit: 500, cursor })}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** @param {string} collection @param {string} content @param {string} key @returns {Promise<Wire.Document>} */
export const addDocument = (collection, content, key) => call("POST", "/api/documents", { collection, content }, { key });

/** @param {Wire.Id} id */
export const removeDocument = (id) => call("DELETE", `/api/documents/${id}`);
