// The calls for images from other servers.
import { call } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

const of = (cid: Wire.Id) => `/api/characters/${cid}/outside`;

export const readPermission = (cid: Wire.Id): Promise<Wire.RemoteImagesPermission> => call("GET", of(cid));

export const setPermission = (cid: Wire.Id, allowed: boolean | null): Promise<Wire.RemoteImagesPermission> =>
  call("PUT", of(cid), { allowed });

/** Returns the address at which Clotho serves an image of another server. */
export const imageUrl = (cid: Wire.Id, address: string) => `${of(cid)}/picture?url=${encodeURIComponent(address)}`;
