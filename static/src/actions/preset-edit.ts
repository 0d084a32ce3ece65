// Editing a preset: what is changed of it and nothing else, and the way back.
import { signal } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { orderOf, partsOf, seenBefore, wayBack } from "../lib/preset.ts";
import { tell } from "../model/page.ts";
import * as story from "../model/story.ts";
import { ApiError } from "../net/api.ts";
import { preset as read } from "../net/presets.ts";
import * as api from "../net/preset-edit.ts";
import { attempt } from "./failure.ts";
import type { Id, PresetChange, Trace, WholePreset } from "../lib/wire.d.ts";

/** What became of a change: `changed` names what somebody else has changed meanwhile. */
type Written =
  | { is: "written"; preset: WholePreset }
  | { is: "changed"; fields: string[]; now: PresetChange }
  | { is: "gone" }
  | undefined;

const write = (id: Id, change: PresetChange, expected: PresetChange): Promise<Written> =>
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

/** A preset that is being edited. */
export function editing(id: Id) {
  const preset = signal<WholePreset | null>(null);
  /** What takes the last changes back, the last one first. */
  const back = signal<PresetChange[]>([]);
  /** Forms begin anew where what they show was taken back or is somebody else's. */
  const version = signal(0);
  /** What stands in the way of everything: it could not be read, or is gone. */
  const trouble = signal<"unread" | "gone" | null>(null);
  const load = async () => {
    const found = await attempt(() => read(id));
    if (found) preset.value = found;
    trouble.value = found ? null : "unread";
  };
  /** Changes go one after another, each made of what the one before has left. */
  let queue: Promise<unknown> = Promise.resolve();
  const one = async (make: (preset: WholePreset) => PresetChange | null, isBack: boolean) => {
    const before = preset.peek();
    const change = before && make(before);
    if (!before || !change) return undefined;
    const came = await write(id, change, seenBefore(before, change));
    if (came?.is === "written") {
      preset.value = came.preset;
      if (isBack) back.value = back.peek().slice(1);
      else back.value = [wayBack(before, change), ...back.peek()].slice(0, 50);
    }
    if (came?.is === "gone") trouble.value = "gone";
    if (came?.is === "changed") await load();
    return came;
  };
  const change = (make: (preset: WholePreset) => PresetChange | null) => {
    const done = queue.then(() => one(make, false));
    queue = done;
    return done;
  };
  /** The same for what needs no form: who else has changed it is told, and shown. */
  const turn = async (make: (preset: WholePreset) => PresetChange | null) => {
    const came = await change(make);
    if (came?.is === "changed")
      tell({ tone: "error", text: t("presetEdit.meanwhile"), hint: t("presetEdit.meanwhileHint") });
    return came?.is === "written";
  };
  const undo = async () => {
    const done = queue.then(() => one(() => back.peek()[0] ?? null, true));
    queue = done;
    const came = await done;
    if (came?.is === "changed") tell({ tone: "error", text: t("presetEdit.meanwhile"), hint: t("presetEdit.notBack") });
    version.value += 1;
  };
  return { id, preset, back, version, trouble, load, change, turn, undo };
}

export type Editing = ReturnType<typeof editing>;

/** Takes a part out; it can be had back. */
export async function dropPart(edit: Editing, identifier: string, name: string) {
  const isGone = await edit.turn((preset) =>
    partsOf(preset).some((part) => part.identifier === identifier)
      ? { removed: [identifier], order: orderOf(preset).filter((row) => row.identifier !== identifier) }
      : null,
  );
  if (isGone)
    tell({
      tone: "quiet",
      text: t("presetEdit.dropped", { name }),
      act: { label: "command.restore", run: () => void edit.undo() },
    });
  return isGone;
}

export const copyPreset = (from: Id | "own", name: string, keyFor: (request: unknown) => string) =>
  attempt(() => api.copyPreset(from, name, keyFor([from, name])));

/**
 * The prompt that the open story would send by a preset, with what the reader is writing or some words in its place.
 * @returns null: no story is open
 */
export async function promptBy(presetId: Id): Promise<Trace | ApiError | null> {
  const open = story.session.peek();
  const head = story.head.peek() ?? open?.activeLeafId;
  if (!open || !head) return null;
  const waits = story.nodeOf(head)?.role === "user";
  try {
    return await api.promptBy(open.id, {
      parentId: head,
      presetId,
      ...(!waits && { content: story.draft.peek().trim() || t("presetEdit.sample") }),
    });
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** The preset that makes the prompts of the open story because it is for its model, and the name by which it is. */
export async function presetOfModel(): Promise<{ id: Id; model: string } | null> {
  const open = story.session.peek();
  const head = story.head.peek() ?? open?.activeLeafId;
  if (!open || !head) return null;
  const waits = story.nodeOf(head)?.role === "user";
  // A preview equals the send; where none can be made, nothing is said.
  const found = await api
    .promptBy(open.id, { parentId: head, ...(!waits && { content: t("presetEdit.sample") }) })
    .catch(() => null);
  const by = found?.preset;
  return by?.by === "model" && by.id ? { id: by.id, model: by.model ?? "" } : null;
}

/** The parts of a preset, for who only wants to know what they are called: none where it is gone. */
export const readParts = (id: Id) => read(id).then(partsOf, () => []);
