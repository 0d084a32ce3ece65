// HTTP calls, one function per route. The other files of this folder have the rest. A failed call throws an ApiError.
import { locale } from "../lib/i18n.ts";
import { ownUtcOffset } from "../lib/time-zone.ts";
import type * as Wire from "../lib/wire.d.ts";

/** The refusal of a request, as the server explained it. */
export class ApiError extends Error {
  status: number;
  code: string;
  hint: string;
  details: Wire.Unchecked;
  incident: string | null;

  /**
   * Creates the error for a response.
   * @param status 0 if there was no response
   */
  constructor(
    status: number,
    body: { code?: string; message?: string; hint?: string | null; details?: Wire.Unchecked; incident?: string | null },
  ) {
    super(body.message ?? "");
    this.status = status;
    this.code = body.code ?? (status === 0 ? "offline" : "unknown");
    this.hint = body.hint ?? "";
    this.details = body.details ?? {};
    this.incident = body.incident ?? null;
  }
}

let csrf: string | null = null;

let onRefused = () => {};

/** Sets what to do when the server does not let this device in, or no longer does. */
export const setOnRefused = (then: () => void) => void (onRefused = then);

let onOfflineCopy: (at: string | null) => void = () => {};

/**
 * Sets what to call after each read: with the time at which an offline copy was stored, or null if the server answered.
 */
export const setOnOfflineCopy = (then: (at: string | null) => void) => void (onOfflineCopy = then);

/**
 * Sends a request and returns its JSON.
 * @param options `key`: Idempotency-Key
 */
export async function call(
  method: string,
  path: string,
  body?: unknown,
  { signal, key, isSecond = false }: { signal?: AbortSignal; key?: string; isSecond?: boolean } = {},
): Promise<Wire.Unchecked> {
  const headers: Record<string, string> = { Accept: "application/json", "Accept-Language": locale.peek() };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (csrf && method !== "GET") headers["X-CSRF-Token"] = csrf;
  if (key) headers["Idempotency-Key"] = key;
  const init: RequestInit = { method, headers };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (signal) init.signal = signal;
  const { response, text } = await (method === "GET" ? read(path, init) : exchange(path, init));
  if (method === "GET") onOfflineCopy(response.headers.get("x-clotho-kept"));
  const json = parse(text);
  // The server restarted and has another token. It refused before it did anything, so a retry is safe.
  if (response.status === 403 && json?.error?.details?.csrf && !isSecond) {
    await me();
    return call(method, path, body, { ...(signal && { signal }), ...(key && { key }), isSecond: true });
  }
  if (response.status === 401 && json?.error?.details?.device) onRefused();
  if (!response.ok) throw new ApiError(response.status, json?.error ?? {});
  return json;
}

/** Deletions that are not answered yet, by path. */
const deletions: Map<string, Promise<Wire.Unchecked>> = new Map();

/** Deletes an item. A double click asks once, and an item that is gone already counts as deleted. */
export function deleteItem(path: string): Promise<Wire.Unchecked> {
  const running = deletions.get(path);
  if (running) return running;
  const deletion = call("DELETE", path)
    .catch((error) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    })
    .finally(() => deletions.delete(path));
  deletions.set(path, deletion);
  return deletion;
}

/** Returns a response with its whole text. The connection may be lost before either is complete. */
export async function exchange(path: string, init: RequestInit) {
  try {
    const response = await fetch(path, init);
    return { response, text: await response.text() };
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, {});
  }
}

/**
 * Timeout of a read in milliseconds. After that, the connection is probably dead. Reads change nothing, so they can be
 * repeated.
 */
const READ_TIMEOUT = 30_000;
/** Timeout of a read in milliseconds while the connection is in doubt. */
const DOUBTED_TIMEOUT = 3000;
const MAX_TRIES = 3;

/** Whether the connection was found dead and nothing has been read since. */
let isConnectionDoubted = false;
/** The running reads that can still be repeated. */
const waiting: Set<AbortController> = new Set();

/** Repeats these reads, because the connection was found dead. */
export function retryReads() {
  isConnectionDoubted = true;
  waiting.forEach((limit) => limit.abort());
}

