// The calls of who edits a preset.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

const at = (id: Wire.Id) => `/api/presets/${id}`;

/** Changes some of what a preset says; `expected`: what was seen there. */
export const changePreset = (
  id: Wire.Id,
  change: Wire.PresetChange,
  expected: Wire.PresetChange,
): Promise<Wire.WholePreset> => call("PATCH", at(id), { change, expected });

/**
 * A new preset that begins as another one is, or as our own.
 * @param key the same key twice acts once
 */
export const copyPreset = (from: Wire.Id | "own", name: string, key: string): Promise<Wire.WholePreset> =>
  call("POST", "/api/presets", { from, name }, { key });

/** The prompt that a send would make, by a preset where one is named. */
export const promptBy = (
  sid: Wire.Id,
  asked: { parentId: Wire.Id; content?: string; presetId?: Wire.Id },
): Promise<Wire.Trace> => call("POST", `/api/chat/${sid}/prompt`, asked);
