// The calls for the generation parameters of a session.
import { call, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Replaces the parameters. */
export const setParams = (sid: Wire.Id, params: Wire.Session["params"]): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { params });

/**
 * Reads which parameters the model server of a session takes.
 * @param presetId a preset whose parameters are asked about; default: those of the session
 */
export const parameters = (sid: Wire.Id, presetId?: Wire.Id): Promise<Wire.SessionParameters> =>
  call("GET", `/api/sessions/${sid}/parameters${query({ presetId })}`);

/** Replaces the parameters by those of a preset. */
export const takeParams = (sid: Wire.Id, paramsFrom: Wire.Id): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { paramsFrom });
