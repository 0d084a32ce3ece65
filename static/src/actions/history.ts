// How a value of the world came to be: the messages of the line that changed it, the newest first.
import { causesOf, rootsOf } from "../lib/causes.ts";
import { valueAt } from "../lib/text.ts";
import * as story from "../model/story.ts";
import { isThere, rows, seenOf, seenOperation } from "../model/world.ts";
import { oneNode } from "../net/api.ts";
import { deltaPage } from "../net/history.ts";
import type { Cause } from "../lib/causes.ts";
import type { Change, ChatNode, Id, NodeDelta } from "../lib/wire.d.ts";

/** So many messages are looked at in one question. */
const PAGE = 200;
/** So many changes are wanted before it is asked whether to look further. */
const ENOUGH = 8;

/** `causes`: what was done to the value itself, or to what it is computed from. */
export interface Event {
  delta: NodeDelta;
  node: ChatNode | null;
  changes: Change[];
  causes: Cause[];
}

/** `next`: leads further back. */
export interface History {
  events: Event[];
  next: Id | null;
}

const schemaOf = (path: string) => rows.peek().get(path)?.schema;

/** What a message changed at a place or inside it; of a change around it, what of that is there. */
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

/** @returns none where it is about what the world hides */
function seenCause({ operation, run }: Cause): Cause[] {
  const seen = seenOperation(operation);
  return seen ? [{ operation: seen, run }] : [];
}

/** @param before further back than this */
export async function readHistory(path: string, before: Id | null = null): Promise<History> {
  const sid = story.session.peek()?.id ?? "";
  const leaf = story.here() ?? "";
  const events: Event[] = [];
  let next = before;
  do {
    const page = await deltaPage(sid, { leaf, limit: PAGE, ...(next && { before: next }) });
    for (const delta of page.items.reverse()) {
      // No player learns here what the world hides.
      const changes = changesAt(delta, path).map(seenOf).filter(isThere);
      if (changes.length === 0) continue;
      const own = causesOf(delta, path);
      const node = story.peekNode(delta.nodeId) ?? (await oneNode(sid, delta.nodeId).catch(() => null));
      events.push({
        delta,
        node,
        changes,
        causes: (own.length > 0 ? own : rootsOf(delta, path, schemaOf)).flatMap(seenCause),
      });
    }
    next = page.next;
  } while (next && events.length < ENOUGH);
  return { events, next };
}
