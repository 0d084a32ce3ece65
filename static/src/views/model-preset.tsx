// The preset that a session without a preset of its own uses, because it belongs to the session's model.
import { h, useSignal } from "../../vendor/preact.js";
import { presetOfModel } from "../actions/preset-edit.ts";
import { t } from "../lib/i18n.ts";
import { session } from "../model/session-store.ts";
import { useLatestResult } from "./use-query.tsx";
import type { Id } from "../lib/wire.d.ts";

/**
 * Reads this preset from the server.
 * @param about the known presets; the preset is read again when they change
 */
export function useModelPreset(about: unknown): { id: Id; model: string } | null {
  const held = useSignal<{ id: Id; model: string } | null>(null);
  const open = session.value;
  useLatestResult(
    () => (open && !open.presetId ? presetOfModel() : Promise.resolve(null)),
    (result) => (held.value = result),
    [open?.id, open?.presetId, open?.model, about],
  );
  // After the user has chosen a preset, the last answer no longer applies.
  return open && !open.presetId ? held.value : null;
}

/** The line that says why this preset is used, and how the session gets another one. */
export const ModelPresetNote = ({ model }: { model: string }) => <p class="aside">{t("preset.held", { model })}</p>;
