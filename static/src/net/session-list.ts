// Requests for the list of stories.
import { call, items, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";
import type { SessionFilter, SessionOrder } from "../model/session-list.ts";

/** Size of a page of a folder. */
const FOLDER_PAGE = 200;

interface SessionPageRequest {
  filter: SessionFilter;
  order: SessionOrder;
  cursor?: string | undefined;
}

/** Reads a page of the stories that fit a filter. */
export async function filteredSessions({
  filter,
  order,
  cursor,
}: SessionPageRequest): Promise<Wire.Page<Wire.Session>> {
  const fields = query({
    q: filter.words.trim(),
    characterId: filter.characterId ?? undefined,
    sort: order === "updated" ? undefined : order,
    cursor,
  });
  const tags = filter.tags.map((tag) => `tag=${encodeURIComponent(tag)}`).join("&");
  const answer = await call("GET", `/api/sessions${fields}${tags && (fields ? `&${tags}` : `?${tags}`)}`);
  return { items: items(answer), next: answer?.next ?? null };
}

/** Reads all stories in a folder. */
export async function sessionsInFolder(folder: string, order: SessionOrder): Promise<Wire.Session[]> {
  const all: Wire.Session[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const answer = await call("GET", `/api/sessions${query({ folder, sort: order, limit: FOLDER_PAGE, cursor })}`);
    all.push(...items(answer));
    cursor = answer?.next ?? null;
  }
  return all;
}

export const sessionFolders = async (): Promise<Wire.SessionGroup[]> =>
  items(await call("GET", "/api/sessions/folders"));

export const sessionTags = async (): Promise<Wire.SessionGroup[]> => items(await call("GET", "/api/sessions/tags"));

export const arrangeSession = (sid: Wire.Id, changes: Wire.SessionArrangement): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, changes);

export async function changeSessions(change: Wire.SessionsChange): Promise<Wire.ChangedSession[]> {
  return items(await call("POST", "/api/sessions/bulk", change));
}
