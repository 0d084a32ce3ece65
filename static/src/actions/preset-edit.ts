// Editing presets: sends only what changed, and supports undo.
import { signal } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { orderOf, partsOf, expectedValues, inverseChange } from "../lib/preset.ts";
import { notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { ApiError } from "../net/api.ts";
import { preset as read } from "../net/presets.ts";
import * as api from "../net/preset-edit.ts";
import { attempt } from "./error-text.ts";
import type { Id, PresetChange, Trace, PresetContent } from "../lib/wire.d.ts";

/** The result of a change. `fields`: what somebody else changed meanwhile. */
type PresetWriteResult =
  | { is: "written"; preset: PresetContent }
  | { is: "changed"; fields: string[]; now: PresetChange }
  | { is: "gone" }
  | undefined;

const write = (id: Id, change: PresetChange, expected: PresetChange): Promise<PresetWriteResult> =>
  attempt(async () => {
    try {
      return { is: "written" as const, preset: await api.changePreset(id, change, expected) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === "conflict")
        return { is: "changed" as const, fields: error.details.fields ?? [], now: error.details.now ?? {} };
      if (error.code === "not_found") return { is: "gone" as const };
      throw error;
    }
  });

/** Returns the state and the actions of an editor for one preset. */
export function presetEditor(id: Id) {
  const preset = signal<PresetContent | null>(null);
  /** Changes that undo the last ones, newest first. */
  const back = signal<PresetChange[]>([]);
  /** Grows when forms must be rebuilt, because their content was undone or changed by somebody else. */
  const version = signal(0);
  /** What prevents all editing: the preset could not be read, or was deleted. */
  const trouble = signal<"unread" | "gone" | null>(null);
  const load = async () => {
    const found = await attempt(() => read(id));
    if (found) preset.value = found;
    trouble.value = found ? null : "unread";
  };
  /** Changes run one after the other. Each is based on the result of the previous one. */
  let queue: Promise<unknown> = Promise.resolve();
  const one = async (make: (preset: PresetContent) => PresetChange | null, isBack: boolean) => {
    const before = preset.peek();
    const change = before && make(before);
    if (!before || !change) return undefined;
    const result = await write(id, change, expectedValues(before, change));
    if (result?.is === "written") {
      preset.value = result.preset;
      if (isBack) back.value = back.peek().slice(1);
      else back.value = [inverseChange(before, change), ...back.peek()].slice(0, 50);
    }
    if (result?.is === "gone") trouble.value = "gone";
    if (result?.is === "changed") await load();
    return result;
  };
  const change = (make: (preset: PresetContent) => PresetChange | null) => {
    const done = queue.then(() => one(make, false));
    queue = done;
    return done;
  };
  /** Makes a change without a form. Reports and shows what somebody else changed. */
  const turn = async (make: (preset: PresetContent) => PresetChange | null) => {
    const result = await change(make);
    if (result?.is === "changed")
      notify({ tone: "error", text: t("presetEdit.meanwhile"), hint: t("presetEdit.meanwhileHint") });
    return result?.is === "written";
  };
  const undo = async () => {
    const done = queue.then(() => one(() => back.peek()[0] ?? null, true));
    queue = done;
    const result = await done;
    if (result?.is === "changed")
      notify({ tone: "error", text: t("presetEdit.meanwhile"), hint: t("presetEdit.notBack") });
    version.value += 1;
  };
  return { id, preset, back, version, trouble, load, change, turn, undo };
}

export type PresetEditing = ReturnType<typeof presetEditor>;

/** Removes a part. This can be undone. */
export async function removePart(edit: PresetEditing, identifier: string, name: string) {
  const isGone = await edit.turn((preset) =>
    partsOf(preset).some((part) => part.identifier === identifier)
      ? { removed: [identifier], order: orderOf(preset).filter((row) => row.identifier !== identifier) }
      : null,
  );
  if (isGone)
    notify({
      tone: "quiet",
      text: t("presetEdit.dropped", { name }),
      action: { label: "command.restore", run: () => void edit.undo() },
    });
  return isGone;
}

export const copyPreset = (from: Id | "own", name: string, keyFor: (request: unknown) => string) =>
  attempt(() => api.copyPreset(from, name, keyFor([from, name])));

/**
 * Returns the prompt that the open session would send with a preset. It uses the draft, or else a sample text.
 * @returns null if no session is open
 */
export async function previewPrompt(presetId: Id): Promise<Trace | ApiError | null> {
  const open = store.session.peek();
  const head = store.head.peek() ?? open?.activeLeafId;
  if (!open || !head) return null;
  const waits = store.nodeOf(head)?.role === "user";
  try {
    return await api.previewPrompt(open.id, {
      parentId: head,
      presetId,
      ...(!waits && { content: store.draft.peek().trim() || t("presetEdit.sample") }),
    });
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** Returns the preset that the open session uses because it is assigned to a model, with the name of that model. */
export async function presetOfModel(): Promise<{ id: Id; model: string } | null> {
  const open = store.session.peek();
  const head = store.head.peek() ?? open?.activeLeafId;
  if (!open || !head) return null;
  const waits = store.nodeOf(head)?.role === "user";
  // A preview equals the real prompt. If there is none, no preset is reported.
  const found = await api
    .previewPrompt(open.id, { parentId: head, ...(!waits && { content: t("presetEdit.sample") }) })
    .catch(() => null);
  const by = found?.preset;
  return by?.by === "model" && by.id ? { id: by.id, model: by.model ?? "" } : null;
}

/** Reads the parts of a preset, for their names; none if the preset is gone. */
export const readParts = (id: Id) => read(id).then(partsOf, () => []);
