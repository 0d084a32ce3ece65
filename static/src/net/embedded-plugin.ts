// The calls for rules embedded in a card.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

const at = (cid: Wire.Id) => `/api/characters/${cid}/rules`;

export const read = (cid: Wire.Id): Promise<Wire.EmbeddedPlugin> => call("GET", at(cid));

export const put = (cid: Wire.Id, plugin: string): Promise<Wire.EmbeddedPlugin> => call("PUT", at(cid), { plugin });

export const drop = (cid: Wire.Id): Promise<unknown> => call("DELETE", at(cid));

export const accept = (cid: Wire.Id, seen: { codeHash: string; installedHash?: string }): Promise<Wire.PluginDetail> =>
  call("POST", `${at(cid)}/accept`, seen);
