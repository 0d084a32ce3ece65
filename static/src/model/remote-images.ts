// For each character: whether pictures of other servers are shown, and which message asks for the permission.
import { signal } from "../../vendor/preact.js";
import type { Signal } from "../../vendor/preact.js";
import type { Id } from "../lib/wire.d.ts";

/**
 * `allowed`: `null` = nobody was asked, `undefined` = not loaded yet. `waiting`: messages on screen with such pictures.
 * `askAt`: the message at which the user wants to be asked.
 */
interface ImagePermission {
  allowed: boolean | null | undefined;
  waiting: Id[];
  askAt: Id | null;
}

const permissions: Map<Id, Signal<ImagePermission>> = new Map();

export function imagePermissionOf(cid: Id): Signal<ImagePermission> {
  const known = permissions.get(cid) ?? signal<ImagePermission>({ allowed: undefined, waiting: [], askAt: null });
  permissions.set(cid, known);
  return known;
}

function changePermission(cid: Id, change: Partial<ImagePermission>) {
  const of = imagePermissionOf(cid);
  of.value = { ...of.peek(), ...change };
}

export const setImagesAllowed = (cid: Id, allowed: boolean | null) => changePermission(cid, { allowed, askAt: null });

export const setAskAt = (cid: Id, nid: Id) => changePermission(cid, { askAt: nid });

/**
 * Adds a message with such pictures that is on screen.
 * @returns a function that removes it
 */
export function addWaiting(cid: Id, nid: Id): () => void {
  changePermission(cid, { waiting: [...imagePermissionOf(cid).peek().waiting, nid] });
  return () => {
    const { waiting } = imagePermissionOf(cid).peek();
    const at = waiting.indexOf(nid);
    changePermission(cid, { waiting: waiting.filter((_, i) => i !== at) });
  };
}

/** Returns the message that asks: the one that the user chose, otherwise the newest, because ids grow with time. */
export function askingMessage(cid: Id): Id | null {
  const { allowed, waiting, askAt } = imagePermissionOf(cid).value;
  if (askAt !== null && waiting.includes(askAt)) return askAt;
  return allowed === null ? (waiting.toSorted().at(-1) ?? null) : null;
}
