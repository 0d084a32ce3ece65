// Imports: stories, characters, and data of other programs.
import { signal } from "../../vendor/preact.js";
import type { UserData } from "../lib/import-folder.ts";
import type { ForeignImportResult, Id } from "../lib/wire.d.ts";

/** The progress of a phase in bytes. `from`: bytes done at the time `since`, in milliseconds of the page's clock. */
export interface PhaseProgress {
  done: number;
  total: number;
  from: number;
  since: number;
}

/**
 * An import. `failure`: why it failed; `cancel`: cancels it; `result`: the result, or the expected result of a dry run.
 * `jobId`: its job on the server; `dryRun`: the input of a dry run, so that the real import can follow. `isUnasked`: it
 * was started before a reload, and its state is not known yet.
 */
export interface ImportRow {
  n: number;
  name: string;
  phase: "packing" | "sending" | "waiting" | "reading" | "failed" | "done";
  progress?: PhaseProgress | null;
  failure?: { text: string; hint: string; isEmpty?: boolean } | null;
  cancel?: (() => void) | null;
  result?: ForeignImportResult | null;
  isDry?: boolean;
  dryRun?: { parcels: ImportSource[]; how: ImportOptions };
  jobId?: Id | null;
  isUnasked?: boolean;
}

/**
 * Data of another program: one file, or a folder with the data of one or more users. `to`: the importer of a file that
 * the server cannot check without keeping it.
 */
export interface ImportSource {
  name: string;
  file: File | null;
  data: UserData[];
  to?: "card" | "book" | "persona" | "preset" | "session";
}

/**
 * How to import parcels. `hours`: offset from UTC in hours, for dates without a time zone; `home`: whose data in a
 * folder.
 */
export interface ImportOptions {
  isDry: boolean;
  hours: number;
  home: string;
}

/** Imports that are running, failed, or have a report, in the order of their start. */
export const imports = signal<ImportRow[]>([]);

let importCount = 0;

/** Adds an import. `put` changes it later. */
export function addImport(first: Omit<ImportRow, "n">): { n: number; put: (changes: Partial<ImportRow>) => void } {
  const n = ++importCount;
  imports.value = [...imports.peek(), { n, ...first }];
  return {
    n,
    put: (changes) => (imports.value = imports.peek().map((one) => (one.n === n ? { ...one, ...changes } : one))),
  };
}

export function removeImport(n: number) {
  imports.value = imports.peek().filter((one) => one.n !== n);
}

/** Parcels that wait until the user chooses how to import them. */
export const pendingSources = signal<ImportSource[]>([]);

export function setPendingSources(sources: ImportSource[]) {
  pendingSources.value = sources;
}
