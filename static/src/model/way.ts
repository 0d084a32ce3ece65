// How the way to the message one stands at is shown: as turns above the line, and versions side by side.
import { signal } from "../../vendor/preact.js";
import { recall, remember } from "../lib/storage.ts";

/** Whether the turns stand above the line. */
export const waySeen = signal(recall("way") !== "closed");

export function showWay(is: boolean) {
  waySeen.value = is;
  remember("way", is ? null : "closed");
}

/** The messages that are versions of one another and stand side by side, by what they follow and who speaks. */
export const fanned = signal<string | null>(null);

export function fanOut(family: string | null) {
  fanned.value = family;
}
