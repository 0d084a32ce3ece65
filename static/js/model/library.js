// Sessions, characters, models and plugins as the server last listed them.
import { computed, signal } from "../../vendor/preact.js";

/** @import { Character, Id, Models, PluginInfo, Session } from "../lib/wire.d.ts" */
/** @import { ApiError } from "../net/api.js" */

/** @typedef {{state: "idle"} | {state: "loading"} | {state: "ready"} | {state: "failed", error: ApiError}} Loading */

export const loading = signal(/** @type {Loading} */ ({ state: "idle" }));
export const sessions = signal(/** @type {Session[]} */ ([]));
/** Leads to older sessions, if there are more. */
export const moreSessions = signal(/** @type {string | null} */ (null));
export const characters = signal(/** @type {Character[]} */ ([]));
/** null: not known yet. */
export const models = signal(/** @type {Models | null} */ (null));
/** The models that can play a character: no plugin that only tells its own story. */
export const spokenModels = computed(() => (models.value?.items ?? []).filter((model) => !model.id.startsWith("plugin:") && !model.unusable));
export const plugins = signal(/** @type {PluginInfo[]} */ ([]));

/** @param {Loading} next */
export function setLoading(next) {
  loading.value = next;
}

/** @param {Character[]} list */
export function putCharacters(list) {
  characters.value = list;
}

/** @param {Models} some @param {PluginInfo[]} list */
export function putHosts(some, list) {
  models.value = some;
  plugins.value = list;
}

/** @param {Session[]} page the newest sessions @param {string | null} next */
export function putSessions(page, next) {
  sessions.value = page;
  moreSessions.value = next;
}

/** @param {Id} id */
export const characterById = (id) => characters.value.find((c) => c.id === id) ?? null;

/** @param {Session[]} page @param {string | null} next */
export function addSessions(page, next) {
  const known = new Set(sessions.value.map((s) => s.id));
  sessions.value = [...sessions.value, ...page.filter((s) => !known.has(s.id))];
  moreSessions.value = next;
}

/** @param {Session} changed */
export function putSession(changed) {
  sessions.value = sessions.value.map((s) => (s.id === changed.id ? { ...s, ...changed } : s));
}

/** @param {Id} sid */
export function dropSession(sid) {
  sessions.value = sessions.value.filter((s) => s.id !== sid);
}
