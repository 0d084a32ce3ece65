// The question before a model server is forgotten. Loaded when first asked.
import { h, html } from "../../vendor/preact.js";
import { forget } from "../actions/providers.js";
import { addEnglish, t } from "../lib/i18n.js";
import words from "../lib/strings/en-settings.js";
import { openDialog } from "../model/page.js";
import { Modal } from "./parts.js";

addEnglish(words);

/** @param {{id: string}} props */
export function Forget({ id }) {
  const yes = (/** @type {Event} */ event) => {
    event.preventDefault();
    openDialog(null);
    void forget(id);
  };
  return h(Modal, { title: t("settings.remove", { name: id }) }, html`<form onSubmit=${yes}><p>${t("settings.removeText", { name: id })}</p>
    <div class="actions"><button type="button" autofocus onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary danger">${t("settings.removeYes")}</button></div></form>`);
}
