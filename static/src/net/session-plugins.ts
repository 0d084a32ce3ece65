// The calls for the rules of a session.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/**
 * Sets the values model of a session.
 * @param valuesModel null: the model that writes the story
 */
export const setValuesModel = (sid: Wire.Id, valuesModel: string | null): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { valuesModel });

export const setPlugins = (
  sid: Wire.Id,
  plugins: Wire.PluginChoice[],
): Promise<{ op: number; plugins: Wire.PluginChoice[]; warnings: string[]; problems: Wire.Failure[] }> =>
  call("PUT", `/api/sessions/${sid}/plugins`, plugins);
