// Work of the server that the page waits for, also after it was loaded anew.
import { recall, remember } from "../lib/storage.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/transfers.js";

/** @import { Id, Job, ReportItem } from "../lib/wire.d.ts" */
/** @import { Incoming } from "../model/transfers.js" */

/** What is remembered of one. `beside`: what the page itself has to add to its report; `isSeen`: it was opened. @typedef {{jobId: Id, name: string, kind: "session" | "copy" | "foreign", isDry?: boolean, isSeen?: boolean, beside?: ReportItem[]}} KeptJob */

/** Milliseconds: a small file is in at once, a large one is not looked at all the time. */
const LOOK_SOON = 20;
const LOOK_EVERY = 300;
/** The same, where nobody answers. */
const LOOK_LOST = 3000;

/**
 * Waits until a job is over.
 * @param {Id} jobId @param {(job: Omit<Job, "id">) => void} hear how far it is
 * @returns {Promise<NonNullable<Job["result"]>>} what came of it; why nothing did is thrown
 */
export async function over(jobId, hear) {
  for (let wait = LOOK_SOON; ; wait = Math.min(LOOK_EVERY, wait * 2)) {
    const job = await api.job(jobId).catch(whileOffline);
    if (job) {
      const { state, result, error } = job;
      if (state === "done" && result) return result;
      if (state !== "queued" && state !== "running") throw new ApiError(422, { ...error, details: { ...error?.details, state } });
      hear(job);
    }
    await new Promise((resolve) => setTimeout(resolve, job ? wait : LOOK_LOST));
  }
}

/** The file is on the server: a connection that is lost stops nothing, and tells nothing. @param {unknown} error */
function whileOffline(error) {
  if (error instanceof ApiError && error.status === 0) return null;
  throw error;
}

const KEY = "jobs";

/** @returns {KeptJob[]} */
export function keptJobs() {
  try {
    const kept = JSON.parse(recall(KEY) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

/** @param {KeptJob[]} jobs */
const keep = (jobs) => remember(KEY, jobs.length ? JSON.stringify(jobs) : null);

/** @param {KeptJob} job */
export const keepJob = (job) => keep([...keptJobs(), job]);

/** Its report was opened. @param {Id} jobId */
export const seeJob = (jobId) => keep(keptJobs().map((job) => (job.jobId === jobId ? { ...job, isSeen: true } : job)));

/** @param {Id | null | undefined} jobId */
export const forgetJob = (jobId) => keep(keptJobs().filter((job) => job.jobId !== jobId));

/** Ends a job that nobody wants any more; it says itself that it has ended. @param {Id} jobId */
export const cancel = (jobId) => void api.cancelJob(jobId).catch(() => {});

/** Whether it ended because whoever began it did not want it any more. @param {unknown} error */
export const wasUnwanted = (error) => (error instanceof DOMException ? error.name === "AbortError" : error instanceof ApiError && error.details.state === "cancelled");

/** Tells of a phase as it goes on. @param {Incoming["phase"]} phase @param {(changes: Partial<Incoming>) => void} put */
export function pace(phase, put) {
  const since = performance.now();
  /** @type {number | null} */
  let from = null;
  return (/** @type {number} */ done, /** @type {number} */ total) => put({ phase, way: { done, total, from: (from ??= done), since } });
}

/** What is on its way breaks off with the page: the browser asks before it leaves. @template T @param {() => Promise<T>} work */
export async function whileSending(work) {
  const ask = (/** @type {Event} */ event) => event.preventDefault();
  addEventListener("beforeunload", ask);
  try {
    return await work();
  } finally {
    removeEventListener("beforeunload", ask);
  }
}
