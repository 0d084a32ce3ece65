// The preset that makes the prompts of the open story without having been chosen: it is for the story's model.
import { h, useSignal } from "../../vendor/preact.js";
import { presetOfModel } from "../actions/preset-edit.ts";
import { t } from "../lib/i18n.ts";
import { session } from "../model/story.ts";
import { useLatest } from "./reading.tsx";
import type { Id } from "../lib/wire.d.ts";

/**
 * What the server says it is.
 * @param about hears of what may have changed: the presets as they are known
 */
export function useHeld(about: unknown): { id: Id; model: string } | null {
  const held = useSignal<{ id: Id; model: string } | null>(null);
  const open = session.value;
  useLatest(
    () => (open && !open.presetId ? presetOfModel() : Promise.resolve(null)),
    (came) => (held.value = came),
    [open?.id, open?.presetId, open?.model, about],
  );
  // Who has just chosen one is not told of the one before.
  return open && !open.presetId ? held.value : null;
}

/** Why it is used here, and how the story gets another one. */
export const Held = ({ model }: { model: string }) => <p class="aside">{t("preset.held", { model })}</p>;
