// Search, filters and order of the characters on the first page.
import { signal } from "../../vendor/preact.js";
import { readStored, writeStored } from "../lib/storage.ts";

type CharacterOrder = "newest" | "name" | "played";

interface CharacterFilter {
  words: string;
  tags: string[];
  favourites: boolean;
}

export const ORDERS = ["newest", "played", "name"] as const;

export const characterFilter = signal<CharacterFilter>({ words: "", tags: [], favourites: false });

export function changeCharacterFilter(change: Partial<CharacterFilter>) {
  characterFilter.value = { ...characterFilter.peek(), ...change };
}

export const characterOrder = signal(ORDERS.find((one) => one === readStored("shelf")) ?? "newest");

export function setCharacterOrder(next: CharacterOrder) {
  characterOrder.value = next;
  writeStored("shelf", next === "newest" ? null : next);
}
