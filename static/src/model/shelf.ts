// Search, filters and order of the characters on the first page.
import { signal } from "../../vendor/preact.js";
import { readStored, writeStored } from "../lib/storage.ts";

type Order = "newest" | "name" | "played";

interface Wanted {
  words: string;
  tags: string[];
  favourites: boolean;
}

export const ORDERS = ["newest", "played", "name"] as const;

export const wanted = signal<Wanted>({ words: "", tags: [], favourites: false });

export function want(change: Partial<Wanted>) {
  wanted.value = { ...wanted.peek(), ...change };
}

export const order = signal(ORDERS.find((one) => one === readStored("shelf")) ?? "newest");

export function orderBy(next: Order) {
  order.value = next;
  writeStored("shelf", next === "newest" ? null : next);
}
