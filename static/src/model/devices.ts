// The paired devices, as last listed by the server.
import { signal } from "../../vendor/preact.js";
import type { Device } from "../lib/wire.d.ts";

/** `servesHouse`: whether devices can be paired. `null` if not loaded yet. */
export const house = signal<{ servesHouse: boolean; devices: Device[] } | null>(null);

export function putHouse(servesHouse: boolean, devices: Device[]) {
  house.value = { servesHouse, devices };
}

export function putDevices(devices: Device[]) {
  if (house.value) house.value = { ...house.value, devices };
}
