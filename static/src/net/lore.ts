// The calls for lorebooks and their entries.
import { call, deleteItem, items, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

const at = (id: Wire.Id) => `/api/lorebooks/${id}`;
const entry = (id: Wire.Id, uid: string) => `${at(id)}/entries/${encodeURIComponent(uid)}`;

async function page<T>(path: string, range: Record<string, string | number | undefined>): Promise<Wire.Page<T>> {
  const answer = await call("GET", path + query(range));
  return { items: items(answer), next: answer?.next ?? null };
}

export const books = (cursor?: string): Promise<Wire.Page<Wire.Lorebook>> =>
  page("/api/lorebooks", { limit: 500, cursor });

export const entries = (id: Wire.Id, cursor?: string): Promise<Wire.Page<Wire.LoreEntry>> =>
  page(`${at(id)}/entries`, { limit: 500, cursor });

/**
 * Creates a lorebook.
 * @param key the same key twice has only one effect
 */
export const create = (
  book: { name: string; entries?: Partial<Wire.LoreEntry>[] },
  key: string,
): Promise<Wire.Lorebook & { entries: Wire.LoreEntry[] }> => call("POST", "/api/lorebooks", book, { key });

export const rename = (id: Wire.Id, name: string): Promise<Wire.Lorebook> => call("PATCH", at(id), { name });

export const links = (id: Wire.Id): Promise<Wire.LorebookBindings> => call("GET", `${at(id)}/holds`);

export const setLinks = (id: Wire.Id, holds: Wire.LorebookBindings): Promise<Wire.LorebookBindings> =>
  call("PUT", `${at(id)}/holds`, holds);

/** Links a lorebook to a session; its other links stay. */
export const linkToSession = (id: Wire.Id, sid: Wire.Id) => call("PUT", `${at(id)}/holds/sessions/${sid}`);

export const settings = (): Promise<Wire.WorldInfoSettings> => call("GET", "/api/lorebooks/settings");

/** Sets the global lore settings. Missing settings get their defaults. */
export const setSettings = (rules: Partial<Wire.WorldInfoSettings>): Promise<Wire.WorldInfoSettings> =>
  call("PUT", "/api/lorebooks/settings", rules);

/** Returns which entries of a lorebook a text would activate. */
export const test = (id: Wire.Id, text: string): Promise<Wire.LoreTestResult> =>
  call("POST", "/api/lorebooks/test", { text, lorebookIds: [id] });

export const remove = (id: Wire.Id) => deleteItem(at(id));

/**
 * Adds an entry.
 * @param key the same key twice has only one effect
 */
export const addEntry = (id: Wire.Id, fields: Partial<Wire.LoreEntry>, key: string): Promise<Wire.LoreEntry> =>
  call("POST", `${at(id)}/entries`, { entry: fields }, { key });

/** The fields of an entry as the user saw them. If they differ now, nothing is changed. null: the field was missing. */
type Expected = { [field in keyof Wire.LoreEntry]?: Wire.LoreEntry[field] | null } | undefined;

export const changeEntry = (
  id: Wire.Id,
  uid: string,
  fields: Partial<Wire.LoreEntry>,
  expected?: Expected,
): Promise<Wire.LoreEntry> => call("PATCH", entry(id, uid), { entry: fields, expectedEntry: expected });

export const removeEntry = (id: Wire.Id, uid: string, expected: Expected) =>
  call("DELETE", entry(id, uid), { expectedEntry: expected });

/** Returns the address of a lorebook as a file. */
export const bookFile = (id: Wire.Id) => `${at(id)}/export`;
