// Asks which scripts change what is shown in the open story: when it is opened, and when they may be others. Where
// there are none, nothing more is loaded.
import { notFetched } from "../lib/modules.ts";
import { ApiError } from "../net/api.ts";
import { shownScripts } from "../net/presets.ts";
import type { Id } from "../lib/wire.d.ts";

/** The story that was asked about last, and what its scripts depend on, as far as that is known. */
let asked: { sid: Id; on: string | null } | null = null;
/** The number of the question whose answer counts. */
let question = 0;
let loaded: Promise<typeof import("./scripting.ts") | null> | null = null;

/**
 * @param sid null: no story is open
 * @param on what the scripts depend on; null: it is not known yet
 */
export async function followScripts(sid: Id | null, on: string | null) {
  const before = asked;
  if (sid !== null && before?.sid === sid && (before.on === null || before.on === on)) return void (before.on ??= on);
  asked = sid === null ? null : { sid, on };
  const mine = ++question;
  // What belongs to another story ends before anything is known of this one.
  if (loaded && before?.sid !== sid) (await loaded)?.stopScripts(true);
  if (sid === null) return;
  const found = await shownScripts(sid).catch(quietly);
  if (!found || mine !== question || (found.items.length === 0 && !loaded)) return;
  const module = await (loaded ??= import("./scripting.ts").catch(forget));
  if (!module || mine !== question) return;
  if (found.items.length === 0) module.stopScripts(false);
  else module.useScripts(sid, found);
}

/** The next question loads the module again. */
function forget(error: unknown) {
  loaded = null;
  return notFetched(error);
}

/** Texts are shown as they stand then. */
function quietly(error: unknown) {
  if (!(error instanceof ApiError)) throw error;
  return null;
}
