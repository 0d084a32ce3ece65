// How the way to the message one stands at is shown: as turns above the line, and versions side by side.
import { signal } from "../../vendor/preact.js";
import { recall, remember } from "../lib/storage.js";

/** Whether the turns stand above the line. */
export const waySeen = signal(recall("way") !== "closed");

/** @param {boolean} is */
export function showWay(is) {
  waySeen.value = is;
  remember("way", is ? null : "closed");
}

/** The messages that are versions of one another and stand side by side, by what they follow and who speaks. */
export const fanned = signal(/** @type {string | null} */ (null));

/** @param {string | null} family */
export function fanOut(family) {
  fanned.value = family;
}
