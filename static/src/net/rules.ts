// The calls about the rules of a story.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** @param valuesModel null: whoever tells the story keeps them */
export const setValuesModel = (sid: Wire.Id, valuesModel: string | null): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { valuesModel });

export const setPlugins = (
  sid: Wire.Id,
  plugins: Wire.PluginChoice[],
): Promise<{ op: number; plugins: Wire.PluginChoice[]; warnings: string[]; problems: Wire.Failure[] }> =>
  call("PUT", `/api/sessions/${sid}/plugins`, plugins);
