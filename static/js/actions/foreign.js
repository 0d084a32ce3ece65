// What other programs keep: packed where it is a folder, sent, waited for, and reported.
import { dataIn, filesOf } from "../lib/folder.js";
import { t } from "../lib/i18n.js";
import { pack } from "../lib/zip.js";
import { dialog, openDialog, route, tell } from "../model/page.js";
import { addIncoming, askAbout, dropIncoming, incoming } from "../model/transfers.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/transfers.js";
import { wordsFor } from "./failure.js";
import { cancel, forgetJob, keepJob, over, pace, seeJob, wasUnwanted, whileSending } from "./jobs.js";
import { readLibrary } from "./library.js";

/** @import { Data } from "../lib/folder.js" */
/** @import { Arrived, ReportItem, Totals } from "../lib/wire.d.ts" */
/** @import { Part } from "../lib/zip.js" */
/** @import { How, Parcel } from "../model/transfers.js" */
/** @import { KeptJob } from "./jobs.js" */

/** @typedef {ReturnType<typeof addIncoming>} Row */

/** Asks how some files are to come in, those of a folder too. @param {Parcel[]} parcels */
export function ask(parcels) {
  askAbout(parcels);
  openDialog({ kind: "bring" });
}

/** A folder, as it was given. @param {string | null} name that of its first step unless named @param {File[] | Part[]} files @returns {Parcel[]} */
export function folderParcel(name, files) {
  const parts = files.map((file) => ("path" in file ? file : filesOf([file]))).flat();
  if (parts.length > 0) return [{ name: name ?? parts[0]?.path.split("/")[0] ?? "", file: null, data: dataIn(parts) }];
  tell({ tone: "error", text: t("bring.emptyFolder") });
  return [];
}

const NONE = { characters: 0, personas: 0, sessions: 0, messages: 0, chats: 0, unchanged: 0, skipped: 0 };

/** Brings parcels in, one after the other, with one report of all. What cannot be looked at is only named by a look. @param {Parcel[]} all @param {How} how */
export async function bringForeign(all, how) {
  const parcels = all.filter(({ to }) => !to);
  const others = how.isDry ? all.filter(({ to }) => to) : [];
  const [only, second] = [...parcels, ...others];
  if (!only) return;
  const name = second ? t("bring.several", { n: parcels.length + others.length }) : only.name;
  const row = addIncoming({ name, phase: "waiting", isDry: how.isDry, look: { parcels: all, how } });
  await orFault(row, async () => {
    const told = others.length > 0 ? [unlooked(others)] : [];
    for (const parcel of parcels) told.push(await bring(parcel, how, row).catch((error) => (second ? notIn(parcel, error) : Promise.reject(error))));
    await done(row, told.reduce(together), { isKept: !second });
  });
}

const KINDS = { card: "character", book: "lorebook", persona: "persona", preset: "preset", session: "session" };

/** What would be sent. @param {Parcel[]} parcels @returns {Arrived} */
function unlooked(parcels) {
  const items = parcels.map(({ name, to = "card" }) => {
    const item = besideReport(name, "would_send", 1);
    return { ...item, kind: KINDS[to], fate: /** @type {const} */ ("works"), findings: item.findings.map((finding) => ({ ...finding, fate: /** @type {const} */ ("works") })) };
  });
  return { totals: { ...NONE, unlooked: parcels.length }, report: { items } };
}

/** One of several that did not come in is told of beside the others. @param {Parcel} parcel @param {unknown} error @returns {Arrived} */
function notIn({ name }, error) {
  if (!(error instanceof ApiError) || error.status === 0 || wasUnwanted(error)) throw error;
  const { text, hint } = wordsFor(error);
  const item = besideReport(name, "not_in", 1, `${text} ${hint}`.trim());
  return { totals: { ...NONE, skipped: 1 }, report: { items: [item] } };
}

/** @param {Arrived} one @param {Arrived} other @returns {Arrived} */
function together(one, other) {
  /** @type {Totals} */
  const totals = { ...other.totals, ...one.totals };
  for (const key of /** @type {(keyof Totals)[]} */ (Object.keys(totals))) totals[key] = (one.totals[key] ?? 0) + (other.totals[key] ?? 0);
  return { totals, report: { items: [...one.report.items, ...other.report.items] } };
}

/** @param {Parcel} parcel @param {How} how @param {Row} row */
async function bring(parcel, how, row) {
  const stop = new AbortController();
  row.put({ end: () => stop.abort() });
  const { file, beside } = await fileOf(parcel, how.home, row, stop.signal);
  const sending = pace("sending", row.put);
  const name = parcel.file ? parcel.name : `${parcel.name}.zip`;
  const sent = (/** @type {number} */ bytes) => sending(bytes, file.size);
  const { jobId } = await whileSending(() => api.sendForeign(file, { name, dryRun: how.isDry, utcOffset: how.hours }, { sent, signal: stop.signal }));
  const kept = { jobId, name: parcel.name, kind: /** @type {const} */ ("foreign"), isDry: how.isDry, beside };
  keepJob(kept);
  return came(kept, row);
}

