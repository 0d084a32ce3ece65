// The calls about pictures of other servers.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

const of = (cid: Wire.Id) => `/api/characters/${cid}/outside`;

export const outside = (cid: Wire.Id): Promise<Wire.Outside> => call("GET", of(cid));

export const allowOutside = (cid: Wire.Id, allowed: boolean | null): Promise<Wire.Outside> =>
  call("PUT", of(cid), { allowed });

/** Where our server has a picture of another one. */
export const pictureAt = (cid: Wire.Id, address: string) => `${of(cid)}/picture?url=${encodeURIComponent(address)}`;
