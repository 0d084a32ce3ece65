// What was begun in a form of this tab and not saved, by the name of what it is about.
import { keysOf, recall, remember } from "../lib/storage.ts";

const WHERE = "sessionStorage";
const keyOf = (key: string) => `begun.${key}`;

/** What stands in the fields, by their names. */
export type Fields = Record<string, string>;

export function begunAs(key: string): Fields | null {
  try {
    return JSON.parse(recall(keyOf(key), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param fields null forgets them */
export const keepBegun = (key: string, fields: Fields | null) =>
  remember(keyOf(key), fields && JSON.stringify(fields), WHERE);

/** The ends of all names that begin so. */
export const begunUnder = (beginning: string) =>
  keysOf(keyOf(beginning), WHERE).map((key) => key.slice(keyOf(beginning).length));

export const forgetUnder = (beginning: string) =>
  begunUnder(beginning).forEach((end) => keepBegun(beginning + end, null));
