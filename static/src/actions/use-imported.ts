// What to do with imported lorebooks, personas and presets while a story is open: the question whether it uses them.
import { dialog, openDialog, route } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { linkToSession } from "../net/lore.ts";
import { setSessionPersona } from "../net/personas.ts";
import { setSessionPreset } from "../net/presets.ts";
import { attempt } from "./error-text.ts";
import type { UsableItem } from "../model/dialog.d.ts";
import type { Id } from "../lib/wire.d.ts";

/** Asks whether the open story uses what was imported. It does not ask over another dialog. */
export function askToUse(items: UsableItem[]) {
  const at = route.peek();
  if (at.page !== "session" || items.length === 0 || dialog.peek() !== null) return;
  openDialog({ kind: "useImported", sid: at.sid, items });
}

/** Lets a session use an imported lorebook, persona or preset. Returns whether it does. */
export async function useImported(sid: Id, { what, id }: UsableItem): Promise<boolean> {
  if (what === "book") return (await attempt(async () => (await linkToSession(id, sid), true))) ?? false;
  const changed = await attempt(() => (what === "persona" ? setSessionPersona(sid, id) : setSessionPreset(sid, id)));
  if (changed && store.session.peek()?.id === sid)
    store.updateSession(what === "persona" ? { personaId: id } : { presetId: id });
  return Boolean(changed);
}
