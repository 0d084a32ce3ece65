// The deltas of messages, as far as the page has loaded them. One request loads a whole branch.
import { signal } from "../../vendor/preact.js";
import { peekNode } from "./story.ts";
import type { Delta, Id, NodeDelta } from "../lib/wire.d.ts";

/** A loaded delta. It is only valid under this parent, because a moved message may have another effect. */
interface Told {
  parentId: Id | null;
  age: number;
  delta: Delta | null;
}

const told = signal<Map<Id, Told>>(new Map());

/** Grows when loaded deltas may be out of date. They stay on screen until the new ones arrive. */
export const age = signal(0);

/** Returns the delta of a message; `null` if it has none or is not loaded. */
export const deltaOf = (id: Id): Delta | null => told.value.get(id)?.delta ?? null;

/** Returns all loaded deltas. */
export const everyDelta = () => [...told.value.values()].flatMap(({ delta }) => delta ?? []);

/** Returns the messages whose deltas must be loaded. */
export const untold = (ids: Id[]) =>
  ids.filter((id) => {
    const node = peekNode(id);
    const known = told.peek().get(id);
    return node?.status === "complete" && !(known?.parentId === node.parentId && known.age === age.peek());
  });

/**
 * Stores loaded deltas.
 * @param asked the requested messages; those without an item have no delta
 * @param at the value of `age` at the request
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
