// Images from other servers. Whether a character may show them is read once and asked once.
import { imagePermissionOf, setImagesAllowed, addWaiting, setAskAt } from "../model/remote-images.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/remote-images.ts";
import { attempt } from "./error-text.ts";
import type { Id } from "../lib/wire.d.ts";

export const pictureAt = api.imageUrl;

const runningReads: Map<Id, Promise<void>> = new Map();

/** Reads the setting again. Without an answer, no image is shown, and the next message tries again. */
export function readImagePermission(cid: Id): Promise<void> {
  const done = runningReads.get(cid) ?? loadImagePermission(cid).finally(() => runningReads.delete(cid));
  runningReads.set(cid, done);
  return done;
}

async function loadImagePermission(cid: Id) {
  try {
    const { allowed } = await api.readPermission(cid);
    if (allowed !== imagePermissionOf(cid).peek().allowed) setImagesAllowed(cid, allowed);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

export function ensureImagePermission(cid: Id) {
  if (imagePermissionOf(cid).peek().allowed === undefined) void readImagePermission(cid);
}

/** Registers a message on screen that contains such images. */
export function registerImages(cid: Id, nid: Id) {
  ensureImagePermission(cid);
  return addWaiting(cid, nid);
}

/** Asks the user at this message, whatever was answered before. */
export const askAtMessage = (cid: Id, nid: Id) => setAskAt(cid, nid);

/**
 * Sets whether images of a character are loaded.
 * @param allowed null: ask when there is one
 */
export async function setImagePermission(cid: Id, allowed: boolean | null) {
  const result = await attempt(() => api.setPermission(cid, allowed));
  if (result) setImagesAllowed(cid, result.allowed);
  return result !== undefined;
}
