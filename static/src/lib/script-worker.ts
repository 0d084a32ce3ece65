// The worker in which regex scripts run, and nothing else: `apart.ts` starts it, and ends it where it takes too long.
import { made } from "./scripts.ts";
import type { Setup } from "./scripts.ts";
import type { Job } from "./apart.ts";

let setup: Setup | null = null;

addEventListener("message", ({ data }: MessageEvent<{ setup: Setup } | Job>) => {
  if ("setup" in data) return void (setup = data.setup);
  if (!setup) return;
  const { id, text, place, without, isWatched } = data;
  postMessage({ id, says: "begun" });
  // Told of step by step only where one is sought that takes too long: for a hundred scripts that costs more than they
  // do.
  const begins = isWatched
    ? (step: number, now: string) =>
        postMessage({ id, says: "step", step, text: now, at: performance.timeOrigin + performance.now() })
    : undefined;
  postMessage({ id, says: "done", ...made(setup, text, place, without, begins) });
});
