// The calls for connection profiles.
import { call, deleteItem, items, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

const at = (id: Wire.Id) => `/api/profiles/${id}`;

export async function profiles(cursor?: string): Promise<Wire.Page<Wire.ConnectionProfile>> {
  const answer = await call("GET", `/api/profiles${query({ limit: 500, cursor })}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/**
 * Creates a profile.
 * @param key the same key twice has only one effect
 */
export const create = (fields: Wire.NewConnectionProfile, key: string): Promise<Wire.ConnectionProfile> =>
  call("POST", "/api/profiles", fields, { key });

export const change = (id: Wire.Id, fields: Partial<Wire.NewConnectionProfile>): Promise<Wire.ConnectionProfile> =>
  call("PATCH", at(id), fields);

export const remove = (id: Wire.Id) => deleteItem(at(id));

/** Lets a session take over the settings of a profile; null: it has no profile, and keeps its settings. */
export const setSessionProfile = (sid: Wire.Id, profileId: Wire.Id | null): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { profileId });
