// The calls for devices of the home network.
import { call, items } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

export const devices = async (): Promise<Wire.Device[]> => items(await call("GET", "/api/devices"));

/** Requests a pairing code for one device. */
export const pair = (): Promise<Wire.Pairing> => call("POST", "/api/devices/pairing", {});

/** Pairs this device. */
export const claim = (code: string): Promise<Wire.Device> => call("POST", "/api/devices/claim", { code });

const at = (id: Wire.Id) => `/api/devices/${id}`;

export const rename = (id: Wire.Id, name: string): Promise<Wire.Device> => call("PATCH", at(id), { name });

export const revoke = (id: Wire.Id) => call("DELETE", at(id));
