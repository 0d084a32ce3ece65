// Summaries whose messages are shown.
import { signal } from "../../vendor/preact.js";
import type { Id } from "../lib/wire.d.ts";

export const openSummaries = signal<ReadonlySet<Id>>(new Set());

export function setSummaryOpen(summary: Id, open: boolean) {
  const others = [...openSummaries.peek()].filter((id) => id !== summary);
  openSummaries.value = new Set(open ? [...others, summary] : others);
}
