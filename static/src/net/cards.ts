// The calls for characters, lorebooks and personas as files.
import { ApiError, call, exchange, me, parse } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Returns the address of a character as a file. */
export const cardFile = (cid: Wire.Id, format: "png" | "json" | "charx") =>
  `/api/characters/${cid}/export?format=${format}`;

/** Imports a card of another program as a character. */
export const sendCard = (file: File): Promise<Wire.ImportedCharacter> => send("POST", "/api/characters/import", file);

/** Imports a file of another program as a lorebook. */
export const sendBook = (file: File): Promise<{ id: Wire.Id; name: string; report: Wire.Report }> =>
  send("POST", "/api/lorebooks/import", file);

export const sendPersonas = (file: File): Promise<{ items: Wire.Persona[]; report: Wire.Report }> =>
  send("POST", "/api/personas/import", file);

export const sendPicture = (cid: Wire.Id, file: File): Promise<Wire.Character> =>
  send("PUT", `/api/characters/${cid}/avatar`, file);

export const character = (cid: Wire.Id): Promise<Wire.Character> => call("GET", `/api/characters/${cid}`);

export const changeCharacter = (cid: Wire.Id, changes: Wire.CharacterChanges): Promise<Wire.Character> =>
  call("PATCH", `/api/characters/${cid}`, changes);

export async function send(method: string, path: string, file: File): Promise<Wire.Unchecked> {
  const { csrf } = await me();
  const body = new FormData();
  body.append("file", file);
  const headers = { Accept: "application/json", ...(csrf && { "X-CSRF-Token": csrf }) };
  const { response, text } = await exchange(path, { method, headers, body });
  const json = parse(text);
  if (!response.ok) throw await withFileFault(new ApiError(response.status, json?.error ?? {}), file);
  return json;
}

/** Adds the reason to the refusal of a file, because the server has no word for it. */
export async function withFileFault(error: ApiError, file: Blob): Promise<ApiError> {
  const isOfFile = error.code === "invalid" && error.details.field === "file";
  if (!isOfFile || error.details.reason) return error;
  const { fileFault } = await import("../lib/file-kind.ts");
  const found = await fileFault(file).catch(() => null);
  if (found) error.details = { ...error.details, fileFault: found };
  return error;
}
