// The branch on screen as turns.
import { computed } from "../../vendor/preact.js";
import { peekNode } from "../model/session-store.ts";
import { isTurnBarShown } from "../model/turn-bar.ts";
import { isLinear, shownIds } from "./shown-branch.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** `first`: the message that is answered; `last`: the end of its answer. */
export interface Turn {
  first: Id;
  last: Id;
}

/**
 * Splits messages into turns. A turn begins with the message that is answered. Replies before the first of these are a
 * turn too.
 */
export function turnsOf(ids: Id[]): Turn[] {
  const turns: Turn[] = [];
  for (const id of ids) {
    const turn = turns.at(-1);
    if (turn && peekNode(id)?.role === "assistant") turn.last = id;
    else turns.push({ first: id, last: id });
  }
  return turns;
}

export const turns = computed(() => turnsOf(shownIds.value));

/**
 * Whether the turn bar is shown. With a single turn it would lead nowhere.
 * @param ahead the number of turns that the user has gone back
 */
export const hasTurnBar = (ahead: number = 0) =>
  !isLinear.value && isTurnBarShown.value && turns.value.length + ahead > 1;

/** Returns what the versions of one message have in common. */
export const familyKey = ({ parentId, role }: ChatNode) => `${parentId}/${role}`;
