// Stories and characters that come in from files on the first page: the way to bring one, how far each is, and what is wrong with those
// that cannot. Loaded apart from the page.
import { h, html, useEffect, useSignal } from "../../vendor/preact.js";
import "../actions/lore.js";
import { bringIn } from "../actions/transfers.js";
import { addEnglish, t } from "../lib/i18n.js";
import cards from "../lib/strings/en-cards.js";
import words from "../lib/strings/en-edit.js";
import lore from "../lib/strings/en-lore.js";
import { dropIncoming, incoming } from "../model/transfers.js";
import { CommandButton, icon } from "./parts.js";

/** @import { Incoming } from "../model/transfers.js" */

addEnglish(words);
addEnglish(cards);
addEnglish(lore);

export const Transfers = () =>
  html`${h(CommandButton, { id: "page.lore", wide: true })}${incoming.value.length > 0 && html`<ul class="incoming" aria-label=${t("import.list")}>${incoming.value.map((one) => h(Row, { key: one.n, one }))}</ul>`}
    ${h(CommandButton, { id: "page.importCard", wide: true })}${h(CommandButton, { id: "page.import", wide: true })}${h(DropPlace, {})}`;

/** @param {{one: Incoming}} props */
function Row({ one: { n, name, phase, share, fault } }) {
  if (fault) return html`<li><div class="failure" role="alert">${icon("warning")}<div><p><strong>${name}</strong></p><p>${fault.text}</p>${fault.hint && html`<p class="hint">${fault.hint}</p>`}<p class="hint">${t("import.nothing")}</p>
    <div class="actions"><button type="button" onClick=${() => dropIncoming(n)}>${t("close")}</button></div></div></div></li>`;
  return html`<li class="coming"><span>${name}</span><small>${t(`import.${phase}`)}</small><progress aria-label=${name} max="1" value=${phase === "waiting" ? null : share}></progress></li>`;
}

/** A file that is dropped anywhere on the page comes in. */
function DropPlace() {
  const isOver = useSignal(false);
  useEffect(() => {
    const hear = (/** @type {DragEvent} */ event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      isOver.value = event.type === "dragover" || (event.type === "dragleave" && event.relatedTarget !== null);
      if (event.type === "drop") void bringIn([...event.dataTransfer.files]);
    };
    const kinds = /** @type {const} */ (["dragover", "dragleave", "drop"]);
    kinds.forEach((kind) => addEventListener(kind, hear));
    return () => kinds.forEach((kind) => removeEventListener(kind, hear));
  }, []);
  return isOver.value ? html`<p class="drop" role="status">${icon("upload")}${t("import.drop")}</p>` : null;
}
