// Navigation to a turn of the branch, or to one of several alternatives.
import { focusMessage } from "../lib/focus.ts";
import { fanOut, fanned, showWay, waySeen } from "../model/way.ts";
import * as story from "../model/story.ts";
import { isLinear, isTail } from "../tree/line.ts";
import { familyKey } from "../tree/turns.ts";
import { always, register, run } from "./commands.ts";
import { arrival, visit } from "./follow.ts";
import type { ChatNode } from "../lib/wire.d.ts";
import type { Turn } from "../tree/turns.ts";

/**
 * Moves HEAD back or forward to the end of a turn, and scrolls there. If another move is running, this one wins.
 * @param isAhead whether the user went back from this turn
 */
export async function goToTurn({ first, last }: Turn, isAhead: boolean) {
  await arrival();
  if (story.peek.peek() !== null || isTail(last)) return story.pointAt(first);
  if (isAhead) void visit(last, true);
  else run("message.goBack", story.peekNode(last));
  await arrival();
  if (story.head.peek() === last) story.showEnd();
}

const hasVersions = (node: ChatNode | null) =>
  node !== null && !isLinear.value && story.familyOf(node).value.length > 1;

/** Closes the list of alternatives and returns focus to the message. */
export function putVersionsAway(nid: string) {
  fanOut(null);
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
  run: ({ node }) => node && fanOut(fanned.peek() === familyKey(node) ? null : familyKey(node)),
});

register({
  id: "versions.close",
  label: "versions.close",
  icon: "close",
  scope: "page",
  keys: ["Escape"],
  enabled: () => fanned.value !== null,
  run: () => fanOut(null),
});

register({
  id: "page.way",
  label: "command.way",
  icon: "onward",
  scope: "page",
  enabled: () => story.session.value !== null && !isLinear.value,
  run: () => showWay(!waySeen.peek()),
});
