// Imports from files. Each file goes to its own import.
import { fileKind } from "../lib/file-kind.ts";
import { filePicker } from "../lib/file-picker.ts";
import { filesIn } from "../lib/import-folder.ts";
import { t, optionalText } from "../lib/i18n.ts";
import { sentence } from "../lib/text.ts";
import { sessions } from "../model/library.ts";
import { openDialog, notify } from "../model/page.ts";
import { addImport, removeImport, imports } from "../model/transfers.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/transfers.ts";
import { CARD_EXTENSIONS, importCards } from "./cards.ts";
import { register } from "./commands.ts";
import { errorText } from "./error-text.ts";
import {
  openImportOptions,
  importForeign,
  folderImportSource,
  resumeForeignImport,
  dismissImport,
} from "./foreign-import.ts";
import {
  cancelJob,
  forgetJob,
  storeJob,
  storedJobs,
  waitForJob,
  progressReporter,
  wasCancelled,
  warnBeforeLeaving,
} from "./jobs.ts";
import { readLibrary } from "./library.ts";
import { navigate } from "./navigation.ts";
import type { Id } from "../lib/wire.d.ts";
import type { ImportOptions, ImportRow, ImportSource } from "../model/transfers.ts";
import type { StoredJob } from "./jobs.ts";

/**
 * Imports files by their kind. Several files, and data of other programs, are sent only after one question about all.
 */
export const importFiles = async (files: File[]) => importOrAsk(await importSourcesOf(files));

/** Imports files that were chosen as cards. Files of unknown kind count as cards. */
async function importChosenCards(files: File[]) {
  const sources = await importSourcesOf(files);
  importOrAsk(sources.map((source) => ({ to: "card", ...source })));
}

function importOrAsk(sources: ImportSource[]) {
  if (sources.length === 1 && sources[0]?.to) void runImport(sources, { isDry: false, hours: 0, home: "" });
  else if (sources.length > 0) openImportOptions(sources.map(withoutKnownImporter));
}

/** Of several files, cards and lorebooks go through the import that detects duplicates and has one report for all. */
const withoutKnownImporter = ({ to, ...parcel }: ImportSource): ImportSource =>
  !to || to === "card" || to === "book" ? parcel : { ...parcel, to };

const importSourcesOf = (files: File[]): Promise<ImportSource[]> =>
  Promise.all(
    files.map(async (file) => {
      const to = await fileKind(file);
      return { name: file.name, file, data: [], ...(to !== "foreign" && { to }) };
    }),
  );

/** Runs the import, or a dry run, as the user answered. */
export async function runImport(sources: ImportSource[], how: ImportOptions) {
  const rest = importForeign(sources, how);
  if (!how.isDry) {
    const own = sources.flatMap(({ file, to }) => (file && to ? [{ file, to }] : []));
    void importCards(own.filter(({ to }) => to !== "session"));
    await importSessions(own.filter(({ to }) => to === "session").map(({ file }) => file));
  }
  await rest;
}

/** Runs the import after a dry run, with the same answers. */
export function importAfterDryRun({ n, dryRun }: ImportRow) {
  if (!dryRun) return;
  dismissImport(n);
  openDialog(null);
  void runImport(dryRun.parcels, { ...dryRun.how, isDry: false });
}

/** Imports dropped files and folders. The browser gives access to them only during the drop event. */
export async function importDropped(dropped: DataTransfer) {
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry?.() ?? null).filter((entry) => entry !== null);
  const files = [...dropped.files];
  const folders = entries.filter(({ isDirectory }) => isDirectory);
  const names = new Set(folders.map(({ name }) => name));
  const loose = files.filter(({ name }) => !names.has(name));
  if (folders.length === 0) return importFiles(loose);
  const found = await filesIn(folders).catch(() => null);
  if (!found) notify({ tone: "error", text: t("bring.unreadable") });
  const sources = [
    ...(found ? folderImportSource(folders.map(({ name }) => name).join(", "), found) : []),
    ...(await importSourcesOf(loose)),
  ];
  if (sources.length > 0) openImportOptions(sources.map(withoutKnownImporter));
}

