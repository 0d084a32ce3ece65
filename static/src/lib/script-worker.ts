// The worker of regex scripts. `apart.ts` starts it, and ends it if it takes too long.
import { made } from "./scripts.ts";
import type { Setup } from "./scripts.ts";
import type { Job } from "./apart.ts";

let setup: Setup | null = null;

addEventListener("message", ({ data }: MessageEvent<{ setup: Setup } | Job>) => {
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
  postMessage({ id, says: "done", ...made(setup, text, place, without, begins) });
});
