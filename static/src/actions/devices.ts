// Devices of the home network: listing, pairing, renaming, removing. Loaded with the settings.
import { t } from "../lib/i18n.ts";
import { setDevices, setPairedDevices } from "../model/devices.ts";
import { openDialog, notify } from "../model/page.ts";
import { ApiError, me } from "../net/api.ts";
import * as api from "../net/devices.ts";
import { attempt } from "./error-text.ts";
import type { Device, Id } from "../lib/wire.d.ts";

export async function readDevices() {
  const found = await attempt(() => Promise.all([me(), api.devices()]));
  if (found) setPairedDevices(found[0].servesHouse === true, found[1]);
}

/** Requests a pairing code for one device. Returns it with the devices that were already paired. */
export async function requestPairingCode() {
  const known = await attempt(() => api.devices());
  const pairing = known && (await attempt(() => api.pair()));
  return pairing && { pairing, known: new Set(known.map(({ id }) => id)) };
}

/** Returns a newly paired device, if there is one. A failed request is ignored, because the caller polls. */
export async function findNewDevice(known: Set<Id>): Promise<Device | null> {
  try {
    const devices = await api.devices();
    setDevices(devices);
    return devices.find(({ id }) => !known.has(id)) ?? null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return null;
  }
}

export async function nameDevice(id: Id, name: string) {
  const named = await attempt(() => api.rename(id, name));
  if (!named) return;
  openDialog(null);
  await readDevices();
}

export async function revokeDevice({ id, name, isThis }: Device) {
  const isDeleted = await attempt(async () => {
    await api.revoke(id);
    return true;
  });
  if (!isDeleted) return;
  openDialog(null);
  // If this device was removed, the request finds that out.
  await readDevices();
  if (!isThis) notify({ tone: "quiet", text: t("devices.gone", { name }) });
}
