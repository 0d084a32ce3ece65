// How a value of the world came to be: the messages of the line that changed it, the newest first.
import { causesOf, rootsOf } from "../lib/causes.js";
import { valueAt } from "../lib/text.js";
import * as story from "../model/story.js";
import { isThere, rows, seenOf, seenOperation } from "../model/world.js";
import { oneNode } from "../net/api.js";
import { deltaPage } from "../net/history.js";

/** @import { Cause } from "../lib/causes.js" */
/** @import { Change, ChatNode, Id, NodeDelta } from "../lib/wire.d.ts" */

/** So many messages are looked at in one question. */
const PAGE = 200;
/** So many changes are wanted before it is asked whether to look further. */
const ENOUGH = 8;

/** `causes`: what was done to the value itself, or to what it is computed from. @typedef {{delta: NodeDelta, node: ChatNode | null, changes: Change[], causes: Cause[]}} Event */
/** `next`: leads further back. @typedef {{events: Event[], next: Id | null}} History */

/** @param {string} path */
const schemaOf = (path) => rows.peek().get(path)?.schema;

/** What a message changed at a place or inside it; of a change around it, what of that is there. @param {NodeDelta} delta @param {string} path @returns {Change[]} */
function changesAt(delta, path) {
  return (delta.changes ?? []).flatMap((change) => {
    if (change.path === path || change.path.startsWith(`${path}/`)) return [change];
    if (!path.startsWith(`${change.path}/`)) return [];
    const [before, after] = [change.before, change.after].map((value) => valueAt(value, path.slice(change.path.length)));
    if (JSON.stringify(before) === JSON.stringify(after)) return [];
    return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
  });
}

/** @param {Cause} cause @returns {Cause[]} none where it is about what the world hides */
function seenCause({ operation, run }) {
  const seen = seenOperation(operation);
  return seen ? [{ operation: seen, run }] : [];
}

/** @param {string} path @param {Id | null} [before] further back than this @returns {Promise<History>} */
export async function readHistory(path, before = null) {
  const sid = story.session.peek()?.id ?? "";
  const leaf = story.here() ?? "";
  /** @type {Event[]} */
  const events = [];
  let next = before;
  do {
    const page = await deltaPage(sid, { leaf, limit: PAGE, ...(next && { before: next }) });
    for (const delta of page.items.reverse()) {
      // No player learns here what the world hides.
      const changes = changesAt(delta, path).map(seenOf).filter(isThere);
      if (changes.length === 0) continue;
      const own = causesOf(delta, path);
      const node = story.peekNode(delta.nodeId) ?? (await oneNode(sid, delta.nodeId).catch(() => null));
      events.push({ delta, node, changes, causes: (own.length > 0 ? own : rootsOf(delta, path, schemaOf)).flatMap(seenCause) });
    }
    next = page.next;
  } while (next && events.length < ENOUGH);
  return { events, next };
}
