// Model servers: connected, tried, changed, forgotten. Loaded with the form and the settings.
import { t } from "../lib/i18n.js";
import { tell } from "../model/page.js";
import { putProviders } from "../model/providers.js";
import * as api from "../net/providers.js";
import { attempt } from "./failure.js";
import { readHosts } from "./library.js";

/** @import { NewProvider, ProviderChange, ProviderTrial } from "../lib/wire.d.ts" */

export async function readProviders() {
  const all = await attempt(() => api.providers());
  if (all) putProviders(all);
}

/** What hangs on the models is read anew. */
const readAll = () => Promise.all([readProviders(), readHosts()]);

/** What a server shows that may be connected. @param {ProviderTrial} trial @param {AbortSignal} signal */
export const tryOut = (trial, signal) =>
  attempt(() => api.tryOut(trial, signal).catch((cause) => {
    if (cause?.name === "AbortError") return undefined;
    throw cause;
  }));

/** What a server shows that is connected. @param {string} id @param {string | null} model */
export const tryKnown = (id, model) => attempt(() => api.tryKnown(id, model));

/** Connects a server, and plays with a model of it where that is wished. @param {NewProvider} fields @param {string | null} model */
export async function connect(fields, model) {
  const made = await attempt(() => api.connect(fields));
  if (!made) return false;
  if (model) await attempt(() => api.setDefault(`${made.id}/${model}`));
  await readAll();
  tell({ tone: "quiet", text: t("connect.done", { name: made.id }) });
  return true;
}

/** @param {string} id @param {ProviderChange} change @param {string | null} model */
export async function changeProvider(id, change, model) {
  const changed = await attempt(() => api.change(id, change));
  if (!changed) return false;
  if (model) await attempt(() => api.setDefault(`${id}/${model}`));
  await readAll();
  return true;
}

/** @param {string} id */
export async function forget(id) {
  const gone = await attempt(async () => {
    await api.forget(id);
    return true;
  });
  if (gone) await readAll();
}

/** @param {string | null} model */
export async function chooseDefault(model) {
  if (await attempt(() => api.setDefault(model))) await readAll();
}

export const readHealth = () => attempt(() => api.health());
