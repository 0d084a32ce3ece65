// Jobs of the server that the page waits for, also after a reload.
import { readStored, writeStored } from "../lib/storage.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/transfers.ts";
import type { Id, Job, ReportItem } from "../lib/wire.d.ts";
import type { ImportRow } from "../model/transfers.ts";

/** What is stored about a job. `beside`: report entries of the page itself; `isSeen`: its report was opened. */
export interface StoredJob {
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
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 300;
/** Pause in milliseconds while the server does not answer. */
const OFFLINE_PAUSE = 3000;

/**
 * Waits until a job is done.
 * @param onProgress is called with its progress
 * @returns its result; throws if it failed
 */
export async function waitForJob(
  jobId: Id,
  onProgress: (job: Omit<Job, "id">) => void,
): Promise<NonNullable<Job["result"]>> {
  for (let wait = FIRST_PAUSE; ; wait = Math.min(LONGEST_PAUSE, wait * 2)) {
    const job = await api.job(jobId).catch(ignoreOffline);
    if (job) {
      const { state, result, error } = job;
      if (state === "done" && result) return result;
      if (state !== "queued" && state !== "running")
        throw new ApiError(422, { ...error, details: { ...error?.details, state } });
      onProgress(job);
    }
    await new Promise((resolve) => setTimeout(resolve, job ? wait : OFFLINE_PAUSE));
  }
}

/** Ignores lost connections: the file is on the server, so the job goes on. */
function ignoreOffline(error: unknown) {
  if (error instanceof ApiError && error.status === 0) return null;
  throw error;
}

const KEY = "jobs";

export function storedJobs(): StoredJob[] {
  try {
    const stored = JSON.parse(readStored(KEY) ?? "[]");
    return Array.isArray(stored) ? stored : [];
  } catch {
    return [];
  }
}

const storeJobs = (jobs: StoredJob[]) => writeStored(KEY, jobs.length ? JSON.stringify(jobs) : null);

export const storeJob = (job: StoredJob) => storeJobs([...storedJobs(), job]);

/** Remembers that the report of a job was opened. */
export const markJobReportOpened = (jobId: Id) =>
  storeJobs(storedJobs().map((job) => (job.jobId === jobId ? { ...job, isSeen: true } : job)));

export const forgetJob = (jobId: Id | null | undefined) => storeJobs(storedJobs().filter((job) => job.jobId !== jobId));

/** Cancels a job. The job itself reports when it has ended. */
export const cancelJob = (jobId: Id) => void api.cancelJob(jobId).catch(() => {});

/** Returns whether work ended because the user cancelled it. */
export const wasCancelled = (error: unknown) =>
  error instanceof DOMException
    ? error.name === "AbortError"
    : error instanceof ApiError && error.details.state === "cancelled";

/** Returns a function that reports the progress of a phase. */
export function progressReporter(phase: ImportRow["phase"], put: (changes: Partial<ImportRow>) => void) {
  const since = performance.now();
  let from: number | null = null;
  return (done: number, total: number) => put({ phase, progress: { done, total, from: (from ??= done), since } });
}

/** Runs an upload. Leaving the page would abort it, so the browser asks the user first. */
export async function warnBeforeLeaving<T>(work: () => Promise<T>) {
  const ask = (event: Event) => event.preventDefault();
  addEventListener("beforeunload", ask);
  try {
    return await work();
  } finally {
    removeEventListener("beforeunload", ask);
  }
}
