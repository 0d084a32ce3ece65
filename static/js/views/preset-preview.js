// The prompt that the open story would send by a preset: made anew after each change.
import { h, html, useSignal } from "../../vendor/preact.js";
import { promptBy } from "../actions/preset-edit.js";
import { wordsFor } from "../actions/failure.js";
import { excerpt } from "../lib/excerpt.js";
import { t, wordFor } from "../lib/i18n.js";
import { partsOf } from "../lib/preset.js";
import { plain, sentence } from "../lib/text.js";
import { ApiError } from "../net/api.js";
import { Waiting } from "./parts.js";
import { useLatest } from "./reading.js";
import { slotName } from "./slots.js";

/** @import { Trace, WholePreset } from "../lib/wire.d.ts" */

/** So much of a text is looked at for how it begins. */
const MOST_TEXT = 1000;

/** @param {{preset: WholePreset}} props */
export function Preview({ preset }) {
  const known = useSignal(/** @type {Trace | ApiError | null} */ (null));
  useLatest(() => promptBy(preset.id), (came) => came && (known.value = came), [preset.id, preset.updatedAt]);
  const found = known.value;
  if (!found) return h(Waiting, { rows: 4 });
  if (found instanceof ApiError) {
    const { text, hint } = wordsFor(found);
    return html`<p class="aside bad">${text} ${hint}</p>`;
  }
  const { messages = [], blueprint = [], tokens } = found;
  const error = /** @type {any} */ (found).error;
  const left = blueprint.filter((block) => block.kept === false);
  return html`<p class="aside">${t("presetEdit.previewText")}${tokens && html` ${tokens.by === "estimate" ? "≈ " : ""}${t("why.tokens", { n: tokens.count })}.`}</p>
    ${error && html`<p class="aside bad">${sentence(error.message)} ${sentence(error.hint ?? "")}</p>`}
    <ol class="preview">${messages.map((message, i) => html`<li key=${i}><details><summary><span class="chip">${wordFor(`presetEdit.role.${message.role}`) || message.role}</span> ${message.name ? html`<b>${message.name}</b> ` : ""}${excerpt(plain(message.content.slice(0, MOST_TEXT)), 140)}</summary><pre tabindex="0">${message.content}</pre></details></li>`)}</ol>
    ${left.length > 0 && html`<p>${t("presetEdit.left")}</p><ul class="blocks">${left.map((block, i) => html`<li key=${i} class="dropped"><b>${slotName(block, partsOf(preset))}</b> <small>${wordFor(`why.left.${block.why}`) || block.why}</small></li>`)}</ul>`}`;
}
