// How the characters of the first page are looked through.
import { signal } from "../../vendor/preact.js";
import { recall, remember } from "../lib/storage.js";

/** @typedef {"newest" | "name" | "played"} Order */
/** @typedef {{words: string, tags: string[], favourites: boolean}} Wanted */

export const ORDERS = /** @type {const} */ (["newest", "played", "name"]);

export const wanted = signal(/** @type {Wanted} */ ({ words: "", tags: [], favourites: false }));

/** @param {Partial<Wanted>} change */
export function want(change) {
  wanted.value = { ...wanted.peek(), ...change };
}

export const order = signal(ORDERS.find((one) => one === recall("shelf")) ?? "newest");

/** @param {Order} next */
export function orderBy(next) {
  order.value = next;
  remember("shelf", next === "newest" ? null : next);
}
