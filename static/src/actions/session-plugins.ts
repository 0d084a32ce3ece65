// The rules of the open session: active plugins, their settings and their permissions.
import { addEnglish, t } from "../lib/i18n.ts";
import { dialog, openDialog, notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { session as readSession } from "../net/api.ts";
import * as api from "../net/session-plugins.ts";
import { plugin, plugins } from "../net/workshop.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { onFrame, refreshDisplay, refresh } from "./session-sync.ts";
import type { Failure, PluginChoice, PluginInfo } from "../lib/wire.d.ts";

/** Reads all plugins, and the choices of the open session. */
export async function readSessionPlugins() {
  const open = store.session.peek();
  const [all, now] = await Promise.all([plugins(), open ? readSession(open.id) : null]);
  return { all, chosen: now?.plugins ?? [] };
}

/** Reads a plugin with its settings; null if that fails. */
export const readPluginSettings = (id: string) => plugin(id).catch(() => null);

const sortedJson = (list: PluginChoice[] | undefined) =>
  JSON.stringify(
    (list ?? []).map(({ id, enabled = true, config = {}, grants }) => [
      id,
      enabled,
      Object.entries(config).sort(),
      [...(grants ?? [])].sort(),
    ]),
  );

/**
 * Sets the plugins of the open session, unless somebody else changed them since they were read.
 * @returns probable mistakes in the settings, which do not stop them from working
 */
export const saveSessionPlugins = (
  wanted: PluginChoice[],
  was: PluginChoice[],
): Promise<Failure[] | "changed" | undefined> =>
  attempt(async () => {
    const sid = store.session.peek()?.id ?? "";
    const now = await readSession(sid);
    if (sortedJson(now.plugins) !== sortedJson(was)) return "changed";
    const { plugins: saved, problems } = await api.setPlugins(sid, wanted);
    if (store.session.peek()?.id === sid) store.updateSession({ plugins: saved });
    await refresh();
    return problems;
  });

/** Sets the values model of the open session. */
export async function setValuesModel(model: string | null) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.setValuesModel(open.id, model)));
  if (changed && store.session.peek()?.id === changed.id)
    store.updateSession({ valuesModel: changed.valuesModel ?? null });
}

// Permissions that new code asks for and the session has not granted

/** Returns the permissions of a plugin that were neither granted nor deliberately refused. */
const missingPermissions = ({ permissions = [] }: PluginInfo, { grants, refused }: PluginChoice) =>
  permissions.filter(({ name }) => !grants?.includes(name) && !refused?.includes(name));

/** Returns the choices with the permissions that the user saw and did not grant, so that nobody is asked again. */
export const withRefusedPermissions = (all: PluginInfo[], wanted: PluginChoice[]): PluginChoice[] =>
  wanted.map((choice) => {
    const asked = (all.find(({ id }) => id === choice.id)?.permissions ?? []).map(({ name }) => name);
    const grants = choice.grants ?? asked;
    return { ...choice, refused: asked.filter((name) => !grants.includes(name)) };
  });

const isAnyPlaying = (ids: string[]) =>
  (store.session.peek()?.plugins ?? []).some(({ id, enabled = true }) => enabled && ids.includes(id));

onFrame((frame) => {
  if (frame.type === "plugins.changed" && isAnyPlaying(frame.ids)) void refreshDisplay().then(askForPermissions);
});

/** Shows a notice if the code of an active plugin asks for more than the session grants. Read errors are ignored. */
export async function askForPermissions() {
  const open = store.session.peek();
  const playing = (open?.plugins ?? []).filter(({ enabled = true }) => enabled);
  if (!open || playing.length === 0 || dialog.peek()?.kind === "plugins") return;
  const all = await plugins().catch(() => []);
  if (store.session.peek()?.id !== open.id) return;
  const asking = playing.flatMap((choice) => {
    const info = all.find(({ id }) => id === choice.id);
    return info && missingPermissions(info, choice).length > 0 ? [info.title || info.id] : [];
  });
  if (asking.length === 0) return;
  // The strings are loaded with the dialog, which may not have been opened yet.
  addEnglish((await import("../lib/strings/en-plugins.ts")).default);
  notify({
    tone: "quiet",
    stays: true,
    text: t("storyRules.wantsMore", { names: asking.join(", ") }),
    action: { label: "storyRules.look", run: () => openDialog({ kind: "plugins" }) },
  });
}

register({
  id: "session.rules",
  label: "command.rules",
  icon: "dice",
  scope: "page",
  enabled: () => store.session.value !== null,
  run: () => openDialog({ kind: "plugins" }),
});
