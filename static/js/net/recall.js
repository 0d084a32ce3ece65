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

/** Whether a story sums itself up from now on. @param {Wire.Id} sid @param {Wire.SummarySettings} summaries @returns {Promise<Wire.Session>} */
export const setSummaries = (sid, summaries) => call("PATCH", `/api/sessions/${sid}`, { summaries });

/** The summaries of the line to a message. @param {Wire.Id} sid @param {Wire.Id | undefined} nodeId @returns {Promise<Wire.Summaries>} */
export async function summaries(sid, nodeId) {
  const answer = await call("GET", `/api/sessions/${sid}/summaries${query({ nodeId })}`);
  return { ...answer, items: items(answer) };
}

/** @param {Wire.Id} sid @param {Wire.Id} id @param {string} content */
export const correctSummary = (sid, id, content) => call("PATCH", `/api/sessions/${sid}/summaries/${id}`, { content });

/** @param {Wire.Id} sid @param {Wire.Id} id */
export const dropSummary = (sid, id) => call("DELETE", `/api/sessions/${sid}/summaries/${id}`);
