// The calls for what an imported file asks for.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Settings of a session, as `PATCH` takes them. */
export type SessionChange = Partial<
  Pick<Wire.Session, "model" | "valuesModel" | "params" | "presetId" | "regexScripts" | "recall" | "summaries">
>;

/** Sets what was accepted, and ends the question. */
export const answerRequest = (sid: Wire.Id, accepted: SessionChange): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { ...accepted, requestedSettings: null });

/** Says whether the regex scripts inside a preset may run, and ends the question. */
export const answerPresetScripts = (id: Wire.Id, regexScripts: boolean): Promise<unknown> =>
  call("PATCH", `/api/presets/${id}`, { regexScripts, requestedSettings: null });
