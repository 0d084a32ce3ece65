// Who a reader plays: listed, made, changed, deleted, and chosen for a story.
import { t } from "../lib/i18n.js";
import { openDialog, tell } from "../model/page.js";
import * as story from "../model/story.js";
import * as api from "../net/personas.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";
import { restore } from "./library.js";

/** @import { Id, Persona } from "../lib/wire.d.ts" */

export const readPersonas = () => attempt(api.personas);

/**
 * Keeps what was written of a persona, new or not, and its picture if there is another.
 * @param {Id | null} pid @param {{name: string, description: string}} fields @param {File | null} picture @param {(request: unknown) => string} keyFor
 */
export const keepPersona = (pid, fields, picture, keyFor) =>
  attempt(async () => {
    const kept = pid ? await api.change(pid, fields) : await api.create(fields, keyFor(fields));
    return picture ? api.sendPicture(kept.id, picture) : kept;
  });

/** @param {Persona} persona @param {() => void} read hears when the list is another one: it is in the trash, or back again */
export async function removePersona({ id, name }, read) {
  if (!(await attempt(async () => (await api.remove(id), true)))) return;
  const back = async () => (await restore(id)) && read();
  tell({ tone: "quiet", text: t("notice.trashed", { name }), act: { label: "command.restore", run: () => void back() } });
  read();
}

/** Whom the reader plays in the open story from now on; null: only themselves. @param {Id | null} personaId */
export async function playAs(personaId) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.playAs(open.id, personaId)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ personaId });
}

register({ id: "page.personas", label: "command.personas", icon: "user", scope: "page", run: () => openDialog({ kind: "personas" }) });