/** Imports sessions, one after the other. */
async function importSessions(files: File[]) {
  const all = files.map((file) => ({ file, row: addImport({ name: file.name, phase: "waiting" }) }));
  for (const { file, row } of all) {
    await catchImportError(row, async () => {
      const sending = progressReporter("sending", row.put);
      const stop = new AbortController();
      row.put({ cancel: () => stop.abort() });
      const { jobId } = await warnBeforeLeaving(() =>
        api.sendSession(file, { sent: (bytes) => sending(bytes, file.size), signal: stop.signal }),
      );
      const job = { jobId, name: file.name, kind: "session" as const };
      storeJob(job);
      await waitForSessionImport(job, row);
    });
  }
}

/** Maximum length of the title in a copy's title, in characters. A whole title has at most 300. */
const MAX_TITLE = 280;

/** Copies a session. */
export async function copySession({ id, title }: { id: Id; title: string }) {
  const name = t("library.copyOf", { name: [...title].slice(0, MAX_TITLE).join("") });
  const row = addImport({ name, phase: "waiting" });
  await catchImportError(row, async () => {
    const job = { ...(await api.copySession(id, name)), name, kind: "copy" as const };
    storeJob(job);
    await waitForSessionImport(job, row);
  });
}

/** Waits for the job that imports or copies a session. */
async function waitForSessionImport({ jobId, name, kind }: StoredJob, row: ReturnType<typeof addImport>) {
  row.put({ jobId, phase: "waiting", progress: null, cancel: () => cancelJob(jobId) });
  const reading = progressReporter("reading", row.put);
  try {
    const { sessionId } = await waitForJob(jobId, ({ state, done, total }) => {
      row.put({ isUnasked: false });
      if (state === "running") reading(done, total);
      else row.put({ phase: "waiting", progress: null });
    });
    removeImport(row.n);
    await readLibrary();
    const title = sessions.peek().find(({ id }) => id === sessionId)?.title ?? name;
    const isCopy = sessions.peek().some(({ id, title: other }) => id !== sessionId && other === title);
    notify({
      tone: "quiet",
      text: t(kind === "copy" ? "notice.duplicated" : isCopy ? "notice.importedBeside" : "notice.imported", {
        name: title,
      }),
      action: { label: "notice.open", run: () => navigate(`/s/${sessionId}`) },
    });
  } finally {
    forgetJob(jobId);
  }
}

async function catchImportError(row: ReturnType<typeof addImport>, work: () => Promise<void>) {
  try {
    await work();
  } catch (error) {
    if (wasCancelled(error)) return removeImport(row.n);
    if (!(error instanceof ApiError)) throw error;
    row.put({ phase: "failed", isUnasked: false, failure: { ...importErrorText(error), isEmpty: true } });
  }
}

/** Returns the error text of an import. For a broken file, it names the line. */
function importErrorText(error: ApiError) {
  const { line, flaw, fault } = error.details;
  if (typeof line !== "number") return errorText(error);
  const own = optionalText(`import.flaw.${flaw}`);
  return {
    text: own || t("import.broken", { line }),
    hint: own ? t("import.line", { line }) : sentence(typeof fault === "string" ? fault : error.message),
  };
}

/** Waits again for the jobs from before a reload of the page. */
export function resumeJobs() {
  const known = new Set(imports.peek().map(({ jobId }) => jobId));
  for (const job of storedJobs().filter(({ jobId }) => !known.has(jobId))) {
    if (job.kind === "foreign") void resumeForeignImport(job);
    else {
      const row = addImport({ name: job.name, phase: "waiting", jobId: job.jobId, isUnasked: true });
      void catchImportError(row, () => waitForSessionImport(job, row));
    }
  }
}

function importFolder(files: File[]) {
  const sources = folderImportSource(null, files);
  if (sources.length > 0) openImportOptions(sources);
}

const pickers = {
  "page.importCard": {
    label: "command.importCard",
    choose: filePicker(importChosenCards, { accept: CARD_EXTENSIONS }),
  },
  "page.import": { label: "command.import", choose: filePicker(importFiles, { accept: ".clotho" }) },
  "page.importForeign": { label: "command.importForeign", choose: filePicker(importFiles, {}) },
  "page.importFolder": { label: "command.importFolder", choose: filePicker(importFolder, { folder: true }) },
} as const;

for (const [id, { label, choose }] of Object.entries(pickers)) {
  register({
    id,
    label,
    icon: "upload",
    scope: "page",
    run: () => {
      navigate("/");
      choose();
    },
  });
}
