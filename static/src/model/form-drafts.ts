// Unsaved input of forms in this tab, by what the form is about.
import { keysOf, readStored, writeStored } from "../lib/storage.ts";

const WHERE = "sessionStorage";
const keyOf = (key: string) => `begun.${key}`;

/** The input by field name. */
export type FormFields = Record<string, string>;

export function readFormDraft(key: string): FormFields | null {
  try {
    return JSON.parse(readStored(keyOf(key), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param fields `null` removes them */
export const saveFormDraft = (key: string, fields: FormFields | null) =>
  writeStored(keyOf(key), fields && JSON.stringify(fields), WHERE);

/** Returns the rest of each stored key with this prefix. */
export const formDraftKeys = (beginning: string) =>
  keysOf(keyOf(beginning), WHERE).map((key) => key.slice(keyOf(beginning).length));

export const deleteFormDrafts = (beginning: string) =>
  formDraftKeys(beginning).forEach((end) => saveFormDraft(beginning + end, null));
