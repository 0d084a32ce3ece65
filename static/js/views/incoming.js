// Stories that come in from files: how far each is, and what is wrong with those that cannot. Loaded when there is one.
import { h, html } from "../../vendor/preact.js";
import { addEnglish, t } from "../lib/i18n.js";
import words from "../lib/strings/en-edit.js";
import { dropIncoming, incoming } from "../model/transfers.js";
import { icon } from "./parts.js";

/** @import { Incoming } from "../model/transfers.js" */

addEnglish(words);

export const IncomingStories = () => html`<ul class="incoming" aria-label=${t("import.list")}>${incoming.value.map((one) => h(Row, { key: one.n, one }))}</ul>`;

/** @param {{one: Incoming}} props */
function Row({ one: { n, name, phase, share, fault } }) {
  if (fault) return html`<li><div class="failure" role="alert">${icon("warning")}<div><p><strong>${name}</strong></p><p>${fault.text}</p>${fault.hint && html`<p class="hint">${fault.hint}</p>`}<p class="hint">${t("import.nothing")}</p>
    <div class="actions"><button type="button" onClick=${() => dropIncoming(n)}>${t("close")}</button></div></div></div></li>`;
  return html`<li class="coming"><span>${name}</span><small>${t(`import.${phase}`)}</small><progress aria-label=${name} max="1" value=${phase === "waiting" ? null : share}></progress></li>`;
}
