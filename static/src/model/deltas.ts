// The deltas of messages, as far as the page has loaded them. One request loads a whole branch.
import { signal } from "../../vendor/preact.js";
import { peekNode } from "./session-store.ts";
import type { Delta, Id, NodeDelta } from "../lib/wire.d.ts";

/** A loaded delta. It is only valid under this parent, because a moved message may have another effect. */
interface LoadedDelta {
  parentId: Id | null;
  version: number;
  delta: Delta | null;
}

const loadedDeltas = signal<Map<Id, LoadedDelta>>(new Map());

/** Grows when loaded deltas may be out of date. They stay on screen until the new ones arrive. */
export const deltasVersion = signal(0);

/** Returns the delta of a message; `null` if it has none or is not loaded. */
export const deltaOf = (id: Id): Delta | null => loadedDeltas.value.get(id)?.delta ?? null;

/** Returns all loaded deltas. */
export const allDeltas = () => [...loadedDeltas.value.values()].flatMap(({ delta }) => delta ?? []);

/** Returns the messages whose deltas must be loaded. */
export const missingDeltas = (ids: Id[]) =>
  ids.filter((id) => {
    const node = peekNode(id);
    const known = loadedDeltas.peek().get(id);
    return (
      node?.status === "complete" && !(known?.parentId === node.parentId && known.version === deltasVersion.peek())
    );
  });

/**
 * Stores loaded deltas.
 * @param asked the requested messages; those without an item have no delta
 * @param at the value of `deltasVersion` at the request
 */
export function setDeltas(asked: Id[], items: NodeDelta[], at: number) {
  const next = new Map(loadedDeltas.peek());
  const found = new Map(items.map((item) => [item.nodeId, item]));
  for (const id of asked)
    next.set(id, { parentId: peekNode(id)?.parentId ?? null, version: at, delta: found.get(id) ?? null });
  loadedDeltas.value = next;
}

export function invalidateDeltas() {
  deltasVersion.value += 1;
}

export function clearDeltas() {
  if (loadedDeltas.peek().size > 0) loadedDeltas.value = new Map();
}
