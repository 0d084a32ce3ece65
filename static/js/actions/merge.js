// Bringing over what happened on another timeline since the two parted.
import { openDialog, tell } from "../model/page.js";
import * as story from "../model/story.js";
import * as world from "../net/api.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/arrange.js";
import { stepped } from "../model/trail.js";
import { isLinear } from "../tree/line.js";
import { register } from "./commands.js";
import { attempt, wordsFor } from "./failure.js";
import { refresh, sid } from "./follow.js";
import { readArrangement, say } from "./stash.js";
import { navigate } from "./travel.js";

/** @import { Conflict, Id, Json, TreeEdit } from "../lib/wire.d.ts" */

/** `theirs` and `ours`: the value on each line; undefined: there is none, or it is no variable. @typedef {{path: string, theirs: Json | undefined, ours: Json | undefined}} Choice */

/**
 * Brings it over to where the story stands.
 * @param {Id} fromLeafId
 * @param {Id[]} nodeIds the messages that come along; empty: only what happened
 * @param {{[path: string]: Json}} resolve
 * @returns {Promise<Conflict[] | null>} what has to be chosen first; null: nothing
 */
export async function merge(fromLeafId, nodeIds, resolve) {
  const [id, ontoLeafId] = [sid(), story.head.peek()];
  if (!ontoLeafId) return null;
  /** @type {TreeEdit} */
  const edit = { op: "merge", fromLeafId, ontoLeafId, ...(nodeIds.length > 0 && { nodeIds }), ...(Object.keys(resolve).length > 0 && { resolve }) };
  try {
    const made = await api.arrange(id, [edit]);
    stepped(made.op);
    openDialog(null);
    navigate(`/s/${id}`, true);
    story.leavePeek();
    await Promise.all([refresh(), readArrangement()]);
    const end = made.nodeIds.at(-1);
    if (end && story.session.peek()?.id === id) story.pointAt(end);
    say(made, "notice.merged");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "conflict" && error.details.conflicts) return error.details.conflicts;
    tell({ tone: "error", ...wordsFor(error) });
  }
  return null;
}

/** The variables at the ends of both lines. @param {Id} theirs */
export async function readBoth(theirs) {
  const [id, ours] = [sid(), story.head.peek()];
  const both = ours && (await attempt(() => Promise.all([world.world(id, theirs), world.world(id, ours)])));
  return both ? { theirs: both[0].world.vars, ours: both[1].world.vars } : { theirs: {}, ours: {} };
}

/** @param {Id} from the end of the other line */
export const askMerge = (from) => openDialog({ kind: "merge", from });

register({
  id: "message.merge",
  label: "command.merge",
  icon: "merge",
  scope: "message",
  rearranges: true,
  enabled: ({ node }) => node?.status === "complete" && story.peek.value !== null && story.head.value !== null && !isLinear.value,
  run: () => {
    const from = story.peek.peek();
    if (from) askMerge(from);
  },
});
