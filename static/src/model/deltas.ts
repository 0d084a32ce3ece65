// What each message did to the world, as far as the page has asked: one question tells of a whole line.
import { signal } from "../../vendor/preact.js";
import { peekNode } from "./story.ts";
import type { Delta, Id, NodeDelta } from "../lib/wire.d.ts";

/** A message that hangs elsewhere may do something else there: what is known of it holds under this parent only. */
interface Told {
  parentId: Id | null;
  age: number;
  delta: Delta | null;
}

const told = signal<Map<Id, Told>>(new Map());

/** Grows when what is known may no longer be so: it stays on screen until the answer is here. */
export const age = signal(0);

/** null: it did nothing, or nobody knows yet. */
export const deltaOf = (id: Id): Delta | null => told.value.get(id)?.delta ?? null;

/** All that is known, of whatever message. */
export const everyDelta = () => [...told.value.values()].flatMap(({ delta }) => delta ?? []);

/** Which of these messages have to be asked for. */
export const untold = (ids: Id[]) =>
  ids.filter((id) => {
    const node = peekNode(id);
    const known = told.peek().get(id);
    return node?.status === "complete" && !(known?.parentId === node.parentId && known.age === age.peek());
  });

/**
 * @param asked those that are not among the items did nothing
 * @param at the age in which they were asked for
 */
export function putDeltas(asked: Id[], items: NodeDelta[], at: number) {
  const next = new Map(told.peek());
  const found = new Map(items.map((item) => [item.nodeId, item]));
  for (const id of asked)
    next.set(id, { parentId: peekNode(id)?.parentId ?? null, age: at, delta: found.get(id) ?? null });
  told.value = next;
}

export function doubtDeltas() {
  age.value += 1;
}

export function dropDeltas() {
  if (told.peek().size > 0) told.value = new Map();
}