/** What is sent of a parcel, and what its report has to say of the rest. @param {Parcel} parcel @param {string} home @param {Row} row @param {AbortSignal} signal */
async function fileOf({ file, data }, home, row, signal) {
  if (file) return { file, beside: [] };
  const chosen = data.find((one) => one.home === home) ?? /** @type {Data} */ (data[0]);
  const packing = pace("packing", row.put);
  const below = (/** @type {Part} */ { path, file }) => ({ path: path.slice(chosen.home.length), file });
  const { archive, unread } = await pack(chosen.parts.map(below), (bytes) => packing(bytes, chosen.bytes), signal);
  const left = unread.map((path) => besideReport(path, "unread_here", 1));
  const places = [...new Set(chosen.aside.map((part) => below(part).path.split("/")[0]))].sort().join(", ");
  return { file: archive, beside: chosen.aside.length ? [...left, besideReport(places, "stays_there", chosen.aside.length)] : left };
}

/** @param {string} name @param {string} code @param {number} count @param {string} [message] @returns {ReportItem} */
const besideReport = (name, code, count, message = code) => ({ kind: "file", name, file: null, id: null, fate: "skipped", findings: [{ fate: "skipped", code, line: null, count, message }] });

/** Waits for what the server is reading. @param {KeptJob} kept @param {Row} row @returns {Promise<Arrived>} */
async function came({ jobId, beside = [] }, row) {
  row.put({ jobId, phase: "waiting", way: null, end: () => cancel(jobId) });
  const reading = pace("reading", row.put);
  try {
    const { report } = await over(jobId, ({ state, done, total }) => {
      row.put({ isUnasked: false });
      if (state === "running") reading(done, total);
      else row.put({ phase: "waiting", way: null });
    });
    if (!report) throw new ApiError(404, {});
    return { ...report, report: { items: [...report.report.items, ...beside] } };
  } catch (error) {
    forgetJob(jobId);
    throw error;
  }
}

/** Shows what became of it. @param {Row} row @param {Arrived} arrived @param {{isKept: boolean, isSeen?: boolean}} how whether the page loaded anew asks for it again, and whether its report was seen before */
async function done({ n, put }, arrived, { isKept, isSeen = false }) {
  if (!isKept) forgetJob(rowOf(n)?.jobId);
  put({ phase: "done", way: null, end: null, arrived, isUnasked: false });
  if (!rowOf(n)?.isDry) await readLibrary();
  if (isSeen) return;
  if (dialog.peek() === null && route.peek().page === "library") openReport(n);
  else tell({ tone: "quiet", stays: true, text: t("bring.done", { name: nameOf(n) }), act: { label: "report.open", run: () => openReport(n) } });
}

const rowOf = (/** @type {number} */ n) => incoming.peek().find((one) => one.n === n);
const nameOf = (/** @type {number} */ n) => rowOf(n)?.name ?? "";

/** Shows what became of one that has come. @param {number} n */
export function openReport(n) {
  const row = rowOf(n);
  if (!row?.arrived) return;
  if (row.jobId) seeJob(row.jobId);
  openDialog({ kind: "report", report: row.arrived.report, characterId: null, n });
}

/** Whoever has read what there was to say does not need it any more. @param {number} n */
export function putAway(n) {
  forgetJob(rowOf(n)?.jobId);
  dropIncoming(n);
}

/** The same of all that have come. */
export const putAllAway = () => incoming.peek().forEach(({ n, arrived }) => arrived && putAway(n));

/** Goes on waiting for one of before. @param {KeptJob} kept */
export async function goOnForeign(kept) {
  const row = addIncoming({ name: kept.name, phase: "waiting", isDry: kept.isDry ?? false, jobId: kept.jobId, isUnasked: true });
  await orFault(row, async () => done(row, await came(kept, row), { isKept: true, isSeen: kept.isSeen ?? false }));
}

/** @param {Row} row @param {() => Promise<void>} work */
async function orFault(row, work) {
  try {
    await work();
  } catch (error) {
    const isStopped = error instanceof DOMException && wasUnwanted(error);
    const isForgotten = error instanceof ApiError && error.status === 404;
    if (isStopped || isForgotten) return dropIncoming(row.n);
    if (!(error instanceof ApiError)) throw error;
    const { state } = error.details;
    const words = wasUnwanted(error) ? { text: t("bring.cancelled"), hint: "" } : wordsFor(error);
    row.put({ phase: "failed", way: null, end: null, isUnasked: false, fault: { ...words, isEmpty: !state || error.code === "invalid" || rowOf(row.n)?.isDry === true } });
  }
}