async function read(path: string, { signal, ...init }: RequestInit) {
  for (let tries = 1; ; tries += 1) {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), isConnectionDoubted ? DOUBTED_TIMEOUT : READ_TIMEOUT);
    if (tries < MAX_TRIES) waiting.add(limit);
    try {
      const answer = await exchange(path, {
        ...init,
        signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
      });
      isConnectionDoubted = false;
      return answer;
    } catch (error) {
      if (signal?.aborted || !limit.signal.aborted) throw error;
      if (tries === MAX_TRIES) throw new ApiError(0, {});
    } finally {
      clearTimeout(timer);
      waiting.delete(limit);
    }
  }
}

export function parse(text: string) {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

export function query(pairs: Record<string, string | number | undefined>) {
  const set = Object.entries(pairs).filter(([, value]) => value !== undefined && value !== "");
  return set.length ? `?${new URLSearchParams(set.map(([name, value]) => [name, String(value)]))}` : "";
}

/** Returns the items of a list. Lists are `{items, next}`; a plain array counts as the last page. */
export const items = (answer: Wire.Unchecked) => (Array.isArray(answer) ? answer : (answer?.items ?? []));

export const chat = (sid: Wire.Id) => `/api/chat/${sid}`;
const node = (sid: Wire.Id, nid: Wire.Id) => `/api/chat/${sid}/node/${nid}`;

export async function me(): Promise<Wire.Me> {
  const answer = await call("GET", "/api/auth/me");
  csrf = answer?.csrf ?? null;
  return answer;
}

// Library

export async function characters(cursor?: string | null): Promise<Wire.Page<Wire.Character>> {
  const answer = await call("GET", `/api/characters${query({ limit: 200, cursor: cursor ?? undefined })}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** Reads all characters after the first page. */
export async function otherCharacters(next: string | null): Promise<Wire.Character[]> {
  const all = [];
  for (let cursor = next; cursor !== null; ) {
    const page = await characters(cursor);
    all.push(...page.items);
    cursor = page.next;
  }
  return all;
}

/** Reads all characters. */
export async function allCharacters(): Promise<Wire.Character[]> {
  const { items, next } = await characters();
  return [...items, ...(await otherCharacters(next))];
}

export const createCharacter = (character: Wire.CharacterChanges): Promise<Wire.Character> =>
  call("POST", "/api/characters", character);

export const deleteCharacter = (cid: Wire.Id) => deleteItem(`/api/characters/${cid}`);

/** Restores something from the trash. */
export const restore = (id: Wire.Id) => call("POST", `/api/trash/${id}/restore`);

export async function models(): Promise<Wire.Models> {
  const answer = await call("GET", "/api/models");
  return { items: items(answer), problems: answer?.problems ?? [] };
}

export const plugins = async (): Promise<Wire.PluginInfo[]> => items(await call("GET", "/api/plugins"));

export async function sessions(cursor?: string): Promise<Wire.Page<Wire.Session>> {
  const answer = await call("GET", `/api/sessions${query({ cursor })}`);
  return { items: items(answer), next: answer?.next ?? null };
}

export const session = (sid: Wire.Id): Promise<Wire.Session> => call("GET", `/api/sessions/${sid}`);

export const createSession = (wanted: Wire.NewSession): Promise<Wire.Session> =>
  call("POST", "/api/sessions", { ...wanted, timeZone: ownUtcOffset() });

export const changeSession = (
  sid: Wire.Id,
  changes: { title?: string; model?: string; mode?: "tree" | "linear" },
): Promise<Wire.Session> => call("PATCH", `/api/sessions/${sid}`, changes);

export const deleteSession = (sid: Wire.Id) => deleteItem(`/api/sessions/${sid}`);

/** Reads a part of the operation log. */
export const operations = (sid: Wire.Id, range: { since: number; limit: number }): Promise<Wire.Log> =>
  call("GET", `${chat(sid)}/ops${query(range)}`);

// The tree

/** Reads the messages of a branch, including disabled ones, which the page shows dimmed, and manual changes. */
export async function projection(
  sid: Wire.Id,
  range: { leaf?: Wire.Id; before?: string; limit?: number } = {},
): Promise<Wire.Projection> {
  const page = await call("GET", `${chat(sid)}/projection${query({ ...range, all: "true" })}`);
  return { ...page, items: page.items.filter(({ kind }: Wire.ChatNode) => kind !== "root") };
}

export async function readNode(sid: Wire.Id, nid: Wire.Id): Promise<Wire.ChatNode> {
  const answer = await call("GET", node(sid, nid));
  return answer?.node ?? answer;
}

/**
 * Sends a message.
 * @param key the same key twice has only one effect
 */
export const send = (
  sid: Wire.Id,
  message: { parentId: Wire.Id; content: string; generate: true; expectedLeafId?: Wire.Id },
  key: string,
): Promise<Wire.TurnStart> => call("POST", `${chat(sid)}/message`, { ...message, timeZone: ownUtcOffset() }, { key });

export const reroll = (sid: Wire.Id, nid: Wire.Id, how: { model?: string } = {}): Promise<Wire.TurnStart> =>
  call("POST", `${node(sid, nid)}/reroll`, how);

/** Requests another reply that begins with the text of this one. */
export const continueReply = (sid: Wire.Id, nid: Wire.Id): Promise<Wire.TurnStart> =>
  call("POST", `${node(sid, nid)}/continue`, {});

export const edit = (sid: Wire.Id, nid: Wire.Id, edit: { content: string; carry: boolean }): Promise<Wire.TurnStart> =>
  call("POST", `${node(sid, nid)}/edit`, { ...edit, timeZone: ownUtcOffset() });

export const cancel = (sid: Wire.Id, nid: Wire.Id) => call("POST", `${node(sid, nid)}/cancel`, {});

export const setState = (sid: Wire.Id, nid: Wire.Id, state: Omit<Wire.NodeState, "id">): Promise<{ op: number }> =>
  call("PUT", `${node(sid, nid)}/state`, state);

/** Reads all alternatives of a node, in creation order. */
export const versions = async (sid: Wire.Id, nid: Wire.Id): Promise<Wire.ChatNode[]> =>
  items(await call("GET", `${node(sid, nid)}/alternatives`));

/**
 * Moves HEAD.
 * @param exact to exactly this node, not to the leaf last visited below it
 */
export const checkout = (sid: Wire.Id, nodeId: Wire.Id, exact: boolean): Promise<{ leafId: Wire.Id; op: number }> =>
  call("PUT", `${chat(sid)}/active_leaf`, { nodeId, exact });

/** Reads the slash commands of the session's plugins. */
export const slashCommands = async (sid: Wire.Id): Promise<Wire.SlashCommand[]> =>
  items(await call("GET", `${chat(sid)}/commands`));

// The state

export const world = (sid: Wire.Id, nid: Wire.Id): Promise<Wire.NodeWorld> => call("GET", `${node(sid, nid)}/world`);

export const delta = (sid: Wire.Id, nid: Wire.Id): Promise<Wire.Delta> => call("GET", `${node(sid, nid)}/delta`);

/** Reads the deltas of the nodes of a branch, without the empty ones. */
export const deltas = async (sid: Wire.Id, range: { leaf: Wire.Id; limit: number }): Promise<Wire.NodeDelta[]> =>
  items(await call("GET", `${chat(sid)}/deltas${query({ ...range, all: "true" })}`));

export const trace = (sid: Wire.Id, nid: Wire.Id): Promise<Wire.Trace> => call("GET", `${node(sid, nid)}/trace`);

export const changeWorld = (sid: Wire.Id, nid: Wire.Id, operations: Wire.Operation[]): Promise<Wire.TurnStart> =>
  call("POST", `${node(sid, nid)}/world`, { operations });

// Search

export const search = (wanted: Wire.SearchQuery, signal: AbortSignal): Promise<Wire.SearchAnswer> =>
  call("GET", `/api/search${query({ ...wanted, limit: 30 })}`, undefined, { signal });
