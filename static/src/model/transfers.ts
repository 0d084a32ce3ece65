// What comes in from files: stories, characters, and what other programs keep.
import { signal } from "../../vendor/preact.js";
import type { Data } from "../lib/folder.ts";
import type { Arrived, Id } from "../lib/wire.d.ts";

/**
 * How far a phase is, in bytes; `from`: how much was done at the moment `since`, in milliseconds of the page's clock.
 */
export interface Way {
  done: number;
  total: number;
  from: number;
  since: number;
}

/**
 * `fault`: why it failed, in words; `end`: what stops it; `arrived`: what came of what another program keeps, or would
 * come if it was only looked at; `jobId`: the work on the server that it waits for; `look`: what was brought, and how,
 * so that a look can be followed by the real thing; `isUnasked`: of one from before the page was loaded anew, nobody
 * knows yet whether it is not over long since.
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
 * What another program keeps, as it was given: one file, or the data of a folder, of one person or of several. `to`:
 * where a file goes that the server does not look at without keeping it.
 */
export interface Parcel {
  name: string;
  file: File | null;
  data: Data[];
  to?: "card" | "book" | "persona" | "preset" | "session";
}

/**
 * How parcels come in. `hours`: how far ahead of UTC the clock was that wrote dates without a zone; `home`: whose
 * data.
 */
export interface How {
  isDry: boolean;
  hours: number;
  home: string;
}

/** Those on their way, those that failed, and those with a report, in the order in which they were brought. */
export const incoming = signal<Incoming[]>([]);

let counted = 0;

/** A new one, which changes as it goes on. */
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

/** What waits for the answer how it is to come in. */
export const asked = signal<Parcel[]>([]);

export function askAbout(parcels: Parcel[]) {
  asked.value = parcels;
}
