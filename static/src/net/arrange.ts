// The calls about the arrangement of a tree: edits, undo, the stash, branches; and drafts. Loaded with the first story.
import { call, chat, items, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Makes all of the edits, or none. */
export const arrange = (sid: Wire.Id, operations: Wire.TreeEdit[]): Promise<Wire.Arranged> =>
  call("PUT", `${chat(sid)}/tree/edit`, { operations });

/**
 * Destroys a piece for good. Without the operation that the reader saw last it is refused, and the refusal says what
 * would go.
 */
export const purge = (sid: Wire.Id, piece: Wire.Piece, seen?: number): Promise<Wire.Arranged> =>
  call(
    "PUT",
    `${chat(sid)}/tree/edit`,
    seen === undefined
      ? { operations: [{ op: "purge", ...piece }] }
      : { operations: [{ op: "purge", ...piece, confirm: true }], expectedOp: seen },
  );

/** The outline of the whole tree, in columns. */
export const skeleton = (sid: Wire.Id): Promise<Wire.Skeleton> =>
  call("GET", `${chat(sid)}/tree${query({ shape: "skeleton" })}`);

/** Sets how many messages stand, in one step. */
export const setStates = (
  sid: Wire.Id,
  ids: Wire.Id[],
  state: Omit<Wire.NodeState, "id">,
): Promise<{ worldChanges: Wire.WorldChange[]; op: number }> =>
  call("PUT", `${chat(sid)}/nodes/state`, { updates: ids.map((nodeId) => ({ nodeId, ...state })) });

/** Where a line can be had as a file. */
export const lineFile = (sid: Wire.Id, leaf: Wire.Id) => `${chat(sid)}/line${query({ leaf, format: "markdown" })}`;

/** Refused where the story has gone on since the operation that was seen. */
export const turnBack = (sid: Wire.Id, which: "undo" | "redo", seen?: number): Promise<Wire.TurnedBack> =>
  call("POST", `${chat(sid)}/${which}`, seen === undefined ? {} : { expectedOp: seen });

/** @returns the one taken out last first */
export const stash = async (sid: Wire.Id): Promise<Wire.Fragment[]> => items(await call("GET", `${chat(sid)}/stash`));

export const labels = async (sid: Wire.Id): Promise<Wire.Label[]> => items(await call("GET", `${chat(sid)}/labels`));

/** The nodes of a fragment, parents before children. */
export const fragment = (sid: Wire.Id, fid: Wire.Id, cursor?: string): Promise<Wire.Page<Wire.ChatNode>> =>
  call("GET", `${chat(sid)}/stash/${fid}/tree${query({ cursor })}`);

/** Every end of a line, the newest first. */
export async function branches(
  sid: Wire.Id,
  range: { cursor?: string; limit?: number } = {},
): Promise<Wire.Page<Wire.Branch>> {
  const answer = await call("GET", `${chat(sid)}/branches${query(range)}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** How two lines differ since they parted. */
export const diff = (sid: Wire.Id, from: Wire.Id, to: Wire.Id): Promise<Wire.Diff> =>
  call("GET", `${chat(sid)}/diff${query({ from, to })}`);

/** How values went along some lines, a page of the nodes of each. */
export function variables(sid: Wire.Id, paths: string[], leaves: Wire.Id[], cursor?: string): Promise<Wire.Variables> {
  const pairs = [
    ...paths.map((path) => ["path", path]),
    ...leaves.map((leaf) => ["leaf", leaf]),
    ...(cursor ? [["cursor", cursor]] : []),
  ];
  return call("GET", `${chat(sid)}/variables?${new URLSearchParams(pairs)}`);
}

/** Begins to draft what the reader could say next. */
export const impersonate = (sid: Wire.Id): Promise<{ draftId: Wire.Id }> =>
  call("POST", `${chat(sid)}/impersonate`, {});

/** Begins to draft a summary of messages that follow each other. */
export const summarise = (sid: Wire.Id, nodeIds: Wire.Id[]): Promise<{ draftId: Wire.Id }> =>
  call("POST", `${chat(sid)}/summarise`, { nodeIds });

export const draft = (sid: Wire.Id, did: Wire.Id): Promise<Wire.Draft> => call("GET", `${chat(sid)}/draft/${did}`);

export const stopDraft = (sid: Wire.Id, did: Wire.Id) => call("DELETE", `${chat(sid)}/draft/${did}`);

export const spent = (sid: Wire.Id): Promise<Wire.Spent> => call("GET", `${chat(sid)}/spent`);
