// Work of the server that the page waits for, also after it was loaded anew.
import { recall, remember } from "../lib/storage.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/transfers.ts";
import type { Id, Job, ReportItem } from "../lib/wire.d.ts";
import type { Incoming } from "../model/transfers.ts";

/** What is remembered of one. `beside`: what the page itself has to add to its report; `isSeen`: it was opened. */
export interface KeptJob {
  jobId: Id;
  name: string;
  kind: "session" | "copy" | "foreign";
  isDry?: boolean;
  isSeen?: boolean;
  beside?: ReportItem[];
}

/** Milliseconds: a small file is in at once, a large one is not looked at all the time. */
const LOOK_SOON = 20;
const LOOK_EVERY = 300;
/** The same, where nobody answers. */
const LOOK_LOST = 3000;

/**
 * Waits until a job is over.
 * @param hear how far it is
 * @returns what came of it; why nothing did is thrown
 */
export async function over(jobId: Id, hear: (job: Omit<Job, "id">) => void): Promise<NonNullable<Job["result"]>> {
  for (let wait = LOOK_SOON; ; wait = Math.min(LOOK_EVERY, wait * 2)) {
    const job = await api.job(jobId).catch(whileOffline);
    if (job) {
      const { state, result, error } = job;
      if (state === "done" && result) return result;
      if (state !== "queued" && state !== "running")
        throw new ApiError(422, { ...error, details: { ...error?.details, state } });
      hear(job);
    }
    await new Promise((resolve) => setTimeout(resolve, job ? wait : LOOK_LOST));
  }
}

/** The file is on the server: a connection that is lost stops nothing, and tells nothing. */
function whileOffline(error: unknown) {
  if (error instanceof ApiError && error.status === 0) return null;
  throw error;
}

const KEY = "jobs";

export function keptJobs(): KeptJob[] {
  try {
    const kept = JSON.parse(recall(KEY) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

const keep = (jobs: KeptJob[]) => remember(KEY, jobs.length ? JSON.stringify(jobs) : null);

export const keepJob = (job: KeptJob) => keep([...keptJobs(), job]);

/** Its report was opened. */
export const seeJob = (jobId: Id) =>
  keep(keptJobs().map((job) => (job.jobId === jobId ? { ...job, isSeen: true } : job)));

export const forgetJob = (jobId: Id | null | undefined) => keep(keptJobs().filter((job) => job.jobId !== jobId));

/** Ends a job that nobody wants any more; it says itself that it has ended. */
export const cancel = (jobId: Id) => void api.cancelJob(jobId).catch(() => {});

/** Whether it ended because whoever began it did not want it any more. */
export const wasUnwanted = (error: unknown) =>
  error instanceof DOMException
    ? error.name === "AbortError"
    : error instanceof ApiError && error.details.state === "cancelled";

/** Tells of a phase as it goes on. */
export function pace(phase: Incoming["phase"], put: (changes: Partial<Incoming>) => void) {
  const since = performance.now();
  let from: number | null = null;
  return (done: number, total: number) => put({ phase, way: { done, total, from: (from ??= done), since } });
}

/** What is on its way breaks off with the page: the browser asks before it leaves. */
export async function whileSending<T>(work: () => Promise<T>) {
  const ask = (event: Event) => event.preventDefault();
  addEventListener("beforeunload", ask);
  try {
    return await work();
  } finally {
    removeEventListener("beforeunload", ask);
  }
}
