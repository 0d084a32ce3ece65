// The calls for model servers, and for the health of this server.
import { call, deleteItem, items } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

export async function providers(): Promise<Wire.Providers> {
  const answer = await call("GET", "/api/providers");
  return { ...answer, items: items(answer) };
}

const at = (id: string) => `/api/providers/${encodeURIComponent(id)}`;

export const connect = (fields: Wire.NewProvider): Promise<Wire.Provider> => call("POST", "/api/providers", fields);

export const change = (id: string, change: Wire.ProviderChange): Promise<Wire.Provider> =>
  call("PATCH", at(id), change);

export const forget = (id: string) => deleteItem(at(id));

export const testNew = (trial: Wire.ProviderTestRequest, signal?: AbortSignal): Promise<Wire.ProviderTestResult> =>
  call("POST", "/api/providers/test", trial, { ...(signal && { signal }) });

export const testKnown = (id: string, model: string | null): Promise<Wire.ProviderTestResult> =>
  call("POST", `${at(id)}/test`, model ? { model } : {});

/**
 * Sets the default model.
 * @param model null: as in config.toml
 */
export const setDefault = (model: string | null): Promise<{ defaultModel: string; isChosen: boolean }> =>
  call("PUT", "/api/models/default", { model });

/** Reads the health of the server's parts. From other machines, only its version is available. */
export const health = (): Promise<Wire.Health> => call("GET", "/readyz").catch(() => call("GET", "/healthz"));
