// Every HTTP call of the page, one function a route. An answer that is no success becomes an ApiError.

import { locale } from "../lib/i18n.js";

/** @import * as Wire from "../lib/wire.d.ts" */

/** What the server said when it refused, in its own words. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 when no answer came
   * @param {{code?: string, message?: string, hint?: string | null, details?: any, incident?: string | null}} body
   */
  constructor(status, body) {
    super(body.message ?? "");
    this.status = status;
    this.code = body.code ?? (status === 0 ? "offline" : "unknown");
    this.hint = body.hint ?? "";
    this.details = body.details ?? {};
    this.incident = body.incident ?? null;
  }
}

/** @type {string | null} */
let csrf = null;

let shut = () => {};

/** What is done when the server does not let this device in, or not any more. @param {() => void} then */
export const whenShut = (then) => void (shut = then);

/** @type {(at: string | null) => void} */
let kept = () => {};

/** What is told after each read: when it was kept, or null where the server answered itself. @param {(at: string | null) => void} then */
export const whenKept = (then) => void (kept = then);

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {{signal?: AbortSignal, key?: string, isSecond?: boolean}} [options] `key`: Idempotency-Key
 * @returns {Promise<any>}
 */
export async function call(method, path, body, { signal, key, isSecond = false } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", "Accept-Language": locale.peek() };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (csrf && method !== "GET") headers["X-CSRF-Token"] = csrf;
  if (key) headers["Idempotency-Key"] = key;
  /** @type {RequestInit} */
  const init = { method, headers };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (signal) init.signal = signal;
  const { response, text } = await (method === "GET" ? read(path, init) : exchange(path, init));
  if (method === "GET") kept(response.headers.get("x-clotho-kept"));
  const json = parse(text);
  // The server was started anew and has another token. It refused before it looked at anything, so asking again is safe.
  if (response.status === 403 && json?.error?.details?.csrf && !isSecond) {
    await me();
    return call(method, path, body, { ...(signal && { signal }), ...(key && { key }), isSecond: true });
  }
  if (response.status === 401 && json?.error?.details?.device) shut();
  if (!response.ok) throw new ApiError(response.status, json?.error ?? {});
  return json;
}

/** An answer with all of its text: the line may break off before either is here. @param {string} path @param {RequestInit} init */
export async function exchange(path, init) {
  try {
    const response = await fetch(path, init);
    return { response, text: await response.text() };
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, {});
  }
}

/** Milliseconds: a read that has no answer by then stands on a line that died unheard. It changes nothing, so it may be asked again. */
const READ_WITHIN = 30_000;
/** The same, while the line is in doubt. */
const DOUBTED_WITHIN = 3000;
const MOST_TRIES = 3;

/** Whether a line was found dead, and nothing has been read since. */
let isDoubted = false;
/** The reads whose answer is waited for. @type {Set<AbortController>} */
const waiting = new Set();

/** The line was found dead: what is waited for on it is asked for anew. */
export function doubtReads() {
  isDoubted = true;
  waiting.forEach((limit) => limit.abort());
}

/** @param {string} path @param {RequestInit} init */
async function read(path, { signal, ...init }) {
  for (let tries = 1; ; tries += 1) {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), isDoubted ? DOUBTED_WITHIN : READ_WITHIN);
    if (tries < MOST_TRIES) waiting.add(limit);
    try {
      const answer = await exchange(path, { ...init, signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal });
      isDoubted = false;
      return answer;
    } catch (error) {
      if (signal?.aborted || !limit.signal.aborted) throw error;
      if (tries === MOST_TRIES) throw new ApiError(0, {});
    } finally {
      clearTimeout(timer);
      waiting.delete(limit);
    }
  }
}

