// Jobs of the server that the page waits for, also after a reload.
import { readStored, writeStored } from "../lib/storage.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/transfers.ts";
import type { Id, Job, ReportItem } from "../lib/wire.d.ts";
import type { ImportRow } from "../model/transfers.ts";

/** What is stored about a job. `beside`: report entries of the page itself; `isSeen`: its report was opened. */
export interface KeptJob {
  jobId: Id;
  name: string;
  kind: "session" | "copy" | "foreign";
  isDry?: boolean;
  isSeen?: boolean;
  beside?: ReportItem[];
}

/**
 * First and longest pause between two requests in milliseconds. Small files finish at once; large ones need fewer
 * requests.
 */
const LOOK_SOON = 20;
const LOOK_EVERY = 300;
/** Pause in milliseconds while the server does not answer. */
const LOOK_LOST = 3000;

/**
 * Waits until a job is done.
 * @param hear is called with its progress
 * @returns its result; throws if it failed
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

/** Ignores lost connections: the file is on the server, so the job goes on. */
function whileOffline(error: unknown) {
  if (error instanceof ApiError && error.status === 0) return null;
  throw error;
}

const KEY = "jobs";

export function keptJobs(): KeptJob[] {
  try {
    const kept = JSON.parse(readStored(KEY) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

const keep = (jobs: KeptJob[]) => writeStored(KEY, jobs.length ? JSON.stringify(jobs) : null);

export const keepJob = (job: KeptJob) => keep([...keptJobs(), job]);

/** Remembers that the report of a job was opened. */
export const seeJob = (jobId: Id) =>
  keep(keptJobs().map((job) => (job.jobId === jobId ? { ...job, isSeen: true } : job)));

export const forgetJob = (jobId: Id | null | undefined) => keep(keptJobs().filter((job) => job.jobId !== jobId));

/** Cancels a job. The job itself reports when it has ended. */
export const cancel = (jobId: Id) => void api.cancelJob(jobId).catch(() => {});

/** Returns whether work ended because the user cancelled it. */
export const wasUnwanted = (error: unknown) =>
  error instanceof DOMException
    ? error.name === "AbortError"
    : error instanceof ApiError && error.details.state === "cancelled";

/** Returns a function that reports the progress of a phase. */
export function pace(phase: ImportRow["phase"], put: (changes: Partial<ImportRow>) => void) {
  const since = performance.now();
  let from: number | null = null;
  return (done: number, total: number) => put({ phase, way: { done, total, from: (from ??= done), since } });
}

/** Runs an upload. Leaving the page would abort it, so the browser asks the user first. */
export async function whileSending<T>(work: () => Promise<T>) {
  const ask = (event: Event) => event.preventDefault();
  addEventListener("beforeunload", ask);
  try {
    return await work();
  } finally {
    removeEventListener("beforeunload", ask);
  }
}
