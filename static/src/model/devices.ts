// The paired devices, as last listed by the server.
import { signal } from "../../vendor/preact.js";
import type { Device } from "../lib/wire.d.ts";

/** `servesHouse`: whether devices can be paired. `null` if not loaded yet. */
export const pairedDevices = signal<{ servesHouse: boolean; devices: Device[] } | null>(null);

export function setPairedDevices(servesHouse: boolean, devices: Device[]) {
  pairedDevices.value = { servesHouse, devices };
}

export function setDevices(devices: Device[]) {
  if (pairedDevices.value) pairedDevices.value = { ...pairedDevices.value, devices };
}
