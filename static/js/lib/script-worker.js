// The worker in which regex scripts run, and nothing else: `apart.js` starts it, and ends it where it takes too long.
import { made } from "./scripts.js";

/** @import { Setup } from "./scripts.js" */
/** @import { Job } from "./apart.js" */

/** @type {Setup | null} */
let setup = null;

addEventListener("message", (/** @type {MessageEvent<{setup: Setup} | Job>} */ { data }) => {
  if ("setup" in data) return void (setup = data.setup);
  if (!setup) return;
  const { id, text, place, without, isWatched } = data;
  postMessage({ id, says: "begun" });
  // Told of step by step only where one is sought that takes too long: for a hundred scripts that costs more than they do.
  const begins = isWatched ? (/** @type {number} */ step, /** @type {string} */ now) => postMessage({ id, says: "step", step, text: now, at: performance.timeOrigin + performance.now() }) : undefined;
  postMessage({ id, says: "done", ...made(setup, text, place, without, begins) });
});
