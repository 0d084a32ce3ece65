// Pictures of other servers: whether they are shown for a character is read once, and said once.
import { outsideOf, putAllowed, waits, wantAsked } from "../model/outside.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/outside.js";
import { attempt } from "./failure.js";

/** @import { Id } from "../lib/wire.d.ts" */

export const pictureAt = api.pictureAt;

/** @type {Map<Id, Promise<void>>} */
const reading = new Map();

/** Reads it anew; without an answer nothing is shown, and the next message asks again. @param {Id} cid @returns {Promise<void>} */
export function readOutside(cid) {
  const done = reading.get(cid) ?? read(cid).finally(() => reading.delete(cid));
  reading.set(cid, done);
  return done;
}

/** @param {Id} cid */
async function read(cid) {
  try {
    const { allowed } = await api.outside(cid);
    if (allowed !== outsideOf(cid).peek().allowed) putAllowed(cid, allowed);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

/** @param {Id} cid */
export function learnOutside(cid) {
  if (outsideOf(cid).peek().allowed === undefined) void readOutside(cid);
}

/** A message that names such pictures has come on screen. @param {Id} cid @param {Id} nid */
export function meetPictures(cid, nid) {
  learnOutside(cid);
  return waits(cid, nid);
}

/** Asks at this message, whatever was said before. @param {Id} cid @param {Id} nid */
export const askHere = (cid, nid) => wantAsked(cid, nid);

/** @param {Id} cid @param {boolean | null} allowed null: ask when there is one */
export async function allowOutside(cid, allowed) {
  const said = await attempt(() => api.allowOutside(cid, allowed));
  if (said) putAllowed(cid, said.allowed);
  return said !== undefined;
}
