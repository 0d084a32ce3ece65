// The devices of the house as this server last listed them.
import { signal } from "../../vendor/preact.js";

/** @import { Device } from "../lib/wire.d.ts" */

/** `servesHouse`: whether devices can be paired. null: not known yet. */
export const house = signal(/** @type {{servesHouse: boolean, devices: Device[]} | null} */ (null));

/** @param {boolean} servesHouse @param {Device[]} devices */
export function putHouse(servesHouse, devices) {
  house.value = { servesHouse, devices };
}

/** @param {Device[]} devices */
export function putDevices(devices) {
  if (house.value) house.value = { ...house.value, devices };
}
