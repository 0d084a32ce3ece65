// What other programs keep for their prompts: listed, looked at, named, taken along, deleted, brought in.
import { download } from "../lib/download.js";
import { t } from "../lib/i18n.js";
import { openDialog, tell } from "../model/page.js";
import { scriptsChanged } from "../model/scripted.js";
import * as story from "../model/story.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/presets.js";
import { tellOf } from "./cards.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";
import { restore } from "./library.js";

/** @import { Id, Preset } from "../lib/wire.d.ts" */

export const readPresets = () =>
  attempt(async () => {
    /** @type {Preset[]} */
    const all = [];
    for (let next = /** @type {string | null | undefined} */ (undefined); next !== null; ) {
      const page = await api.presets(next);
      all.push(...page.items);
      next = page.next;
    }
    return all;
  });

/** All that one says. @param {Id} id */
export const readPreset = (id) => attempt(() => api.preset(id));

/** @param {Id} id @param {string} name */
export const renamePreset = (id, name) => attempt(() => api.rename(id, name));

/** By which preset the prompts of the open story are made from now on; null: as the server makes them. @param {Id | null} presetId */
export async function usePreset(presetId) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.useIn(open.id, presetId)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ presetId });
}

/** The regex scripts that have a part in a story. @param {Id} sid */
export const readScripts = (sid) => attempt(() => api.scriptsOf(sid));

/** Whose regex scripts change what is sent and shown in the open story from now on. @param {{card: boolean, preset: boolean}} regexScripts */
export async function allowScripts(regexScripts) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.allowScripts(open.id, regexScripts)));
  if (changed && story.session.peek()?.id === changed.id) story.putSession({ regexScripts });
}

/** Keeps a regex script of one's own, and says what keeps it from running. @param {Id | null} id null: a new one @param {string} name @param {Record<string, unknown>} body */
export const keepScript = (id, name, body) =>
  attempt(async () => {
    const { problem } = await api.keepScript(id, name, body);
    scriptsChanged();
    if (problem) tell({ tone: "error", text: t("script.problem", { name, why: problem }) });
    return true;
  });

/** @param {Id} id */
export const takePreset = (id) => download(api.presetFile(id));

/** @param {Preset} preset @param {() => unknown} read hears when the list is another one: it is in the trash, or back again */
export async function removePreset({ id, name }, read) {
  if (!(await attempt(async () => (await api.remove(id), true)))) return false;
  scriptsChanged();
  const back = async () => (await restore(id)) && (scriptsChanged(), read());
  tell({ tone: "quiet", text: t("notice.trashed", { name }), act: { label: "command.restore", run: () => void back() } });
  await read();
  return true;
}

/** Brings a file of presets in, and says what came along, or that all of it was here before. @param {File} file @param {string | undefined} kind @param {Set<Id>} known @returns {Promise<"in" | "unsure" | undefined>} unsure: nothing in it says what it is for */
export const bringPreset = (file, kind, known) =>
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

register({ id: "page.presets", label: "command.presets", icon: "preset", scope: "page", run: () => openDialog({ kind: "presets", presetId: null }) });
