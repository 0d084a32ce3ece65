// The calls for presets and regex scripts.
import { call, deleteItem, items, query } from "./api.ts";
import { send } from "./cards.ts";
import type * as Wire from "../lib/wire.d.ts";

const at = (id: Wire.Id) => `/api/presets/${id}`;

export async function presets(cursor?: string): Promise<Wire.Page<Wire.Preset>> {
  const answer = await call("GET", `/api/presets${query({ limit: 500, cursor })}`);
  return { items: items(answer), next: answer?.next ?? null };
}

export const preset = (id: Wire.Id): Promise<Wire.PresetContent> => call("GET", at(id));

export const rename = (id: Wire.Id, name: string): Promise<Wire.Preset> => call("PATCH", at(id), { name });

/** Sets the preset of a session; null: Clotho's own prompt. */
export const setSessionPreset = (sid: Wire.Id, presetId: Wire.Id | null): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { presetId });

/** Reads the regex scripts that apply in a session. */
export const scriptsOf = async (sid: Wire.Id): Promise<Wire.SessionScript[]> =>
  items(await call("GET", `/api/sessions/${sid}/scripts`));

/** Reads the regex scripts that change the display of a session, with what they need to run. */
export const displayScripts = (sid: Wire.Id): Promise<Wire.DisplayScripts> =>
  call("GET", `/api/sessions/${sid}/scripts/shown`);

export const allowScripts = (sid: Wire.Id, regexScripts: { card: boolean; preset: boolean }): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { regexScripts });

/**
 * Saves a regex script of the user.
 * @param id null: a new one
 */
export const saveScript = (id: Wire.Id | null, name: string, body: Record<string, unknown>): Promise<Wire.Preset> =>
  id ? call("PATCH", at(id), { name, body }) : call("POST", "/api/presets", { kind: "regex", name, body });

export const remove = (id: Wire.Id) => deleteItem(at(id));

/**
 * Imports a file of presets.
 * @param kind the kind of preset, if nothing in the file tells it
 */
export const sendPresets = (file: File, kind?: string): Promise<{ items: Wire.Preset[]; report: Wire.Report }> =>
  send("POST", `/api/presets/import${query({ kind })}`, file);

/** Returns the address of a preset as a file. */
export const presetFile = (id: Wire.Id) => `${at(id)}/export`;
