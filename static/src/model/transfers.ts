// Imports: stories, characters, and data of other programs.
import { signal } from "../../vendor/preact.js";
import type { UserData } from "../lib/import-folder.ts";
import type { Arrived, Id } from "../lib/wire.d.ts";

/** The progress of a phase in bytes. `from`: bytes done at the time `since`, in milliseconds of the page's clock. */
export interface Way {
  done: number;
  total: number;
  from: number;
  since: number;
}

/**
 * An import. `fault`: why it failed; `end`: cancels it; `arrived`: the result, or the expected result of a dry run.
 * `jobId`: its job on the server; `look`: the input of a dry run, so that the real import can follow. `isUnasked`: it
 * was started before a reload, and its state is not known yet.
 */
export interface Incoming {
  n: number;
  name: string;
  phase: "packing" | "sending" | "waiting" | "reading" | "failed" | "done";
  way?: Way | null;
  fault?: { text: string; hint: string; isEmpty?: boolean } | null;
  end?: (() => void) | null;
  arrived?: Arrived | null;
  isDry?: boolean;
  look?: { parcels: Parcel[]; how: How };
  jobId?: Id | null;
  isUnasked?: boolean;
}

/**
 * Data of another program: one file, or a folder with the data of one or more users. `to`: the importer of a file that
 * the server cannot check without keeping it.
 */
export interface Parcel {
  name: string;
  file: File | null;
  data: UserData[];
  to?: "card" | "book" | "persona" | "preset" | "session";
}

/**
 * How to import parcels. `hours`: offset from UTC in hours, for dates without a time zone; `home`: whose data in a
 * folder.
 */
export interface How {
  isDry: boolean;
  hours: number;
  home: string;
}

/** Imports that are running, failed, or have a report, in the order of their start. */
export const incoming = signal<Incoming[]>([]);

let counted = 0;

/** Adds an import. `put` changes it later. */
export function addIncoming(first: Omit<Incoming, "n">): { n: number; put: (changes: Partial<Incoming>) => void } {
  const n = ++counted;
  incoming.value = [...incoming.peek(), { n, ...first }];
  return {
    n,
    put: (changes) => (incoming.value = incoming.peek().map((one) => (one.n === n ? { ...one, ...changes } : one))),
  };
}

export function dropIncoming(n: number) {
  incoming.value = incoming.peek().filter((one) => one.n !== n);
}

/** Parcels that wait until the user chooses how to import them. */
export const asked = signal<Parcel[]>([]);

export function askAbout(parcels: Parcel[]) {
  asked.value = parcels;
}
