// The calls for the arrangement of a tree: edits, undo, the stash, branches; and for drafts. Loaded with the first
// session.
import { call, chat, items, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Makes all of the edits, or none. */
export const arrange = (sid: Wire.Id, operations: Wire.TreeEdit[]): Promise<Wire.TreeEditsResult> =>
  call("PUT", `${chat(sid)}/tree/edit`, { operations });

/**
 * Deletes a part permanently. Without the operation that the user saw last, the server refuses and lists what would be
 * lost.
 */
export const purge = (sid: Wire.Id, piece: Wire.MoveSource, seen?: number): Promise<Wire.TreeEditsResult> =>
  call(
    "PUT",
    `${chat(sid)}/tree/edit`,
    seen === undefined
      ? { operations: [{ op: "purge", ...piece }] }
      : { operations: [{ op: "purge", ...piece, confirm: true }], expectedOp: seen },
  );

/** Reads the outline of the whole tree, in columns. */
export const skeleton = (sid: Wire.Id): Promise<Wire.TreeSkeleton> =>
  call("GET", `${chat(sid)}/tree${query({ shape: "skeleton" })}`);

/** Sets the states of several messages in one step. */
export const setStates = (
  sid: Wire.Id,
  ids: Wire.Id[],
  state: Omit<Wire.NodeState, "id">,
): Promise<{ worldChanges: Wire.WorldChange[]; op: number }> =>
  call("PUT", `${chat(sid)}/nodes/state`, { updates: ids.map((nodeId) => ({ nodeId, ...state })) });

/** Returns the address of a branch as a file. */
export const branchFile = (sid: Wire.Id, leaf: Wire.Id) => `${chat(sid)}/line${query({ leaf, format: "markdown" })}`;

/** Undoes or redoes a step. Refused if the session changed since the operation in `seen`. */
export const undo = (sid: Wire.Id, which: "undo" | "redo", seen?: number): Promise<Wire.UndoResult> =>
  call("POST", `${chat(sid)}/${which}`, seen === undefined ? {} : { expectedOp: seen });

/** Reads the fragments of the stash, the last pruned one first. */
export const stash = async (sid: Wire.Id): Promise<Wire.Fragment[]> => items(await call("GET", `${chat(sid)}/stash`));

export const labels = async (sid: Wire.Id): Promise<Wire.Label[]> => items(await call("GET", `${chat(sid)}/labels`));

/** Reads the nodes of a fragment, parents before children. */
export const fragment = (sid: Wire.Id, fid: Wire.Id, cursor?: string): Promise<Wire.Page<Wire.ChatNode>> =>
  call("GET", `${chat(sid)}/stash/${fid}/tree${query({ cursor })}`);

/** Reads the branches, newest first. */
export async function branches(
  sid: Wire.Id,
  range: { cursor?: string; limit?: number } = {},
): Promise<Wire.Page<Wire.Branch>> {
  const answer = await call("GET", `${chat(sid)}/branches${query(range)}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** Compares two branches since their fork. */
export const diff = (sid: Wire.Id, from: Wire.Id, to: Wire.Id): Promise<Wire.Diff> =>
  call("GET", `${chat(sid)}/diff${query({ from, to })}`);

/** Reads how values changed along some branches. Each page covers some nodes of each branch. */
export function variables(sid: Wire.Id, paths: string[], leaves: Wire.Id[], cursor?: string): Promise<Wire.Variables> {
  const pairs = [
    ...paths.map((path) => ["path", path]),
    ...leaves.map((leaf) => ["leaf", leaf]),
    ...(cursor ? [["cursor", cursor]] : []),
  ];
  return call("GET", `${chat(sid)}/variables?${new URLSearchParams(pairs)}`);
}

/** Starts drafting the user's next message. */
export const impersonate = (sid: Wire.Id): Promise<{ draftId: Wire.Id }> =>
  call("POST", `${chat(sid)}/impersonate`, {});

/** Starts drafting a summary of consecutive messages. */
export const summarise = (sid: Wire.Id, nodeIds: Wire.Id[]): Promise<{ draftId: Wire.Id }> =>
  call("POST", `${chat(sid)}/summarise`, { nodeIds });

export const draft = (sid: Wire.Id, did: Wire.Id): Promise<Wire.Draft> => call("GET", `${chat(sid)}/draft/${did}`);

export const stopDraft = (sid: Wire.Id, did: Wire.Id) => call("DELETE", `${chat(sid)}/draft/${did}`);

export const usage = (sid: Wire.Id): Promise<Wire.UsageTotals> => call("GET", `${chat(sid)}/spent`);
