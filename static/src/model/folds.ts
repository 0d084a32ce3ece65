// Summaries whose messages are shown.
import { signal } from "../../vendor/preact.js";
import type { Id } from "../lib/wire.d.ts";

export const unfolded = signal<ReadonlySet<Id>>(new Set());

export function fold(summary: Id, open: boolean) {
  const others = [...unfolded.peek()].filter((id) => id !== summary);
  unfolded.value = new Set(open ? [...others, summary] : others);
}
