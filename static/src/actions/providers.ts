// Model servers: connecting, testing, changing, removing. Loaded with the form and the settings.
import { t } from "../lib/i18n.ts";
import { notify } from "../model/page.ts";
import { setProviders } from "../model/providers.ts";
import * as api from "../net/providers.ts";
import { attempt } from "./error-text.ts";
import { readModelsAndPlugins } from "./library.ts";
import type { NewProvider, ProviderChange, ProviderTestRequest } from "../lib/wire.d.ts";

export async function readProviders() {
  const all = await attempt(() => api.providers());
  if (all) setProviders(all);
}

/** Reads everything that depends on the models again. */
const readAll = () => Promise.all([readProviders(), readModelsAndPlugins()]);

/** Tests a server that is not connected yet. */
export const testNewServer = (trial: ProviderTestRequest, signal: AbortSignal) =>
  attempt(() =>
    api.testNew(trial, signal).catch((cause) => {
      if (cause?.name === "AbortError") return undefined;
      throw cause;
    }),
  );

/** Tests a connected server. */
export const testServer = (id: string, model: string | null) => attempt(() => api.testKnown(id, model));

/** Connects a server and, if wanted, makes one of its models the default. */
export async function connect(fields: NewProvider, model: string | null) {
  const result = await attempt(() => api.connect(fields));
  if (!result) return false;
  if (model) await attempt(() => api.setDefault(`${result.id}/${model}`));
  await readAll();
  notify({ tone: "quiet", text: t("connect.done", { name: result.id }) });
  return true;
}

export async function changeProvider(id: string, change: ProviderChange, model: string | null) {
  const changed = await attempt(() => api.change(id, change));
  if (!changed) return false;
  if (model) await attempt(() => api.setDefault(`${id}/${model}`));
  await readAll();
  return true;
}

export async function removeServer(id: string) {
  const isDeleted = await attempt(async () => {
    await api.forget(id);
    return true;
  });
  if (isDeleted) await readAll();
}

export async function setDefaultModel(model: string | null) {
  if (await attempt(() => api.setDefault(model))) await readAll();
}

export const readHealth = () => attempt(() => api.health());
