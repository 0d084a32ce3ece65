// Personas: listing, creating, changing, deleting, and choosing one for a session.
import { t } from "../lib/i18n.ts";
import { openDialog, notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { allCharacters } from "../net/api.ts";
import * as api from "../net/personas.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { restore } from "./library.ts";
import type { Id, Persona } from "../lib/wire.d.ts";

export const readPersonas = () => attempt(api.personas);

/** Returns all characters, to which a persona can be locked. */
export const readCharacters = () => attempt(allCharacters);

/** Returns the personas that new stories get. */
export const readPersonaChoices = () => attempt(api.choices);

/** Chooses the persona of new stories, with one character or by default (null); no persona: removes the choice. */
export const choosePersona = (characterId: Id | null, personaId: Id | null) =>
  attempt(() => api.choose(characterId, personaId));

/** Saves a persona, new or not, and its picture if there is a new one. */
export const savePersona = (
  pid: Id | null,
  fields: { name: string; description: string },
  picture: File | null,
  keyFor: (request: unknown) => string,
) =>
  attempt(async () => {
    const saved = pid ? await api.change(pid, fields) : await api.create(fields, keyFor(fields));
    return picture ? api.sendPicture(saved.id, picture) : saved;
  });

/**
 * Moves a persona to the trash.
 * @param read is called when the list changed: after the deletion, and after it is restored
 */
export async function removePersona({ id, name }: Persona, read: () => void) {
  if (!(await attempt(async () => (await api.remove(id), true)))) return;
  const back = async () => (await restore(id)) && read();
  notify({
    tone: "quiet",
    text: t("notice.trashed", { name }),
    action: { label: "command.restore", run: () => void back() },
  });
  read();
}

/** Sets the persona of the open session; null: none. */
export async function setSessionPersona(personaId: Id | null) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.setSessionPersona(open.id, personaId)));
  if (changed && store.session.peek()?.id === changed.id) store.updateSession({ personaId });
}

register({
  id: "page.personas",
  label: "command.personas",
  icon: "user",
  scope: "page",
  run: () => openDialog({ kind: "personas" }),
});
