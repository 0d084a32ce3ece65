// One preset that makes prompts, being edited: its prompts in their order, its other texts, what it asks of the model. Loaded when
// first opened.
import { h, html, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { usePreset } from "../actions/presets.js";
import { copyPreset, editing } from "../actions/preset-edit.js";
import { addEnglish, t } from "../lib/i18n.js";
import { whenLookedAt } from "../lib/looked.js";
import { keyring } from "../lib/once.js";
import words from "../lib/strings/en-preset-edit.js";
import { forgetUnder } from "../model/begun.js";
import { session } from "../model/story.js";
import { Held, useHeld } from "./held.js";
import { Blank, Waiting, icon, isBegun } from "./parts.js";
import { begunIn } from "./preset-part.js";
import { Preview } from "./preset-preview.js";
import { Prompts } from "./preset-prompts.js";
import { Models, Sampling, Texts } from "./preset-settings.js";
import { Sure, takeFocus } from "./sure.js";

/** @import { ComponentChildren } from "../../vendor/preact.js" */
/** @import { Key } from "../lib/i18n.js" */
/** @import { Id } from "../lib/wire.d.ts" */

addEnglish(words);

/** @param {{id: Id, back: () => void, goTo: (id: Id) => void}} props `goTo`: another preset to edit */
export function PresetEditor({ id, back, goTo }) {
  const edit = useRef(editing(id)).current;
  const keyFor = useRef(keyring()).current;
  useEffect(() => {
    void edit.load();
    return whenLookedAt(() => edit.trouble.peek() === null && void edit.load());
  }, []);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  /** What is done once it is certain that what was typed may go. */
  const asking = useSignal(/** @type {(() => unknown) | null} */ (null));
  const ask = (/** @type {Element | null} */ within, /** @type {() => unknown} */ act) => void (isBegun(within) ? (asking.value = act) : act());
  const surely = (/** @type {() => unknown} */ act) => () => ask(box.current, act);
  const preset = edit.preset.value;
  const serves = session.value?.presetId === id;
  const held = useHeld(preset?.updatedAt);
  const copy = async () => {
    const made = await copyPreset(id, t("presetEdit.copyOf", { name: preset?.name ?? "" }).slice(0, 200), keyFor);
    if (made) goTo(made.id);
  };
  const drop = () => {
    const act = asking.peek();
    asking.value = null;
    forgetUnder(begunIn(edit));
    void act?.();
  };
  const head = html`<div class="actions start"><button type="button" ref=${takeFocus} onClick=${surely(back)}>${icon("back")}<span>${t("presetEdit.back")}</span></button>
    ${preset && html`${session.value && html`<button type="button" aria-pressed=${serves} onClick=${() => usePreset(serves ? null : id)}>${icon("play")}<span>${t(serves ? "preset.unuse" : "preset.use")}</span></button>`}
      <button type="button" onClick=${surely(copy)}>${icon("copy")}<span>${t("presetEdit.copy")}</span></button>
      <button type="button" aria-disabled=${edit.back.value.length === 0 ? "true" : null} onClick=${surely(() => edit.back.peek().length > 0 && edit.undo())}>${icon("undo")}<span>${t("presetEdit.undo")}</span></button>`}</div>${held?.id === id && h(Held, { model: held.model })}
    ${asking.value && h(Sure, { text: t("typed.text"), yes: t("typed.drop"), no: t("typed.keep"), act: drop, keep: () => (asking.value = null) })}`;
  if (edit.trouble.value === "gone") return html`${head}${h(Blank, { symbol: "warning", title: t("presetEdit.gone"), hint: t("presetEdit.goneHint") })}`;
  if (edit.trouble.value === "unread") return html`${head}${h(Blank, { symbol: "warning", title: t("preset.unread") }, html`<button type="button" class="primary" onClick=${edit.load}>${t("retry")}</button>`)}`;
  if (!preset) return html`${head}${h(Waiting, { rows: 5 })}`;
  if (!preset.effective) return html`${head}${h(Blank, { symbol: "warning", title: t("presetEdit.none"), hint: t("presetEdit.noneHint") })}`;
  const version = edit.version.value;
  return html`<div class="stash preset-editor" ref=${box}>${head}
    <section aria-label=${t("presetEdit.prompts")}><h3>${t("presetEdit.prompts")}</h3><p class="aside">${t("presetEdit.promptsText")}</p>${h(Prompts, { edit, preset, ask })}</section>
    ${h(Fold, { title: "presetEdit.sampling" }, h(Sampling, { key: version, edit, preset }))}
    ${h(Fold, { title: "presetEdit.texts" }, h(Texts, { key: version, edit, preset }))}
    ${h(Fold, { title: "presetEdit.models" }, h(Models, { key: version, edit, preset }))}
    ${session.value && h(Fold, { title: "presetEdit.preview" }, h(Preview, { preset }))}</div>`;
}

/** A part of the page that is drawn once it is opened. @param {{title: Key, children?: ComponentChildren}} props */
function Fold({ title, children }) {
  const met = useSignal(false);
  const isOpen = useSignal(false);
  const turn = (/** @type {Event} */ event) => {
    isOpen.value = /** @type {HTMLDetailsElement} */ (event.target).open;
    met.value ||= isOpen.peek();
  };
  return html`<details class="section-fold" onToggle=${turn}><summary>${t(title)}</summary>${met.value && html`<div>${children}</div>`}</details>`;
}
