// What was begun in a form of this tab and not saved, by the name of what it is about.
import { keysOf, recall, remember } from "../lib/storage.js";

const WHERE = "sessionStorage";
const keyOf = (/** @type {string} */ key) => `begun.${key}`;

/** What stands in the fields, by their names. @typedef {Record<string, string>} Fields */

/** @param {string} key @returns {Fields | null} */
export function begunAs(key) {
  try {
    return JSON.parse(recall(keyOf(key), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} key @param {Fields | null} fields null forgets them */
export const keepBegun = (key, fields) => remember(keyOf(key), fields && JSON.stringify(fields), WHERE);

/** The ends of all names that begin so. @param {string} beginning */
export const begunUnder = (beginning) => keysOf(keyOf(beginning), WHERE).map((key) => key.slice(keyOf(beginning).length));

/** @param {string} beginning */
export const forgetUnder = (beginning) => begunUnder(beginning).forEach((end) => keepBegun(beginning + end, null));
