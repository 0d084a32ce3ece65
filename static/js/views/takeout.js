// In which form a story is taken along. Loaded when first opened.
import { h, html } from "../../vendor/preact.js";
import { takeAlong } from "../actions/takeout.js";
import { addEnglish, t } from "../lib/i18n.js";
import words from "../lib/strings/en-cards.js";
import { openDialog } from "../model/page.js";
import { Modal, icon } from "./parts.js";

/** @import { Dialog } from "../model/page.js" */
/** @import { StoryForm } from "../net/transfers.js" */

addEnglish(words);

/** The whole story goes out in one form; the others have one line. */
const LINES = /** @type {const} */ (["sillytavern", "markdown", "html"]);

/** @param {{open: Extract<Dialog, {kind: "takeout"}>}} props */
export function TakeOut({ open: { sid, title, leaf } }) {
  /** @type {readonly StoryForm[]} */
  const forms = leaf ? LINES : ["session", ...LINES];
  const take = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const format = /** @type {StoryForm} */ (new FormData(/** @type {HTMLFormElement} */ (event.target)).get("form"));
    takeAlong(sid, { format, ...(leaf && { leaf }) });
    openDialog(null);
  };
  return h(Modal, { title: t("takeout.title", { name: title }) }, html`<form onSubmit=${take}>
    <fieldset><legend>${t(leaf ? "takeout.here" : "takeout.form")}</legend>${forms.map(
      (form, n) => html`<label key=${form} class="check"><input type="radio" name="form" value=${form} defaultChecked=${n === 0} autofocus=${n === 0} /><span>${t(`takeout.${form}`)}<small>${t(`takeout.${form}Hint`)}</small></span></label>`,
    )}</fieldset>
    <div class="actions"><button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary">${icon("download")}<span>${t("takeout.take")}</span></button></div></form>`);
}
