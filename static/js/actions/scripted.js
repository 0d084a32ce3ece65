// Asks which scripts change what is shown in the open story: when it is opened, and when they may be others. Where there are
// none, nothing more is loaded.
import { notFetched } from "../lib/modules.js";
import { ApiError } from "../net/api.js";
import { shownScripts } from "../net/presets.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** The story that was asked about last, and what its scripts depend on, as far as that is known. @type {{sid: Id, on: string | null} | null} */
let asked = null;
/** The number of the question whose answer counts. */
let question = 0;
/** @type {Promise<typeof import("./scripting.js") | null> | null} */
let loaded = null;

/** @param {Id | null} sid null: no story is open @param {string | null} on what the scripts depend on; null: it is not known yet */
export async function followScripts(sid, on) {
  const before = asked;
  if (sid !== null && before?.sid === sid && (before.on === null || before.on === on)) return void (before.on ??= on);
  asked = sid === null ? null : { sid, on };
  const mine = ++question;
  // What belongs to another story ends before anything is known of this one.
  if (loaded && before?.sid !== sid) (await loaded)?.stopScripts(true);
  if (sid === null) return;
  const found = await shownScripts(sid).catch(quietly);
  if (!found || mine !== question || (found.items.length === 0 && !loaded)) return;
  const module = await (loaded ??= import("./scripting.js").catch(forget));
  if (!module || mine !== question) return;
  if (found.items.length === 0) module.stopScripts(false);
  else module.useScripts(sid, found);
}

/** The next question loads the module again. @param {unknown} error */
function forget(error) {
  loaded = null;
  return notFetched(error);
}

/** Texts are shown as they stand then. @param {unknown} error */
function quietly(error) {
  if (!(error instanceof ApiError)) throw error;
  return null;
}
