// Pictures of other servers: whether they are shown for a character is read once, and said once.
import { outsideOf, putAllowed, waits, wantAsked } from "../model/outside.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/outside.ts";
import { attempt } from "./failure.ts";
import type { Id } from "../lib/wire.d.ts";

export const pictureAt = api.pictureAt;

const reading: Map<Id, Promise<void>> = new Map();

/** Reads it anew; without an answer nothing is shown, and the next message asks again. */
export function readOutside(cid: Id): Promise<void> {
  const done = reading.get(cid) ?? read(cid).finally(() => reading.delete(cid));
  reading.set(cid, done);
  return done;
}

async function read(cid: Id) {
  try {
    const { allowed } = await api.outside(cid);
    if (allowed !== outsideOf(cid).peek().allowed) putAllowed(cid, allowed);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

export function learnOutside(cid: Id) {
  if (outsideOf(cid).peek().allowed === undefined) void readOutside(cid);
}

/** A message that names such pictures has come on screen. */
export function meetPictures(cid: Id, nid: Id) {
  learnOutside(cid);
  return waits(cid, nid);
}

/** Asks at this message, whatever was said before. */
export const askHere = (cid: Id, nid: Id) => wantAsked(cid, nid);

/** @param allowed null: ask when there is one */
export async function allowOutside(cid: Id, allowed: boolean | null) {
  const said = await attempt(() => api.allowOutside(cid, allowed));
  if (said) putAllowed(cid, said.allowed);
  return said !== undefined;
}
