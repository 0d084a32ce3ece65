// Presets of other programs: listing, viewing, renaming, exporting, deleting, importing.
import { messageText } from "../lib/coded-message.ts";
import { download } from "../lib/download.ts";
import { t } from "../lib/i18n.ts";
import { dialog, openDialog, notify } from "../model/page.ts";
import { scriptsChanged } from "../model/display-scripts.ts";
import * as store from "../model/session-store.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/presets.ts";
import { notifyImported } from "./cards.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { restore } from "./library.ts";
import type { Id, Preset } from "../lib/wire.d.ts";

export const readPresets = () =>
  attempt(async () => {
    const all: Preset[] = [];
    for (let next = undefined as string | null | undefined; next !== null; ) {
      const page = await api.presets(next);
      all.push(...page.items);
      next = page.next;
    }
    return all;
  });

/** Reads a whole preset. */
export const readPreset = (id: Id) => attempt(() => api.preset(id));

export const renamePreset = (id: Id, name: string) => attempt(() => api.rename(id, name));

/** Sets the preset of the open session; null: Clotho's own prompt. */
export async function setSessionPreset(presetId: Id | null) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.setSessionPreset(open.id, presetId)));
  if (changed && store.session.peek()?.id === changed.id) store.updateSession({ presetId });
}

/** Reads the regex scripts that apply in a session. */
export const readScripts = (sid: Id) => attempt(() => api.scriptsOf(sid));

/** Sets whose regex scripts change the prompts and the display of the open session. */
export async function allowScripts(regexScripts: { card: boolean; preset: boolean }) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.allowScripts(open.id, regexScripts)));
  if (changed && store.session.peek()?.id === changed.id) store.updateSession({ regexScripts });
}

/**
 * Saves one of the user's own regex scripts, and reports what keeps it from running.
 * @param id null: a new one
 */
export const saveScript = (id: Id | null, name: string, body: Record<string, unknown>) =>
  attempt(async () => {
    const { failure } = await api.saveScript(id, name, body);
    scriptsChanged();
    if (failure)
      notify({ tone: "error", text: t("script.problem", { name, why: messageText("why.script", failure) }) });
    return true;
  });

export const downloadPreset = (id: Id) => download(api.presetFile(id));

/**
 * Moves a preset to the trash.
 * @param read is called when the list changed: after the deletion, and after it is restored
 */
export async function removePreset({ id, name }: Preset, read: () => unknown) {
  if (!(await attempt(async () => (await api.remove(id), true)))) return false;
  scriptsChanged();
  const back = async () => (await restore(id)) && (scriptsChanged(), read());
  notify({
    tone: "quiet",
    text: t("notice.trashed", { name }),
    action: { label: "command.restore", run: () => void back() },
  });
  await read();
  return true;
}

/**
 * Imports a file of presets. Reports what was imported, or that everything was already here.
 * @returns "unsure" if the file does not show what kind of preset it is
 */
export const importPreset = (
  file: File,
  kind: string | undefined,
  known: Set<Id>,
): Promise<"in" | "unsure" | undefined> =>
  attempt(async () => {
    try {
      const { items, report } = await api.sendPresets(file, kind);
      scriptsChanged();
      const name = items.map(({ name }) => name).join(", ");
      if (items.every(({ id }) => known.has(id))) notify({ tone: "quiet", text: t("notice.wasHere", { name }) });
      else notifyImported({ id: null, name, report });
      const asking = items.filter(({ requestedSettings }) => requestedSettings);
      if (asking.length > 0) askForPresetScripts(asking.map(({ id }) => id));
      return "in";
    } catch (error) {
      if (error instanceof ApiError && error.details.field === "kind") return "unsure";
      throw error;
    }
  });

/** Asks whether the regex scripts of presets may run, and returns to the open dialog. */
export const askForPresetScripts = (presetIds: Id[]) =>
  openDialog({ kind: "presetScripts", presetIds, back: dialog.peek() });

register({
  id: "page.presets",
  label: "command.presets",
  icon: "preset",
  scope: "page",
  run: () => openDialog({ kind: "presets", presetId: null }),
});
