// The call for the generation parameters of a session.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Replaces the parameters. */
export const setParams = (sid: Wire.Id, params: Wire.Session["params"]): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { params });
