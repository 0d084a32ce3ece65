// The line on screen as turns.
import { computed } from "../../vendor/preact.js";
import { peekNode } from "../model/story.js";
import { shown } from "./line.js";

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

/** What versions of one message have in common. @param {ChatNode} node */
export const familyKey = ({ parentId, role }) => `${parentId}/${role}`;
