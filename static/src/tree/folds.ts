// The line as it is read: what a summary stands for is one line of it until the reader opens that.
import { computed } from "../../vendor/preact.js";
import { unfolded } from "../model/folds.ts";
import { nodeOf, older } from "../model/story.ts";
import { shown } from "./line.ts";
import type { Id } from "../lib/wire.d.ts";

/**
 * Messages that follow each other and that a summary further down stands for: `count` of them, `hidden` while it is
 * closed.
 */
export interface Fold {
  key: string;
  summary: Id;
  isOpen: boolean;
  count: number;
  hidden: Id[];
}

/** `entries`: ids of messages and keys of folds, oldest first */
interface Folded {
  entries: string[];
  folds: Map<string, Fold>;
}

let before: Folded = { entries: [], folds: new Map() };

export const folded = computed(() => {
  const ids = shown.value;
  const next = foldUp(ids);
  // What is the same stays the same, so that nothing is drawn or moved for it.
  if (next.folds.size === 0) next.entries = ids;
  else if (next.entries.join() === before.entries.join()) next.entries = before.entries;
  return (before = next);
});

/** The closed fold that a message is in. */
export const foldAround = (id: Id) =>
  [...folded.peek().folds.values()].find(({ hidden }) => hidden.includes(id)) ?? null;

/** Goes the line up from its end: a summary comes before what it stands for. */
function foldUp(ids: Id[]): Folded {
  /** From messages to the summary that stands for them. */
  const covers: Map<Id, Id> = new Map();
  /** The folds that the way is in, the innermost last. */
  const around: Fold[] = [];
  const { entries, folds }: Folded = { entries: [], folds: new Map() };
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
    // What is in a closed fold is hidden with it, whoever else stands for it.
    else if (around.at(-1)?.isOpen !== false)
      around.push({ key: `${summary}/${id}`, summary, isOpen: unfolded.value.has(summary), count: 0, hidden: [] });
    for (const fold of around) fold.count += 1;
    const inner = around.at(-1);
    (inner && !inner.isOpen ? inner.hidden : entries).push(id);
    if (node?.kind === "summary" && (node.isEnabled !== false || summary))
      node.metadata?.summarizedFrom?.forEach((one) => covers.set(one, id));
  }
  const top = around[0];
  // What is not loaded yet belongs to it as well.
  if (top && older.value !== null)
    top.count = Math.max(top.count, nodeOf(top.summary)?.metadata?.summarizedFrom?.length ?? 0);
  leave(0);
  return { entries: entries.reverse(), folds };
}