/** @param {string} text */
export function parse(text) {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {Record<string, string | number | undefined>} pairs */
export function query(pairs) {
  const set = Object.entries(pairs).filter(([, value]) => value !== undefined && value !== "");
  return set.length ? `?${new URLSearchParams(set.map(([name, value]) => [name, String(value)]))}` : "";
}

/** Lists answer `{items, next}`; a plain array is understood as a last page. @param {any} answer */
export const items = (answer) => (Array.isArray(answer) ? answer : (answer?.items ?? []));

export const chat = (/** @type {Wire.Id} */ sid) => `/api/chat/${sid}`;
const node = (/** @type {Wire.Id} */ sid, /** @type {Wire.Id} */ nid) => `/api/chat/${sid}/node/${nid}`;

/** @returns {Promise<Wire.Me>} */
export async function me() {
  const answer = await call("GET", "/api/auth/me");
  csrf = answer?.csrf ?? null;
  return answer;
}

// Library

/** @param {string | null} [cursor] @returns {Promise<Wire.Page<Wire.Character>>} */
export async function characters(cursor) {
  const answer = await call("GET", `/api/characters${query({ limit: 200, cursor: cursor ?? undefined })}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** Those that follow the first page of characters. @param {string | null} next @returns {Promise<Wire.Character[]>} */
export async function otherCharacters(next) {
  const all = [];
  for (let cursor = next; cursor !== null; ) {
    const page = await characters(cursor);
    all.push(...page.items);
    cursor = page.next;
  }
  return all;
}

/** @param {Wire.NewCharacter} character @returns {Promise<Wire.Character>} */
export const createCharacter = (character) => call("POST", "/api/characters", character);

/** @param {Wire.Id} cid */
export const deleteCharacter = (cid) => call("DELETE", `/api/characters/${cid}`);

/** Brings back what was deleted. @param {Wire.Id} id */
export const restore = (id) => call("POST", `/api/trash/${id}/restore`);

/** @returns {Promise<Wire.Models>} */
export async function models() {
  const answer = await call("GET", "/api/models");
  return { items: items(answer), problems: answer?.problems ?? [] };
}

/** @returns {Promise<Wire.PluginInfo[]>} */
export const plugins = async () => items(await call("GET", "/api/plugins"));

/** @param {string} [cursor] @returns {Promise<Wire.Page<Wire.Session>>} */
export async function sessions(cursor) {
  const answer = await call("GET", `/api/sessions${query({ cursor })}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** @param {Wire.Id} sid @returns {Promise<Wire.Session>} */
export const session = (sid) => call("GET", `/api/sessions/${sid}`);

/** @param {Wire.NewSession} wanted @returns {Promise<Wire.Session>} */
export const createSession = (wanted) => call("POST", "/api/sessions", wanted);

/** @param {Wire.Id} sid @param {{title?: string, model?: string, mode?: "tree" | "linear"}} changes @returns {Promise<Wire.Session>} */
export const changeSession = (sid, changes) => call("PATCH", `/api/sessions/${sid}`, changes);

/** @param {Wire.Id} sid */
export const deleteSession = (sid) => call("DELETE", `/api/sessions/${sid}`);

/** A part of the log. @param {Wire.Id} sid @param {{since: number, limit: number}} range @returns {Promise<Wire.Log>} */
export const operations = (sid, range) => call("GET", `${chat(sid)}/ops${query(range)}`);

// The tree

/**
 * The messages of a line, also those that are left out of prompts, which a reader sees dimmed, and changes by hand.
 * @param {Wire.Id} sid @param {{leaf?: Wire.Id, before?: string, limit?: number}} [range] @returns {Promise<Wire.Projection>}
 */
export async function projection(sid, range = {}) {
  const page = await call("GET", `${chat(sid)}/projection${query({ ...range, all: "true" })}`);
  return { ...page, items: page.items.filter((/** @type {Wire.ChatNode} */ { kind }) => kind !== "root") };
}

/** @param {Wire.Id} sid @param {Wire.Id} nid @returns {Promise<Wire.ChatNode>} */
export async function oneNode(sid, nid) {
  const answer = await call("GET", node(sid, nid));
  return answer?.node ?? answer;
}

/**
 * @param {Wire.Id} sid
 * @param {{parentId: Wire.Id, content: string, generate: true, expectedLeafId?: Wire.Id}} message
 * @param {string} key the same key twice acts once
 * @returns {Promise<Wire.Started>}
 */
export const send = (sid, message, key) => call("POST", `${chat(sid)}/message`, message, { key });

/** @param {Wire.Id} sid @param {Wire.Id} nid @param {{model?: string}} [how] @returns {Promise<Wire.Started>} */
export const reroll = (sid, nid, how = {}) => call("POST", `${node(sid, nid)}/reroll`, how);

/** Another reply that begins with the text of this one. @param {Wire.Id} sid @param {Wire.Id} nid @returns {Promise<Wire.Started>} */
export const goOn = (sid, nid) => call("POST", `${node(sid, nid)}/continue`, {});

/** @param {Wire.Id} sid @param {Wire.Id} nid @param {{content: string, carry: boolean}} edit @returns {Promise<Wire.Started>} */
export const edit = (sid, nid, edit) => call("POST", `${node(sid, nid)}/edit`, edit);

/** @param {Wire.Id} sid @param {Wire.Id} nid */
export const cancel = (sid, nid) => call("POST", `${node(sid, nid)}/cancel`, {});

/** @param {Wire.Id} sid @param {Wire.Id} nid @param {Omit<Wire.NodeState, "id">} state @returns {Promise<{op: number}>} */
export const setState = (sid, nid, state) => call("PUT", `${node(sid, nid)}/state`, state);

/** @param {Wire.Id} sid @param {Wire.Id} nid @returns {Promise<Wire.ChatNode[]>} all versions of a node, in the order in which they came */
export const versions = async (sid, nid) => items(await call("GET", `${node(sid, nid)}/alternatives`));

/** @param {Wire.Id} sid @param {Wire.Id} nodeId @param {boolean} exact stand on this node, not on the leaf last visited below it @returns {Promise<{leafId: Wire.Id, op: number}>} */
export const checkout = (sid, nodeId, exact) => call("PUT", `${chat(sid)}/active_leaf`, { nodeId, exact });

/** @param {Wire.Id} sid @returns {Promise<Wire.SlashCommand[]>} what the session's plugins offer after a "/" */
export const slashCommands = async (sid) => items(await call("GET", `${chat(sid)}/commands`));

// The world

/** @param {Wire.Id} sid @param {Wire.Id} nid @returns {Promise<Wire.WorldAt>} */
export const world = (sid, nid) => call("GET", `${node(sid, nid)}/world`);

/** @param {Wire.Id} sid @param {Wire.Id} nid @returns {Promise<Wire.Delta>} */
export const delta = (sid, nid) => call("GET", `${node(sid, nid)}/delta`);

/** What the nodes of a line did, those left out that did nothing. @param {Wire.Id} sid @param {{leaf: Wire.Id, limit: number}} range @returns {Promise<Wire.NodeDelta[]>} */
export const deltas = async (sid, range) => items(await call("GET", `${chat(sid)}/deltas${query({ ...range, all: "true" })}`));

/** @param {Wire.Id} sid @param {Wire.Id} nid @returns {Promise<Wire.Trace>} */
export const trace = (sid, nid) => call("GET", `${node(sid, nid)}/trace`);

/** @param {Wire.Id} sid @param {Wire.Id} nid @param {Wire.Operation[]} operations @returns {Promise<Wire.Started>} */
export const changeWorld = (sid, nid, operations) => call("POST", `${node(sid, nid)}/world`, { operations });

// Search

/** @param {Wire.SearchQuery} wanted @param {AbortSignal} signal @returns {Promise<Wire.SearchAnswer>} */
export const search = (wanted, signal) => call("GET", `/api/search${query({ ...wanted, limit: 30 })}`, undefined, { signal });
