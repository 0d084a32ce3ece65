// Imports data of other programs: packs folders, sends the data, waits for the job and shows its report.
import { dataIn, filesOf } from "../lib/import-folder.ts";
import { locale, t } from "../lib/i18n.ts";
import { packZip } from "../lib/zip.ts";
import { dialog, openDialog, route, notify } from "../model/page.ts";
import { addImport, setPendingSources, removeImport, imports } from "../model/transfers.ts";
import { ApiError } from "../net/api.ts";
import { withFileFault } from "../net/cards.ts";
import * as api from "../net/transfers.ts";
import { errorText } from "./error-text.ts";
import {
  cancelJob,
  forgetJob,
  storeJob,
  waitForJob,
  progressReporter,
  markJobReportOpened,
  wasCancelled,
  warnBeforeLeaving,
} from "./jobs.ts";
import { readLibrary } from "./library.ts";
import type { UserData } from "../lib/import-folder.ts";
import type { ForeignImportResult, ReportItem, Totals } from "../lib/wire.d.ts";
import type { ZipPart } from "../lib/zip.ts";
import type { ImportOptions, ImportSource } from "../model/transfers.ts";
import type { StoredJob } from "./jobs.ts";

type Row = ReturnType<typeof addImport>;

/** Opens the dialog with the options of an import of files or folders. */
export function openImportOptions(sources: ImportSource[]) {
  setPendingSources(sources);
  openDialog({ kind: "importOptions" });
}

/**
 * Returns the parcel for a folder.
 * @param name name of the folder; null: the first part of its paths
 */
export function folderImportSource(name: string | null, files: File[] | ZipPart[]): ImportSource[] {
  const parts = files.flatMap((file) => ("path" in file ? file : filesOf([file])));
  if (parts.length > 0) return [{ name: name ?? parts[0]?.path.split("/")[0] ?? "", file: null, data: dataIn(parts) }];
  notify({ tone: "error", text: t("bring.emptyFolder") });
  return [];
}

const NO_TOTALS: Totals = {
  characters: 0,
  lorebooks: 0,
  presets: 0,
  personas: 0,
  sessions: 0,
  messages: 0,
  chats: 0,
  unchanged: 0,
  known: 0,
  skipped: 0,
};

/**
 * Imports parcels one after the other, with one report for all. For files without a preview, a dry run only lists their
 * names.
 */
export async function importForeign(all: ImportSource[], how: ImportOptions) {
  const sources = all.filter(({ to }) => !to);
  const others = how.isDry ? all.filter(({ to }) => to) : [];
  const [only, second] = [...sources, ...others];
  if (!only) return;
  const name = second ? t("bring.several", { n: sources.length + others.length }) : only.name;
  const row = addImport({ name, phase: "waiting", isDry: how.isDry, dryRun: { parcels: all, how } });
  await catchImportError(row, async () => {
    const reports = others.length > 0 ? [noPreviewReport(others)] : [];
    for (const source of sources)
      reports.push(
        await sendImportSource(source, how, row).catch((error) =>
          second ? failedImportReport(source, error) : Promise.reject(error),
        ),
      );
    await finishImport(row, reports.reduce(mergeReports), { isKept: !second });
  });
}

const KINDS = { card: "character", book: "lorebook", persona: "persona", preset: "preset", session: "session" };

/** Returns the report about files that have no preview. */
function noPreviewReport(sources: ImportSource[]): ForeignImportResult {
  const items = sources.map(({ name, to = "card" }) => {
    const item = pageReportItem(name, "would_send", 1);
    return {
      ...item,
      kind: KINDS[to],
      fate: "works" as const,
      findings: item.findings.map((finding) => ({ ...finding, fate: "works" as const })),
    };
  });
  return { totals: { ...NO_TOTALS, unlooked: sources.length }, report: { items } };
}

/** Returns a report entry for a parcel that failed, if there are several parcels. */
function failedImportReport({ name }: ImportSource, error: unknown): ForeignImportResult {
  if (!(error instanceof ApiError) || error.status === 0 || wasCancelled(error)) throw error;
  const { text, hint } = errorText(error);
  const item = pageReportItem(name, "not_in", 1, `${text} ${hint}`.trim());
  return { totals: { ...NO_TOTALS, skipped: 1 }, report: { items: [item] } };
}

function mergeReports(one: ForeignImportResult, other: ForeignImportResult): ForeignImportResult {
  const totals: Totals = { ...other.totals, ...one.totals };
  for (const key of Object.keys(totals) as (keyof Totals)[])
    totals[key] = (one.totals[key] ?? 0) + (other.totals[key] ?? 0);
  return { totals, report: { items: [...one.report.items, ...other.report.items] } };
}

