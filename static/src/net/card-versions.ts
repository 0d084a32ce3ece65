// The calls for versions of a card, and for the card that a session uses.
import { call } from "./api.ts";
import { send } from "./cards.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Reads a page of the versions of a card, newest first. */
export const cardVersions = (
  cid: Wire.Id,
  { limit, cursor }: { limit: number; cursor?: string | null },
): Promise<Wire.Page<Wire.CardVersionHead>> =>
  call("GET", `/api/characters/${cid}/versions?limit=${limit}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);

export const cardVersion = (cid: Wire.Id, n: number): Promise<Wire.CardVersion> =>
  call("GET", `/api/characters/${cid}/versions/${n}`);

export const restoreCardVersion = (cid: Wire.Id, n: number): Promise<Wire.Character> =>
  call("POST", `/api/characters/${cid}/versions/${n}/restore`);

/** Lets a session use the newest version of one of its characters. */
export const applyNewestCard = (sid: Wire.Id, characterId: Wire.Id): Promise<Wire.Session> =>
  call("POST", `/api/sessions/${sid}/cards`, { characterId });

/** Imports a file over a character, as a new version of its card. */
export const sendNewerCard = (cid: Wire.Id, file: File): Promise<Wire.ImportedCharacter> =>
  send("POST", `/api/characters/import?characterId=${cid}`, file);
