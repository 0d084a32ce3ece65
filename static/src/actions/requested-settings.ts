// What an imported file asks for: the settings of a session, and the scripts of a preset, that nobody has accepted yet.
import { scriptsChanged } from "../model/display-scripts.ts";
import { plugins } from "../net/workshop.ts";
import { dialog, openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { preset, scriptsOf } from "../net/presets.ts";
import * as api from "../net/requested-settings.ts";
import { setPlugins } from "../net/session-plugins.ts";
import { readModelsAndPlugins } from "./library.ts";
import { attempt } from "./error-text.ts";
import { refresh } from "./session-sync.ts";
import type { Id, PluginChoice, PluginInfo, RequestedSettings, Session, Unchecked } from "../lib/wire.d.ts";

/** The most script names in a question. */
const MAX_NAMES = 12;

/** Opens the question if the open session has one. Returns whether it does. */
export function askForRequestedSettings() {
  const asks = Boolean(store.session.peek()?.requestedSettings);
  if (asks && dialog.peek() === null) openDialog({ kind: "requestedSettings" });
  return asks;
}

/**
 * What the question needs to be understood: the plugins of this server, the name of the preset if it exists, and the
 * names of the scripts that would run.
 */
export async function readRequestContext(sid: Id, requested: RequestedSettings) {
  const [all, found, scripts] = await Promise.all([
    plugins(),
    requested.presetId ? preset(requested.presetId).catch(() => null) : null,
    requested.regexScripts ? scriptsOf(sid).catch(() => []) : [],
    readModelsAndPlugins(),
  ]);
  const brought = scripts.filter(({ scope }) => scope !== "global").map(({ name }) => name.trim());
  return { all, presetName: found?.name ?? "", scripts: shownNames(brought) };
}

/** Reads the names of presets, and the names of the regex scripts inside them. */
export const readPresetScripts = (ids: Id[]) =>
  Promise.all(
    ids.map(async (id) => {
      const { kind, name, body } = await preset(id);
      return { id, name, isScript: kind === "regex", scripts: scriptNames(body.extensions) };
    }),
  );

/** Returns the names of the regex scripts in the extensions of a preset; those without a name are left out. */
function scriptNames(extensions: Unchecked): string[] {
  const scripts: Unchecked = extensions?.regex_scripts;
  const names = Array.isArray(scripts) ? scripts.map((script) => String(script?.scriptName ?? "").trim()) : [];
  return shownNames(names);
}

/** Returns the names that a question shows: the first ones, without empty ones and repetitions. */
const shownNames = (names: string[]) => [...new Set(names)].filter(Boolean).slice(0, MAX_NAMES);

/**
 * Answers whether the scripts of presets may run. Returns whether the answers are saved.
 * @param allowed the presets whose scripts may run, of those in question
 */
export async function answerPresetScripts(ids: Id[], allowed: Set<Id>) {
  const save = async () => {
    for (const id of ids) await api.answerPresetScripts(id, allowed.has(id));
    return true;
  };
  const isSaved = (await attempt(save)) ?? false;
  scriptsChanged();
  return isSaved;
}

/** The key of a plugin's permissions among the accepted settings. */
export const grantsKey = (plugin: string) => `grants ${plugin}`;

/** Returns the accepted settings as `PATCH` takes them. */
function acceptedChange(session: Session, requested: RequestedSettings, accepted: Set<string>): api.SessionChange {
  const { recall, grants: _, ...others } = requested;
  const taken = Object.fromEntries(Object.entries(others).filter(([name]) => accepted.has(name)));
  return { ...taken, ...(recall && accepted.has("recall") && { recall: { ...session.recall, enabled: true } }) };
}

/** Returns the choices with the accepted permissions. A plugin gets none that it does not ask for. */
function withGrants(choices: PluginChoice[], accepted: [string, string[]][], all: PluginInfo[]): PluginChoice[] {
  const granted = new Map(accepted);
  return choices.map((choice) => {
    const asked = (all.find(({ id }) => id === choice.id)?.permissions ?? []).map(({ name }) => name);
    const more = (granted.get(choice.id) ?? []).filter((name) => asked.includes(name));
    return { ...choice, grants: [...new Set([...(choice.grants ?? []), ...more])] };
  });
}

/**
 * Answers the question. Permissions are granted first, so that a refusal leaves the question open.
 * @param accepted the names of the accepted settings
 */
export async function answerRequestedSettings(accepted: Set<string>) {
  const session = store.session.peek();
  const requested = session?.requestedSettings;
  if (!session || !requested) return true;
  const saved = await attempt(async () => {
    const grants = Object.entries(requested.grants ?? {}).filter(([plugin]) => accepted.has(grantsKey(plugin)));
    if (grants.length > 0) await setPlugins(session.id, withGrants(session.plugins, grants, await plugins()));
    return api.answerRequest(session.id, acceptedChange(session, requested, accepted));
  });
  if (!saved) return false;
  if (store.session.peek()?.id === saved.id) store.updateSession(saved);
  await refresh();
  return true;
}
