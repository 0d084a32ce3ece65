// The branch as the user reads it. The messages of a summary are one entry until the user opens it.
import { computed } from "../../vendor/preact.js";
import { openSummaries } from "../model/summary-folds.ts";
import { nodeOf, olderCursor } from "../model/session-store.ts";
import { shownIds } from "./shown-branch.ts";
import type { Id } from "../lib/wire.d.ts";

/**
 * A run of messages that a later summary covers. `count`: their number; `hidden`: those that are hidden while it is
 * closed.
 */
export interface SummaryFold {
  key: string;
  summary: Id;
  isOpen: boolean;
  count: number;
  hidden: Id[];
}

/** `entries`: ids of messages and keys of folds, oldest first. */
interface FoldedBranch {
  entries: string[];
  folds: Map<string, SummaryFold>;
}

let before: FoldedBranch = { entries: [], folds: new Map() };

export const foldedBranch = computed(() => {
  const ids = shownIds.value;
  const next = foldBranch(ids);
  // An unchanged list keeps its identity, so that nothing is drawn again.
  if (next.folds.size === 0) next.entries = ids;
  else if (next.entries.join() === before.entries.join()) next.entries = before.entries;
  return (before = next);
});

/** Returns the closed fold that contains a message. */
export const closedFoldOf = (id: Id) =>
  [...foldedBranch.peek().folds.values()].find(({ hidden }) => hidden.includes(id)) ?? null;

/** Folds the branch from its end upwards, because a summary follows its messages. */
function foldBranch(ids: Id[]): FoldedBranch {
  /** The summary of each covered message. */
  const covers: Map<Id, Id> = new Map();
  /** The folds around the current message, the innermost last. */
  const around: SummaryFold[] = [];
  const { entries, folds }: FoldedBranch = { entries: [], folds: new Map() };
  const leave = (depth: number) => {
    for (const fold of around.splice(depth).reverse()) {
      folds.set(fold.key, fold);
      entries.push(fold.key);
    }
  };
  for (const id of [...ids].reverse()) {
    const node = nodeOf(id);
    const summary = node?.isEnabled === false ? covers.get(id) : undefined;
    const depth = around.findIndex((fold) => fold.summary === summary);
    if (summary === undefined || depth >= 0) leave(depth + 1);
    // A closed fold hides everything in it, even if other summaries cover it too.
    else if (around.at(-1)?.isOpen !== false)
      around.push({ key: `${summary}/${id}`, summary, isOpen: openSummaries.value.has(summary), count: 0, hidden: [] });
    for (const fold of around) fold.count += 1;
    const inner = around.at(-1);
    (inner && !inner.isOpen ? inner.hidden : entries).push(id);
    if (node?.kind === "summary" && (node.isEnabled !== false || summary))
      node.metadata?.summarizedFrom?.forEach((one) => covers.set(one, id));
  }
  const top = around[0];
  // Messages that are not loaded yet count too.
  if (top && olderCursor.value !== null)
    top.count = Math.max(top.count, nodeOf(top.summary)?.metadata?.summarizedFrom?.length ?? 0);
  leave(0);
  return { entries: entries.reverse(), folds };
}
