// Who a reader plays: listed, made, changed, deleted, and chosen for a story.
import { t } from "../lib/i18n.ts";
import { openDialog, tell } from "../model/page.ts";
import * as story from "../model/story.ts";
import * as api from "../net/personas.ts";
import { register } from "./commands.ts";
import { attempt } from "./failure.ts";
import { restore } from "./library.ts";
import type { Id, Persona } from "../lib/wire.d.ts";

export const readPersonas = () => attempt(api.personas);

/** Keeps what was written of a persona, new or not, and its picture if there is another. */
export const keepPersona = (
  pid: Id | null,
  fields: { name: string; description: string },
  picture: File | null,
  keyFor: (request: unknown) => string,
) =>
  attempt(async () => {
    const kept = pid ? await api.change(pid, fields) : await api.create(fields, keyFor(fields));
    return picture ? api.sendPicture(kept.id, picture) : kept;
  });

/** @param read hears when the list is another one: it is in the trash, or back again */
export async function removePersona({ id, name }: Persona, read: () => void) {
  if (!(await attempt(async () => (await api.remove(id), true)))) return;
  const back = async () => (await restore(id)) && read();
  tell({
    tone: "quiet",
    text: t("notice.trashed", { name }),
    act: { label: "command.restore", run: () => void back() },
  });
  read();
}

/** Whom the reader plays in the open story from now on; null: only themselves. */
export async function playAs(personaId: Id | null) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.playAs(open.id, personaId)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ personaId });
}

register({
  id: "page.personas",
  label: "command.personas",
  icon: "user",
  scope: "page",
  run: () => openDialog({ kind: "personas" }),
});
