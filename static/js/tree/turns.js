// The line on screen as turns.
import { computed } from "../../vendor/preact.js";
import { peekNode } from "../model/story.js";
import { waySeen } from "../model/way.js";
import { isLinear, shown } from "./line.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */
/** `first`: what is answered; `last`: the end of its answer. @typedef {{first: Id, last: Id}} Turn */

/** A turn begins with what is answered; what stands before the first of these is a turn too. @param {Id[]} ids @returns {Turn[]} */
export function turnsOf(ids) {
  /** @type {Turn[]} */
  const turns = [];
  for (const id of ids) {
    const turn = turns.at(-1);
    if (turn && peekNode(id)?.role === "assistant") turn.last = id;
    else turns.push({ first: id, last: id });
  }
  return turns;
}

export const turns = computed(() => turnsOf(shown.value));

/** Whether the turns stand above the line: where one is all there is, nothing leads anywhere. @param {number} [ahead] so many one has gone back from */
export const leads = (ahead = 0) => !isLinear.value && waySeen.value && turns.value.length + ahead > 1;

/** What versions of one message have in common. @param {ChatNode} node */
export const familyKey = ({ parentId, role }) => `${parentId}/${role}`;
