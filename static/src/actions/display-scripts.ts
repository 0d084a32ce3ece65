// Reads which regex scripts change the display of the open session: when it opens, and when they may have changed. If
// there are none, nothing else is loaded.
import { ignoreFetchFailure } from "../lib/modules.ts";
import { ApiError } from "../net/api.ts";
import { displayScripts } from "../net/presets.ts";
import type { Id } from "../lib/wire.d.ts";

/** The session of the last request, and what its scripts depend on, if known. */
let lastRequest: { sid: Id; on: string | null } | null = null;
/** Number of the last request; only its answer is used. */
let requestNumber = 0;
let runnerModule: Promise<typeof import("./display-script-runner.ts") | null> | null = null;

/**
 * Updates the scripts for a session.
 * @param sid null: no session is open
 * @param on what the scripts depend on; null: not known yet
 */
export async function updateDisplayScripts(sid: Id | null, on: string | null) {
  const before = lastRequest;
  if (sid !== null && before?.sid === sid && (before.on === null || before.on === on)) return void (before.on ??= on);
  lastRequest = sid === null ? null : { sid, on };
  const mine = ++requestNumber;
  // Scripts of another session stop before anything is known of this one.
  if (runnerModule && before?.sid !== sid) (await runnerModule)?.stopScripts(true);
  if (sid === null) return;
  const found = await displayScripts(sid).catch(ignoreServerErrors);
  if (!found || mine !== requestNumber || (found.items.length === 0 && !runnerModule)) return;
  const module = await (runnerModule ??= import("./display-script-runner.ts").catch(forgetModule));
  if (!module || mine !== requestNumber) return;
  if (found.items.length === 0) module.stopScripts(false);
  else module.startScripts(sid, found);
}

/** Lets the next request load the module again. */
function forgetModule(error: unknown) {
  runnerModule = null;
  return ignoreFetchFailure(error);
}

/** Ignores errors of the server. Texts are then shown as they are. */
function ignoreServerErrors(error: unknown) {
  if (!(error instanceof ApiError)) throw error;
  return null;
}
