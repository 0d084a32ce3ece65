// Rules that a card carries: looked at, taken in, put into a card and out of it.
import * as api from "../net/card-rules.js";
import { plugins } from "../net/workshop.js";
import { attempt } from "./failure.js";

/** @import { CardRules, Character, Id, PluginChoice } from "../lib/wire.d.ts" */

/** @param {Id} cid */
export const readRules = (cid) => api.read(cid);

/** The rules that a card brings, where just those are installed here. A card whose rules cannot be read brings none. @param {Character} character @returns {Promise<PluginChoice[]>} */
export async function broughtRules({ id: cid, metadata }) {
  if (!metadata?.clotho?.rules) return [];
  const found = await api.read(cid).catch(() => null);
  return found?.id && found.state === "same" ? [{ id: found.id, config: {} }] : [];
}

export const readInstalled = () => plugins();

/** @param {Id} cid @param {string} plugin */
export const putRules = (cid, plugin) => attempt(() => api.put(cid, plugin));

/** @param {Id} cid */
export const dropRules = (cid) => attempt(() => api.drop(cid).then(() => true));

/** Takes the rules in as they were seen. @param {Id} cid @param {CardRules} seen */
export const acceptRules = (cid, { codeHash, installedHash }) => attempt(() => api.accept(cid, { codeHash: codeHash ?? "", ...(installedHash && { installedHash }) }));
