// Unsaved input of forms in this tab, by what the form is about.
import { keysOf, readStored, writeStored } from "../lib/storage.ts";

const WHERE = "sessionStorage";
const keyOf = (key: string) => `begun.${key}`;

/** The input by field name. */
export type Fields = Record<string, string>;

export function begunAs(key: string): Fields | null {
  try {
    return JSON.parse(readStored(keyOf(key), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param fields `null` removes them */
export const keepBegun = (key: string, fields: Fields | null) =>
  writeStored(keyOf(key), fields && JSON.stringify(fields), WHERE);

/** Returns the rest of each stored key with this prefix. */
export const begunUnder = (beginning: string) =>
  keysOf(keyOf(beginning), WHERE).map((key) => key.slice(keyOf(beginning).length));

export const forgetUnder = (beginning: string) =>
  begunUnder(beginning).forEach((end) => keepBegun(beginning + end, null));
