// The calls for what a session recalls.
import { call, deleteItem, items, query } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

/** Changes the recall settings of a session. */
export const setRecall = (sid: Wire.Id, recall: Wire.Recall): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { recall });

export const collections = (): Promise<Wire.Collection[]> => call("GET", "/api/collections");

export async function documents(collection: string, cursor?: string): Promise<Wire.Page<Wire.Document>> {
  const answer = await call("GET", `/api/documents${query({ collection, limit: 500, cursor })}`);
  return { items: items(answer), next: answer?.next ?? null };
}

export const addDocument = (collection: string, content: string, key: string): Promise<Wire.Document> =>
  call("POST", "/api/documents", { collection, content }, { key });

export const removeDocument = (id: Wire.Id) => deleteItem(`/api/documents/${id}`);

/** Changes the settings for automatic summaries of a session. */
export const setSummaries = (sid: Wire.Id, summaries: Wire.SummarySettings): Promise<Wire.Session> =>
  call("PATCH", `/api/sessions/${sid}`, { summaries });

/** Reads the summaries of the branch that ends at a node. */
export async function summaries(sid: Wire.Id, nodeId: Wire.Id | undefined): Promise<Wire.Summaries> {
  const answer = await call("GET", `/api/sessions/${sid}/summaries${query({ nodeId })}`);
  return { ...answer, items: items(answer) };
}

export const correctSummary = (sid: Wire.Id, id: Wire.Id, content: string) =>
  call("PATCH", `/api/sessions/${sid}/summaries/${id}`, { content });

export const dropSummary = (sid: Wire.Id, id: Wire.Id) => call("DELETE", `/api/sessions/${sid}/summaries/${id}`);
