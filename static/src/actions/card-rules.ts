// Rules that a card carries: looked at, taken in, put into a card and out of it.
import * as api from "../net/card-rules.ts";
import { plugins } from "../net/workshop.ts";
import { attempt } from "./failure.ts";
import type { CardRules, Character, Id, PluginChoice } from "../lib/wire.d.ts";

export const readRules = (cid: Id) => api.read(cid);

/**
 * The rules that a card brings, where just those are installed here. A card whose rules cannot be read brings none.
 */
export async function broughtRules({ id: cid, metadata }: Character): Promise<PluginChoice[]> {
  if (!metadata?.clotho?.rules) return [];
  const found = await api.read(cid).catch(() => null);
  return found?.id && found.state === "same" ? [{ id: found.id, config: {} }] : [];
}

export const readInstalled = () => plugins();

export const putRules = (cid: Id, plugin: string) => attempt(() => api.put(cid, plugin));

export const dropRules = (cid: Id) => attempt(() => api.drop(cid).then(() => true));

/** Takes the rules in as they were seen. */
export const acceptRules = (cid: Id, { codeHash, installedHash }: CardRules) =>
  attempt(() => api.accept(cid, { codeHash: codeHash ?? "", ...(installedHash && { installedHash }) }));
