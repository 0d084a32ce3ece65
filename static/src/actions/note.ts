// The author's note of the open session.
import { openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/note.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import type { AuthorsNote } from "../lib/wire.d.ts";

/** Sets the author's note; null: none. */
export async function changeNote(note: AuthorsNote | null) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.setNote(open.id, note)));
  if (changed && store.session.peek()?.id === changed.id)
    store.updateSession({ authorsNote: changed.authorsNote ?? null });
  return Boolean(changed);
}

register({
  id: "session.note",
  label: "command.note",
  icon: "edit",
  scope: "page",
  enabled: () => store.session.value !== null,
  run: () => openDialog({ kind: "note" }),
});
