// What each message did to the world, as far as the page has asked: one question tells of a whole line.
import { signal } from "../../vendor/preact.js";
import { peekNode } from "./story.js";

/** @import { Delta, Id, NodeDelta } from "../lib/wire.d.ts" */

/** A message that hangs elsewhere may do something else there: what is known of it holds under this parent only. @typedef {{parentId: Id | null, age: number, delta: Delta | null}} Told */

const told = signal(/** @type {Map<Id, Told>} */ (new Map()));

/** Grows when what is known may no longer be so: it stays on screen until the answer is here. */
export const age = signal(0);

/** null: it did nothing, or nobody knows yet. @param {Id} id @returns {Delta | null} */
export const deltaOf = (id) => told.value.get(id)?.delta ?? null;

/** All that is known, of whatever message. */
export const everyDelta = () => [...told.value.values()].flatMap(({ delta }) => delta ?? []);

/** Which of these messages have to be asked for. @param {Id[]} ids */
export const untold = (ids) =>
  ids.filter((id) => {
    const node = peekNode(id);
    const known = told.peek().get(id);
    return node?.status === "complete" && !(known?.parentId === node.parentId && known.age === age.peek());
  });

/** @param {Id[]} asked those that are not among the items did nothing @param {NodeDelta[]} items @param {number} at the age in which they were asked for */
export function putDeltas(asked, items, at) {
  const next = new Map(told.peek());
  const found = new Map(items.map((item) => [item.nodeId, item]));
  for (const id of asked) next.set(id, { parentId: peekNode(id)?.parentId ?? null, age: at, delta: found.get(id) ?? null });
  told.value = next;
}

export function doubtDeltas() {
  age.value += 1;
}

export function dropDeltas() {
  if (told.peek().size > 0) told.value = new Map();
}
