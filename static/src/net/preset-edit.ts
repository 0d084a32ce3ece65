// The calls for editing presets.
import { ownUtcOffset } from "../lib/time-zone.ts";
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

const at = (id: Wire.Id) => `/api/presets/${id}`;

/** Changes some fields of a preset. `expected`: these fields as the user saw them. */
export const changePreset = (
  id: Wire.Id,
  change: Wire.PresetChange,
  expected: Wire.PresetChange,
): Promise<Wire.PresetContent> => call("PATCH", at(id), { change, expected });

/**
 * Creates a preset as a copy of another one, or of Clotho's own.
 * @param key the same key twice has only one effect
 */
export const copyPreset = (from: Wire.Id | "own", name: string, key: string): Promise<Wire.PresetContent> =>
  call("POST", "/api/presets", { from, name }, { key });

/** Returns the prompt that a message would send, with the given preset if there is one. */
export const previewPrompt = (
  sid: Wire.Id,
  asked: { parentId: Wire.Id; content?: string; presetId?: Wire.Id },
): Promise<Wire.Trace> => call("POST", `/api/chat/${sid}/prompt`, { ...asked, timeZone: ownUtcOffset() });
