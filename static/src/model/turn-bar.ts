// The display of the path to the current message: the turn bar above the branch, and swipes side by side.
import { signal } from "../../vendor/preact.js";
import { readStored, writeStored } from "../lib/storage.ts";

/** Whether the turn bar is shown. */
export const isTurnBarShown = signal(readStored("way") !== "closed");

export function setTurnBarShown(is: boolean) {
  isTurnBarShown.value = is;
  writeStored("way", is ? null : "closed");
}

/** The swipes that are shown side by side, as their common parent and role. */
export const openSiblings = signal<string | null>(null);

export function setOpenSiblings(family: string | null) {
  openSiblings.value = family;
}
