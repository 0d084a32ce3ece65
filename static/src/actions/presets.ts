// What other programs keep for their prompts: listed, looked at, named, taken along, deleted, brought in.
import { download } from "../lib/download.ts";
import { t } from "../lib/i18n.ts";
import { openDialog, tell } from "../model/page.ts";
import { scriptsChanged } from "../model/scripted.ts";
import * as story from "../model/story.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/presets.ts";
import { tellOf } from "./cards.ts";
import { register } from "./commands.ts";
import { attempt } from "./failure.ts";
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

/** All that one says. */
export const readPreset = (id: Id) => attempt(() => api.preset(id));

export const renamePreset = (id: Id, name: string) => attempt(() => api.rename(id, name));

/** By which preset the prompts of the open story are made from now on; null: as the server makes them. */
export async function usePreset(presetId: Id | null) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.useIn(open.id, presetId)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ presetId });
}

/** The regex scripts that have a part in a story. */
export const readScripts = (sid: Id) => attempt(() => api.scriptsOf(sid));

/** Whose regex scripts change what is sent and shown in the open story from now on. */
export async function allowScripts(regexScripts: { card: boolean; preset: boolean }) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.allowScripts(open.id, regexScripts)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ regexScripts });
}

/**
 * Keeps a regex script of one's own, and says what keeps it from running.
 * @param id null: a new one
 */
export const keepScript = (id: Id | null, name: string, body: Record<string, unknown>) =>
  attempt(async () => {
    const { problem } = await api.keepScript(id, name, body);
    scriptsChanged();
    if (problem) tell({ tone: "error", text: t("script.problem", { name, why: problem }) });
    return true;
  });

export const takePreset = (id: Id) => download(api.presetFile(id));

/** @param read hears when the list is another one: it is in the trash, or back again */
export async function removePreset({ id, name }: Preset, read: () => unknown) {
  if (!(await attempt(async () => (await api.remove(id), true)))) return false;
  scriptsChanged();
  const back = async () => (await restore(id)) && (scriptsChanged(), read());
  tell({
    tone: "quiet",
    text: t("notice.trashed", { name }),
    act: { label: "command.restore", run: () => void back() },
  });
  await read();
  return true;
}

/**
 * Brings a file of presets in, and says what came along, or that all of it was here before.
 * @returns unsure: nothing in it says what it is for
 */
export const bringPreset = (
  file: File,
  kind: string | undefined,
  known: Set<Id>,
): Promise<"in" | "unsure" | undefined> =>
  attempt(async () => {
    try {
      const { items, report } = await api.sendPresets(file, kind);
      scriptsChanged();
      const name = items.map(({ name }) => name).join(", ");
      if (items.every(({ id }) => known.has(id))) tell({ tone: "quiet", text: t("notice.wasHere", { name }) });
      else tellOf({ id: null, name, report });
      return "in";
    } catch (error) {
      if (error instanceof ApiError && error.details.field === "kind") return "unsure";
      throw error;
    }
  });

register({
  id: "page.presets",
  label: "command.presets",
  icon: "preset",
  scope: "page",
  run: () => openDialog({ kind: "presets", presetId: null }),
});
