// The preset that makes the prompts of the open story without having been chosen: it is for the story's model.
import { html, useSignal } from "../../vendor/preact.js";
import { presetOfModel } from "../actions/preset-edit.js";
import { t } from "../lib/i18n.js";
import { session } from "../model/story.js";
import { useLatest } from "./reading.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** What the server says it is. @param {unknown} about hears of what may have changed: the presets as they are known @returns {{id: Id, model: string} | null} */
export function useHeld(about) {
  const held = useSignal(/** @type {{id: Id, model: string} | null} */ (null));
  const open = session.value;
  useLatest(() => (open && !open.presetId ? presetOfModel() : Promise.resolve(null)), (came) => (held.value = came), [open?.id, open?.presetId, open?.model, about]);
  // Who has just chosen one is not told of the one before.
  return open && !open.presetId ? held.value : null;
}

/** Why it is used here, and how the story gets another one. @param {{model: string}} props */
export const Held = ({ model }) => html`<p class="aside">${t("preset.held", { model })}</p>`;
