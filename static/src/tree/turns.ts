// The line on screen as turns.
import { computed } from "../../vendor/preact.js";
import { peekNode } from "../model/story.ts";
import { waySeen } from "../model/way.ts";
import { isLinear, shown } from "./line.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** `first`: what is answered; `last`: the end of its answer. */
export interface Turn {
  first: Id;
  last: Id;
}

/** A turn begins with what is answered; what stands before the first of these is a turn too. */
export function turnsOf(ids: Id[]): Turn[] {
  const turns: Turn[] = [];
  for (const id of ids) {
    const turn = turns.at(-1);
    if (turn && peekNode(id)?.role === "assistant") turn.last = id;
    else turns.push({ first: id, last: id });
  }
  return turns;
}

export const turns = computed(() => turnsOf(shown.value));

/**
 * Whether the turns stand above the line: where one is all there is, nothing leads anywhere.
 * @param ahead so many one has gone back from
 */
export const leads = (ahead: number = 0) => !isLinear.value && waySeen.value && turns.value.length + ahead > 1;

/** What versions of one message have in common. */
export const familyKey = ({ parentId, role }: ChatNode) => `${parentId}/${role}`;
