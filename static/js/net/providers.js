// The calls about model servers, and how this server is.
import { call, items } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** @returns {Promise<Wire.Providers>} */
export async function providers() {
  const answer = await call("GET", "/api/providers");
  return { ...answer, items: items(answer) };
}

const at = (/** @type {string} */ id) => `/api/providers/${encodeURIComponent(id)}`;

/** @param {Wire.NewProvider} fields @returns {Promise<Wire.Provider>} */
export const connect = (fields) => call("POST", "/api/providers", fields);

/** @param {string} id @param {Wire.ProviderChange} change @returns {Promise<Wire.Provider>} */
export const change = (id, change) => call("PATCH", at(id), change);

/** @param {string} id */
export const forget = (id) => call("DELETE", at(id));

/** @param {Wire.ProviderTrial} trial @param {AbortSignal} [signal] @returns {Promise<Wire.TrialResult>} */
export const tryOut = (trial, signal) => call("POST", "/api/providers/test", trial, { ...(signal && { signal }) });

/** @param {string} id @param {string | null} model @returns {Promise<Wire.TrialResult>} */
export const tryKnown = (id, model) => call("POST", `${at(id)}/test`, model ? { model } : {});

/** @param {string | null} model null: as config.toml says @returns {Promise<{defaultModel: string, isChosen: boolean}>} */
export const setDefault = (model) => call("PUT", "/api/models/default", { model });

/** How the parts of the server are; from elsewhere than its own machine only its version is told. @returns {Promise<{version: string, parts?: Record<string, unknown>}>} */
export const health = () => call("GET", "/readyz").catch(() => call("GET", "/healthz"));
