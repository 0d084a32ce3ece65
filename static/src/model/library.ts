// Sessions, characters, models and plugins, as last listed by the server.
import { computed, signal } from "../../vendor/preact.js";
import type { Character, Id, Models, PluginInfo, Session } from "../lib/wire.d.ts";
import type { ApiError } from "../net/api.ts";

export type Loading =
  | { state: "idle" }
  | { state: "loading" }
  | { state: "ready" }
  | { state: "failed"; error: ApiError };

export const loading = signal<Loading>({ state: "idle" });
export const sessions = signal<Session[]>([]);
/** The cursor to older sessions, if there are more. */
export const moreSessions = signal<string | null>(null);
/** Counts how often the first page of sessions was set. */
export const sessionReads = signal(0);
export const characters = signal<Character[]>([]);
/** `null` if not loaded yet. */
export const models = signal<Models | null>(null);
/** The models that can play a character. Narrators are left out. */
export const chatModels = computed(() =>
  (models.value?.items ?? []).filter((model) => !model.id.startsWith("plugin:") && !model.unusable),
);
export const plugins = signal<PluginInfo[]>([]);

export function setLoading(next: Loading) {
  loading.value = next;
}

export function setCharacters(list: Character[]) {
  characters.value = list;
}

export function setModelsAndPlugins(some: Models, list: PluginInfo[]) {
  models.value = some;
  plugins.value = list;
}

/** @param page the newest sessions */
export function setSessions(page: Session[], next: string | null) {
  sessions.value = page;
  moreSessions.value = next;
  sessionReads.value += 1;
}

export const characterById = (id: Id) => characters.value.find((c) => c.id === id) ?? null;

export function addSessions(page: Session[], next: string | null) {
  const known = new Set(sessions.value.map((s) => s.id));
  sessions.value = [...sessions.value, ...page.filter((s) => !known.has(s.id))];
  moreSessions.value = next;
}

export function updateSession(changed: Session) {
  sessions.value = sessions.value.map((s) => (s.id === changed.id ? { ...s, ...changed } : s));
}

export function removeSession(sid: Id) {
  sessions.value = sessions.value.filter((s) => s.id !== sid);
}
