// Whether pictures of other servers are shown, for each character; and which message asks while nobody has said so.
import { signal } from "../../vendor/preact.js";
import type { Signal } from "../../vendor/preact.js";
import type { Id } from "../lib/wire.d.ts";

/**
 * `allowed`: null = nobody was asked, undefined = not known yet. `waiting`: the messages on screen that name such
 * pictures. `wanted`: the one at which a reader wants to be asked.
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
 * A message with such pictures is on screen.
 * @returns it is no more
 */
export function waits(cid: Id, nid: Id): () => void {
  put(cid, { waiting: [...outsideOf(cid).peek().waiting, nid] });
  return () => {
    const { waiting } = outsideOf(cid).peek();
    const at = waiting.indexOf(nid);
    put(cid, { waiting: waiting.filter((_, i) => i !== at) });
  };
}

/** The one message that asks: where a reader wants it, else the last one, for ids grow with time. */
export function askedAt(cid: Id): Id | null {
  const { allowed, waiting, wanted } = outsideOf(cid).value;
  if (wanted !== null && waiting.includes(wanted)) return wanted;
  return allowed === null ? (waiting.toSorted().at(-1) ?? null) : null;
}
