// The calls about the arrangement of a tree: edits, undo, the stash, branches; and drafts. Loaded with the first story.
import { call, chat, items, query } from "./api.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** Makes all of the edits, or none. @param {Wire.Id} sid @param {Wire.TreeEdit[]} operations @returns {Promise<Wire.Arranged>} */
export const arrange = (sid, operations) => call("PUT", `${chat(sid)}/tree/edit`, { operations });

/**
 * Destroys a piece for good. Without the operation that the reader saw last it is refused, and the refusal says what would go.
 * @param {Wire.Id} sid @param {Wire.Piece} piece @param {number} [seen] @returns {Promise<Wire.Arranged>}
 */
export const purge = (sid, piece, seen) =>
  call("PUT", `${chat(sid)}/tree/edit`, seen === undefined ? { operations: [{ op: "purge", ...piece }] } : { operations: [{ op: "purge", ...piece, confirm: true }], expectedOp: seen });

/** The outline of the whole tree, in columns. @param {Wire.Id} sid @returns {Promise<Wire.Skeleton>} */
export const skeleton = (sid) => call("GET", `${chat(sid)}/tree${query({ shape: "skeleton" })}`);

/** Sets how many messages stand, in one step. @param {Wire.Id} sid @param {Wire.Id[]} ids @param {Omit<Wire.NodeState, "id">} state @returns {Promise<{worldChanges: Wire.WorldChange[], op: number}>} */
export const setStates = (sid, ids, state) => call("PUT", `${chat(sid)}/nodes/state`, { updates: ids.map((nodeId) => ({ nodeId, ...state })) });

/** Where a line can be had as a file. @param {Wire.Id} sid @param {Wire.Id} leaf */
export const lineFile = (sid, leaf) => `${chat(sid)}/line${query({ leaf, format: "markdown" })}`;

/** Refused where the story has gone on since the operation that was seen. @param {Wire.Id} sid @param {"undo" | "redo"} which @param {number} [seen] @returns {Promise<Wire.TurnedBack>} */
export const turnBack = (sid, which, seen) => call("POST", `${chat(sid)}/${which}`, seen === undefined ? {} : { expectedOp: seen });

/** @param {Wire.Id} sid @returns {Promise<Wire.Fragment[]>} the one taken out last first */
export const stash = async (sid) => items(await call("GET", `${chat(sid)}/stash`));

/** @param {Wire.Id} sid @returns {Promise<Wire.Label[]>} */
export const labels = async (sid) => items(await call("GET", `${chat(sid)}/labels`));

/** The nodes of a fragment, parents before children. @param {Wire.Id} sid @param {Wire.Id} fid @param {string} [cursor] @returns {Promise<Wire.Page<Wire.ChatNode>>} */
export const fragment = (sid, fid, cursor) => call("GET", `${chat(sid)}/stash/${fid}/tree${query({ cursor })}`);

/** Every end of a line, the newest first. @param {Wire.Id} sid @param {{cursor?: string, limit?: number}} [range] @returns {Promise<Wire.Page<Wire.Branch>>} */
export async function branches(sid, range = {}) {
  const answer = await call("GET", `${chat(sid)}/branches${query(range)}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** How two lines differ since they parted. @param {Wire.Id} sid @param {Wire.Id} from @param {Wire.Id} to @returns {Promise<Wire.Diff>} */
export const diff = (sid, from, to) => call("GET", `${chat(sid)}/diff${query({ from, to })}`);

/**
 * How values went along some lines, a page of the nodes of each.
 * @param {Wire.Id} sid @param {string[]} paths @param {Wire.Id[]} leaves @param {string} [cursor] @returns {Promise<Wire.Variables>}
 */
export function variables(sid, paths, leaves, cursor) {
  const pairs = [...paths.map((path) => ["path", path]), ...leaves.map((leaf) => ["leaf", leaf]), ...(cursor ? [["cursor", cursor]] : [])];
  return call("GET", `${chat(sid)}/variables?${new URLSearchParams(pairs)}`);
}

/** Begins to draft what the reader could say next. @param {Wire.Id} sid @returns {Promise<{draftId: Wire.Id}>} */
export const impersonate = (sid) => call("POST", `${chat(sid)}/impersonate`, {});

/** Begins to draft a summary of messages that follow each other. @param {Wire.Id} sid @param {Wire.Id[]} nodeIds @returns {Promise<{draftId: Wire.Id}>} */
export const summarise = (sid, nodeIds) => call("POST", `${chat(sid)}/summarise`, { nodeIds });

/** @param {Wire.Id} sid @param {Wire.Id} did @returns {Promise<Wire.Draft>} */
export const draft = (sid, did) => call("GET", `${chat(sid)}/draft/${did}`);

/** @param {Wire.Id} sid @param {Wire.Id} did */
export const stopDraft = (sid, did) => call("DELETE", `${chat(sid)}/draft/${did}`);

/** @param {Wire.Id} sid @returns {Promise<Wire.Spent>} */
export const spent = (sid) => call("GET", `${chat(sid)}/spent`);
