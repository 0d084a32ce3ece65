// Devices of the house: listed, paired, named, let in no more. Loaded with the settings.
import { t } from "../lib/i18n.js";
import { putDevices, putHouse } from "../model/devices.js";
import { openDialog, tell } from "../model/page.js";
import { ApiError, me } from "../net/api.js";
import * as api from "../net/devices.js";
import { attempt } from "./failure.js";

/** @import { Device, Id } from "../lib/wire.d.ts" */

export async function readHouse() {
  const found = await attempt(() => Promise.all([me(), api.devices()]));
  if (found) putHouse(found[0].servesHouse === true, found[1]);
}

/** A code for one device, and who was paired before it was made. */
export async function offerCode() {
  const known = await attempt(() => api.devices());
  const pairing = known && (await attempt(() => api.pair()));
  return pairing && { pairing, known: new Set(known.map(({ id }) => id)) };
}

/** Looks whether one has come that was not known; a look that fails is only one more. @param {Set<Id>} known @returns {Promise<Device | null>} */
export async function lookForNew(known) {
  try {
    const devices = await api.devices();
    putDevices(devices);
    return devices.find(({ id }) => !known.has(id)) ?? null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return null;
  }
}

/** @param {Id} id @param {string} name */
export async function nameDevice(id, name) {
  const named = await attempt(() => api.rename(id, name));
  if (!named) return;
  openDialog(null);
  await readHouse();
}

/** @param {Device} device */
export async function revokeDevice({ id, name, isThis }) {
  const gone = await attempt(async () => {
    await api.revoke(id);
    return true;
  });
  if (!gone) return;
  openDialog(null);
  // This one is before the door now, and sees that by asking.
  await readHouse();
  if (!isThis) tell({ tone: "quiet", text: t("devices.gone", { name }) });
}
