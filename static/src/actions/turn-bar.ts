// Navigation to a turn of the branch, or to one of several alternatives.
import { focusMessage } from "../lib/focus.ts";
import { setOpenSiblings, openSiblings, setTurnBarShown, isTurnBarShown } from "../model/turn-bar.ts";
import * as store from "../model/session-store.ts";
import { isLinear, isTail } from "../tree/shown-branch.ts";
import { familyKey } from "../tree/turns.ts";
import { always, register, run } from "./commands.ts";
import { headMovesDone, moveHead } from "./session-sync.ts";
import type { ChatNode } from "../lib/wire.d.ts";
import type { Turn } from "../tree/turns.ts";

/**
 * Moves HEAD back or forward to the end of a turn, and scrolls there. If another move is running, this one wins.
 * @param isAhead whether the user went back from this turn
 */
export async function goToTurn({ first, last }: Turn, isAhead: boolean) {
  await headMovesDone();
  if (store.viewedLeaf.peek() !== null || isTail(last)) return store.scrollTo(first);
  if (isAhead) void moveHead(last, true);
  else run("message.goBack", store.peekNode(last));
  await headMovesDone();
  if (store.head.peek() === last) store.scrollToEnd();
}

const hasVersions = (node: ChatNode | null) =>
  node !== null && !isLinear.value && store.siblingsOf(node).value.length > 1;

/** Closes the list of alternatives and returns focus to the message. */
export function closeVersions(nid: string) {
  setOpenSiblings(null);
  focusMessage(nid);
}

register({
  id: "message.versions",
  label: "command.versions",
  icon: "between",
  scope: "message",
  keys: ["v"],
  inTree: always,
  enabled: ({ node }) => hasVersions(node),
  run: ({ node }) => node && setOpenSiblings(openSiblings.peek() === familyKey(node) ? null : familyKey(node)),
});

register({
  id: "versions.close",
  label: "versions.close",
  icon: "close",
  scope: "page",
  keys: ["Escape"],
  enabled: () => openSiblings.value !== null,
  run: () => setOpenSiblings(null),
});

register({
  id: "page.way",
  label: "command.way",
  icon: "onward",
  scope: "page",
  enabled: () => store.session.value !== null && !isLinear.value,
  run: () => setTurnBarShown(!isTurnBarShown.peek()),
});
