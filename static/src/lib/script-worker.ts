// The worker of regex scripts. `script-supervisor.ts` starts it, and ends it if it takes too long.
import { displayedText } from "./regex-scripts.ts";
import type { ScriptSetup } from "./regex-scripts.ts";
import type { ScriptJob } from "./script-supervisor.ts";

let setup: ScriptSetup | null = null;

addEventListener("message", ({ data }: MessageEvent<{ setup: ScriptSetup } | ScriptJob>) => {
  if ("setup" in data) return void (setup = data.setup);
  if (!setup) return;
  const { id, text, place, without, isWatched } = data;
  postMessage({ id, says: "begun" });
  // Steps are only reported while a slow script is searched. With a hundred scripts, reports cost more than the
  // scripts.
  const begins = isWatched
    ? (step: number, now: string) =>
        postMessage({ id, says: "step", step, text: now, at: performance.timeOrigin + performance.now() })
    : undefined;
  postMessage({ id, says: "done", ...displayedText(setup, text, place, without, begins) });
});
