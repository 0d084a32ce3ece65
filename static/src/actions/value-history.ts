// The history of a value of the state: the messages of the branch that changed it, newest first.
import { causesOf, inputCausesOf } from "../lib/causes.ts";
import { valueAt } from "../lib/text.ts";
import * as store from "../model/session-store.ts";
import { isNotNull, rows, visibleChange, visibleOperation } from "../model/world.ts";
import { readNode } from "../net/api.ts";
import { deltaPage } from "../net/value-history.ts";
import type { Cause } from "../lib/causes.ts";
import type { Change, ChatNode, Id, NodeDelta } from "../lib/wire.d.ts";

/** Number of messages per request. */
const PAGE_SIZE = 200;
/** Number of changes to collect before the user is asked whether to search further. */
const ENOUGH_CHANGES = 8;

/** A message that changed the value. `causes`: operations on the value itself, or on the values it is computed from. */
export interface ValueEvent {
  delta: NodeDelta;
  node: ChatNode | null;
  changes: Change[];
  causes: Cause[];
}

/** Part of the history of a value. `next`: cursor to older messages. */
export interface ValueHistory {
  events: ValueEvent[];
  next: Id | null;
}

const schemaOf = (path: string) => rows.peek().get(path)?.schema;

/** Returns the changes of a message at a path or below it. Of a change above the path, only the part at the path. */
function changesAt(delta: NodeDelta, path: string): Change[] {
  return (delta.changes ?? []).flatMap((change) => {
    if (change.path === path || change.path.startsWith(`${path}/`)) return [change];
    if (!path.startsWith(`${change.path}/`)) return [];
    const [before, after] = [change.before, change.after].map((value) =>
      valueAt(value, path.slice(change.path.length)),
    );
    if (JSON.stringify(before) === JSON.stringify(after)) return [];
    return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
  });
}

/** Returns nothing if the operation concerns hidden values. */
function visibleCause({ operation, run }: Cause): Cause[] {
  const seen = visibleOperation(operation);
  return seen ? [{ operation: seen, run }] : [];
}

/**
 * Reads the changes of a value, newest first.
 * @param before only older messages than this
 */
export async function readValueHistory(path: string, before: Id | null = null): Promise<ValueHistory> {
  const sid = store.session.peek()?.id ?? "";
  const leaf = store.stateNode() ?? "";
  const events: ValueEvent[] = [];
  let next = before;
  do {
    const page = await deltaPage(sid, { leaf, limit: PAGE_SIZE, ...(next && { before: next }) });
    for (const delta of page.items.reverse()) {
      // Players must not see hidden values here.
      const changes = changesAt(delta, path).map(visibleChange).filter(isNotNull);
      if (changes.length === 0) continue;
      const own = causesOf(delta, path);
      const node = store.peekNode(delta.nodeId) ?? (await readNode(sid, delta.nodeId).catch(() => null));
      events.push({
        delta,
        node,
        changes,
        causes: (own.length > 0 ? own : inputCausesOf(delta, path, schemaOf)).flatMap(visibleCause),
      });
    }
    next = page.next;
  } while (next && events.length < ENOUGH_CHANGES);
  return { events, next };
}
