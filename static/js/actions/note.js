// The author's note of the open story.
import { openDialog } from "../model/page.js";
import * as story from "../model/story.js";
import * as api from "../net/note.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";

/** @import { AuthorsNote } from "../lib/wire.d.ts" */

/** What is noted to the model from now on; null: nothing. @param {AuthorsNote | null} note */
export async function changeNote(note) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.setNote(open.id, note)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ authorsNote: changed.authorsNote ?? null });
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
