// The devices of the house as this server last listed them.
import { signal } from "../../vendor/preact.js";
import type { Device } from "../lib/wire.d.ts";

/** `servesHouse`: whether devices can be paired. null: not known yet. */
export const house = signal<{ servesHouse: boolean; devices: Device[] } | null>(null);

export function putHouse(servesHouse: boolean, devices: Device[]) {
  house.value = { servesHouse, devices };
}

export function putDevices(devices: Device[]) {
  if (house.value) house.value = { ...house.value, devices };
}
