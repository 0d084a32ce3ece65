// What the shelves of kept things have in common: a form for a name, and a place to drop files on.
import { html, useSignal } from "../../vendor/preact.js";
import { t } from "../lib/i18n.js";
import { icon } from "./parts.js";
import { takeFocus } from "./sure.js";

/** @import { Key } from "../lib/i18n.js" */

/** @param {{name: string, save: (name: string) => unknown, done: () => void}} props */
export function NameForm({ name, save, done }) {
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const next = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("name") ?? "").trim();
    if (next) void save(next);
  };
  return html`<form onSubmit=${submit}><label>${t("lore.fieldName")}<input name="name" required maxlength="200" ref=${takeFocus} defaultValue=${name} /></label>
    <div class="actions"><button type="button" onClick=${done}>${t("cancel")}</button><button class="primary">${t("save")}</button></div></form>`;
}

/** What is dropped here comes in as what stands here, and not as what the page behind would take it for. @param {{text: Key, bring: (files: File[]) => unknown, children?: import("../../vendor/preact.js").ComponentChildren}} props */
export function DropPlace({ text, bring, children }) {
  const isOver = useSignal(false);
  const hear = (/** @type {DragEvent} */ event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    isOver.value = event.type === "dragover";
    if (event.type === "drop") void bring([...event.dataTransfer.files]);
  };
  return html`<div class="stash" onDragOver=${hear} onDragLeave=${hear} onDrop=${hear}>${isOver.value && html`<p class="drop" role="status">${icon("upload")}${t(text)}</p>`}${children}</div>`;
}