async function sendImportSource(source: ImportSource, how: ImportOptions, row: Row) {
  const stop = new AbortController();
  row.put({ cancel: () => stop.abort() });
  const { file, beside } = await archiveOf(source, how.home, row, stop.signal);
  const sending = progressReporter("sending", row.put);
  const name = source.file ? source.name : `${source.name}.zip`;
  const sent = (bytes: number) => sending(bytes, file.size);
  const { jobId } = await warnBeforeLeaving(() =>
    api.sendForeign(
      file,
      { name, dryRun: how.isDry, utcOffset: how.hours, language: locale.peek() },
      { sent, signal: stop.signal },
    ),
  );
  const job = { jobId, name: source.name, kind: "foreign" as const, isDry: how.isDry, beside };
  storeJob(job);
  return waitForForeignImport(job, row).catch(async (error) => {
    throw error instanceof ApiError && source.file ? await withFileFault(error, source.file) : error;
  });
}

/** Returns the file to send for a parcel, and report entries for everything that is not sent. */
async function archiveOf({ file, data }: ImportSource, home: string, row: Row, signal: AbortSignal) {
  if (file) return { file, beside: [] };
  const chosen = data.find((one) => one.home === home) ?? (data[0] as UserData);
  const packing = progressReporter("packing", row.put);
  const below = ({ path, file }: ZipPart) => ({ path: path.slice(chosen.home.length), file });
  const { archive, unread } = await packZip(chosen.parts.map(below), (bytes) => packing(bytes, chosen.bytes), signal);
  const left = unread.map((path) => pageReportItem(path, "unread_here", 1));
  const places = [...new Set(chosen.skipped.map((part) => below(part).path.split("/")[0]))].sort().join(", ");
  return {
    file: archive,
    beside: chosen.skipped.length ? [...left, pageReportItem(places, "stays_there", chosen.skipped.length)] : left,
  };
}

const pageReportItem = (name: string, code: string, count: number, message: string = code): ReportItem => ({
  kind: "file",
  name,
  file: null,
  id: null,
  fate: "skipped",
  findings: [{ fate: "skipped", code, line: null, count, message }],
});

/** Waits for the import job of the server. */
async function waitForForeignImport({ jobId, beside = [] }: StoredJob, row: Row): Promise<ForeignImportResult> {
  row.put({ jobId, phase: "waiting", progress: null, cancel: () => cancelJob(jobId) });
  const reading = progressReporter("reading", row.put);
  try {
    const { report } = await waitForJob(jobId, ({ state, done, total }) => {
      row.put({ isUnasked: false });
      if (state === "running") reading(done, total);
      else row.put({ phase: "waiting", progress: null });
    });
    if (!report) throw new ApiError(404, {});
    return { ...report, report: { items: [...report.report.items, ...beside] } };
  } catch (error) {
    forgetJob(jobId);
    throw error;
  }
}

/**
 * Shows the result of an import.
 * @param how `isKept`: the page asks for the job again after a reload; `isSeen`: its report was opened before
 */
async function finishImport(
  { n, put }: Row,
  arrived: ForeignImportResult,
  { isKept, isSeen = false }: { isKept: boolean; isSeen?: boolean },
) {
  if (!isKept) forgetJob(rowOf(n)?.jobId);
  put({ phase: "done", progress: null, cancel: null, result: arrived, isUnasked: false });
  if (!rowOf(n)?.isDry) await readLibrary();
  if (isSeen) return;
  if (dialog.peek() === null && route.peek().page === "library") openReport(n);
  else
    notify({
      tone: "quiet",
      stays: true,
      text: t("bring.done", { name: nameOf(n) }),
      action: { label: "report.open", run: () => openReport(n) },
    });
}

const rowOf = (n: number) => imports.peek().find((one) => one.n === n);
const nameOf = (n: number) => rowOf(n)?.name ?? "";

/** Opens the report of a finished import. */
export function openReport(n: number) {
  const row = rowOf(n);
  if (!row?.result) return;
  if (row.jobId) markJobReportOpened(row.jobId);
  openDialog({ kind: "report", report: row.result.report, characterId: null, n });
}

/** Removes an import from the list after the user has read its report. */
export function dismissImport(n: number) {
  forgetJob(rowOf(n)?.jobId);
  removeImport(n);
}

/** Removes all finished imports from the list. */
export const dismissAllImports = () => imports.peek().forEach(({ n, result }) => result && dismissImport(n));

/** Waits again for a job that was started before the page was reloaded. */
export async function resumeForeignImport(job: StoredJob) {
  const row = addImport({
    name: job.name,
    phase: "waiting",
    isDry: job.isDry ?? false,
    jobId: job.jobId,
    isUnasked: true,
  });
  await catchImportError(row, async () =>
    finishImport(row, await waitForForeignImport(job, row), { isKept: true, isSeen: job.isSeen ?? false }),
  );
}

async function catchImportError(row: Row, work: () => Promise<void>) {
  try {
    await work();
  } catch (error) {
    const isStopped = error instanceof DOMException && wasCancelled(error);
    const isForgotten = error instanceof ApiError && error.status === 404;
    if (isStopped || isForgotten) return removeImport(row.n);
    if (!(error instanceof ApiError)) throw error;
    const { state } = error.details;
    const words = wasCancelled(error) ? { text: t("bring.cancelled"), hint: "" } : errorText(error);
    row.put({
      phase: "failed",
      progress: null,
      cancel: null,
      isUnasked: false,
      failure: { ...words, isEmpty: !state || error.code === "invalid" || rowOf(row.n)?.isDry === true },
    });
  }
}
