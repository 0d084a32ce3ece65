// The calls for personas.
import { call, deleteItem, items } from "./api.ts";
import { send } from "./cards.ts";
import type * as Wire from "../lib/wire.d.ts";

export const personas = async (): Promise<Wire.Persona[]> => items(await call("GET", "/api/personas?limit=500"));

/**
 * Creates a persona.
 * @param key the same key twice has only one effect
 */
export const create = (fields: { name: string; description: string }, key: string): Promise<Wire.Persona> =>
  call("POST", "/api/personas", fields, { key });

export const change = (pid: Wire.Id, fields: { name: string; description: string }): Promise<Wire.Persona> =>
  call("PATCH", `/api/personas/${pid}`, fields);

export const remove = (pid: Wire.Id) => deleteItem(`/api/personas/${pid}`);

export const sendPicture = (pid: Wire.Id, file: File): Promise<Wire.Persona> =>
  send("PUT", `/api/personas/${pid}/avatar`, file);

/** Returns the personas that new stories get: the default one, and those locked to characters. */
export const choices = (): Promise<Wire.PersonaChoices> => call("GET", "/api/personas/choices");

/**
 * Chooses the persona of new stories.
 * @param characterId the character that it is locked to; null: the default persona
 * @param personaId null: removes the choice
 */
export const choose = (characterId: Wire.Id | null, personaId: Wire.Id | null): Promise<Wire.PersonaChoices> =>
  call("PUT", "/api/personas/choices", { characterId, personaId });

/** Sets the persona of a session; null: none. */
export const setSessionPersona = (sid: Wire.Id, personaId: Wire.Id | null): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { personaId });
