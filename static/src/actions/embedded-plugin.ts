// Rules embedded in a card: viewing, accepting, adding and removing them.
import * as api from "../net/embedded-plugin.ts";
import { plugins } from "../net/workshop.ts";
import { attempt } from "./error-text.ts";
import type { EmbeddedPlugin, Character, Id, PluginChoice } from "../lib/wire.d.ts";

export const readEmbeddedPlugin = (cid: Id) => api.read(cid);

/** Returns the plugin of a card if exactly the same version is installed here; nothing if its rules cannot be read. */
export async function installedVersionOf({ id: cid, metadata }: Character): Promise<PluginChoice[]> {
  if (!metadata?.clotho?.rules) return [];
  const found = await api.read(cid).catch(() => null);
  return found?.id && found.state === "same" ? [{ id: found.id, config: {} }] : [];
}

export const readInstalled = () => plugins();

export const embedPlugin = (cid: Id, plugin: string) => attempt(() => api.put(cid, plugin));

export const removeEmbeddedPlugin = (cid: Id) => attempt(() => api.drop(cid).then(() => true));

/** Installs the rules of a card, in the version that the user has seen. */
export const installEmbeddedPlugin = (cid: Id, { codeHash, installedHash }: EmbeddedPlugin) =>
  attempt(() => api.accept(cid, { codeHash: codeHash ?? "", ...(installedHash && { installedHash }) }));
