// Reads which regex scripts change the display of the open session: when it opens, and when they may have changed. If
// there are none, nothing else is loaded.
import { ignoreFetchFailure } from "../lib/modules.ts";
import { ApiError } from "../net/api.ts";
import { displayScripts } from "../net/presets.ts";
import type { Id } from "../lib/wire.d.ts";

/** The session of the last request, and what its scripts depend on, if known. */
let asked: { sid: Id; on: string | null } | null = null;
/** Number of the last request; only its answer is used. */
let question = 0;
let loaded: Promise<typeof import("./scripting.ts") | null> | null = null;

/**
 * Updates the scripts for a session.
 * @param sid null: no session is open
 * @param on what the scripts depend on; null: not known yet
 */
export async function followScripts(sid: Id | null, on: string | null) {
  const before = asked;
  if (sid !== null && before?.sid === sid && (before.on === null || before.on === on)) return void (before.on ??= on);
  asked = sid === null ? null : { sid, on };
  const mine = ++question;
  // Scripts of another session stop before anything is known of this one.
  if (loaded && before?.sid !== sid) (await loaded)?.stopScripts(true);
  if (sid === null) return;
  const found = await displayScripts(sid).catch(quietly);
  if (!found || mine !== question || (found.items.length === 0 && !loaded)) return;
  const module = await (loaded ??= import("./scripting.ts").catch(forget));
  if (!module || mine !== question) return;
  if (found.items.length === 0) module.stopScripts(false);
  else module.useScripts(sid, found);
}

/** Lets the next request load the module again. */
function forget(error: unknown) {
  loaded = null;
  return ignoreFetchFailure(error);
}

/** Ignores errors of the server. Texts are then shown as they are. */
function quietly(error: unknown) {
  if (!(error instanceof ApiError)) throw error;
  return null;
}
