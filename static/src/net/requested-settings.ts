// The calls for what an imported session asks for.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Settings of a session, as `PATCH` takes them. */
export type SessionChange = Partial<
  Pick<Wire.Session, "model" | "valuesModel" | "params" | "presetId" | "regexScripts" | "recall" | "summaries">
>;

/** Sets what was accepted, and ends the question. */
export const answerRequest = (sid: Wire.Id, accepted: SessionChange): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { ...accepted, requestedSettings: null });
