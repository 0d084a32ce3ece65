// For each character: whether pictures of other servers are shown, and which message asks for the permission.
import { signal } from "../../vendor/preact.js";
import type { Signal } from "../../vendor/preact.js";
import type { Id } from "../lib/wire.d.ts";

/**
 * `allowed`: `null` = nobody was asked, `undefined` = not loaded yet. `waiting`: messages on screen with such pictures.
 * `wanted`: the message at which the user wants to be asked.
 */
interface Outside {
  allowed: boolean | null | undefined;
  waiting: Id[];
  wanted: Id | null;
}

const all: Map<Id, Signal<Outside>> = new Map();

export function outsideOf(cid: Id): Signal<Outside> {
  const known = all.get(cid) ?? signal<Outside>({ allowed: undefined, waiting: [], wanted: null });
  all.set(cid, known);
  return known;
}

function put(cid: Id, change: Partial<Outside>) {
  const of = outsideOf(cid);
  of.value = { ...of.peek(), ...change };
}

export const putAllowed = (cid: Id, allowed: boolean | null) => put(cid, { allowed, wanted: null });

export const wantAsked = (cid: Id, nid: Id) => put(cid, { wanted: nid });

/**
 * Adds a message with such pictures that is on screen.
 * @returns a function that removes it
 */
export function waits(cid: Id, nid: Id): () => void {
  put(cid, { waiting: [...outsideOf(cid).peek().waiting, nid] });
  return () => {
    const { waiting } = outsideOf(cid).peek();
    const at = waiting.indexOf(nid);
    put(cid, { waiting: waiting.filter((_, i) => i !== at) });
  };
}

/** Returns the message that asks: the one that the user chose, otherwise the newest, because ids grow with time. */
export function askedAt(cid: Id): Id | null {
  const { allowed, waiting, wanted } = outsideOf(cid).value;
  if (wanted !== null && waiting.includes(wanted)) return wanted;
  return allowed === null ? (waiting.toSorted().at(-1) ?? null) : null;
}
