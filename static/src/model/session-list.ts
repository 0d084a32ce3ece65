// Filters, order, folders, tags and the selection of the list of stories.
import { signal } from "../../vendor/preact.js";
import { readStored, writeStored } from "../lib/storage.ts";
import type { Id, SessionGroup } from "../lib/wire.d.ts";

/** Number of stories from which the list has search and order. */
export const TOOLS_FROM = 2;

export const SESSION_ORDERS = ["updated", "created", "title", "length"] as const;

export type SessionOrder = (typeof SESSION_ORDERS)[number];

export interface SessionFilter {
  words: string;
  tags: string[];
  /** Only stories with this character; null: all. */
  characterId: Id | null;
}

const NO_FILTER: SessionFilter = { words: "", tags: [], characterId: null };

export const sessionFilter = signal<SessionFilter>(NO_FILTER);

export const isFiltered = ({ words, tags, characterId }: SessionFilter) =>
  words.trim() !== "" || tags.length > 0 || characterId !== null;

/** @param change `null` shows all stories */
export function changeSessionFilter(change: Partial<SessionFilter> | null) {
  sessionFilter.value = change ? { ...sessionFilter.peek(), ...change } : NO_FILTER;
}

export const sessionOrder = signal<SessionOrder>(
  SESSION_ORDERS.find((one) => one === readStored("storyOrder")) ?? "updated",
);

export function setSessionOrder(next: SessionOrder) {
  sessionOrder.value = next;
  writeStored("storyOrder", next === "updated" ? null : next);
}

export const folders = signal<SessionGroup[]>([]);
export const tags = signal<SessionGroup[]>([]);

export function setSessionGroups(allFolders: SessionGroup[], allTags: SessionGroup[]) {
  folders.value = allFolders;
  tags.value = allTags;
}

/** The open folders. They stay open after a reload. */
export const openFolders = signal<Set<string>>(new Set(storedFolders()));

function storedFolders(): string[] {
  try {
    const stored: unknown = JSON.parse(readStored("storyFolders") ?? "[]");
    return Array.isArray(stored) ? stored.map(String) : [];
  } catch {
    return [];
  }
}

export function setFolderOpen(name: string, isOpen: boolean) {
  const next = new Set(openFolders.peek());
  if (isOpen) next.add(name);
  else next.delete(name);
  openFolders.value = next;
  writeStored("storyFolders", next.size > 0 ? JSON.stringify([...next]) : null);
}

/** The selected stories; null: the list has no check boxes. */
export const selectedSessions = signal<Set<Id> | null>(null);

export function selectSessions(ids: Iterable<Id> | null) {
  selectedSessions.value = ids === null ? null : new Set(ids);
}
