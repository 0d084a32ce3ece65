// The author's note of the open session.
import { openDialog } from "../model/page.ts";
import * as story from "../model/story.ts";
import * as api from "../net/note.ts";
import { register } from "./commands.ts";
import { attempt } from "./failure.ts";
import type { AuthorsNote } from "../lib/wire.d.ts";

/** Sets the author's note; null: none. */
export async function changeNote(note: AuthorsNote | null) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.setNote(open.id, note)));
  if (changed && story.session.peek()?.id === changed.id)
    story.putSession({ authorsNote: changed.authorsNote ?? null });
  return Boolean(changed);
}

register({
  id: "session.note",
  label: "command.note",
  icon: "edit",
  scope: "page",
  enabled: () => story.session.value !== null,
  run: () => openDialog({ kind: "note" }),
});
