// The names of a place: a bookmark stays on its message, the name of a branch moves on with what is written there.
import { h, html, useSignal } from "../../vendor/preact.js";
import { dropLabel, putLabel, renameLabel } from "../actions/stash.js";
import { t } from "../lib/i18n.js";
import { labelsOf } from "../model/arrangement.js";
import { openDialog } from "../model/page.js";
import { head } from "../model/story.js";
import { Modal, icon } from "./parts.js";
import { takeFocus } from "./sure.js";

/** @import { Id, Label } from "../lib/wire.d.ts" */

/** @param {{nid: Id}} props */
export function LabelPlace({ nid }) {
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const name = String(form.get("name") ?? "").trim();
    if (name && (await putLabel(nid, name, form.get("kind") === "branch"))) openDialog(null);
  };
  const isEnd = head.value === nid;
  const kind = (/** @type {"bookmark" | "branch"} */ value, /** @type {boolean} */ checked) =>
    html`<label class="check"><input type="radio" name="kind" value=${value} defaultChecked=${checked} /><span>${t(`label.${value}`)}<small>${t(`label.${value}Hint`)}</small></span></label>`;
  return h(Modal, { title: t("command.label") }, html`${labelsOf(nid).length > 0 && html`<ul class="label-list" aria-label=${t("label.here")}>${labelsOf(nid).map((label) => h(Row, { key: label.name, label }))}</ul>`}
    <form onSubmit=${save}><label>${t("label.name")}<input name="name" required maxlength="100" autofocus /></label>
      <fieldset><legend class="hidden">${t("label.kind")}</legend>${kind("bookmark", !isEnd)}${kind("branch", isEnd)}</fieldset>
      <div class="actions"><button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary">${t("save")}</button></div></form>`);
}

/** @param {{label: Label}} props */
function Row({ label }) {
  const { name, following } = label;
  const editing = useSignal(false);
  const button = (/** @type {string} */ words, /** @type {string} */ symbol, /** @type {() => unknown} */ act) =>
    html`<button type="button" class="round" aria-label=${words} title=${words} onClick=${act}>${icon(symbol)}</button>`;
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    const next = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("rename") ?? "").trim();
    if (next && next !== name) void renameLabel(label, next);
    editing.value = false;
  };
  return html`<li>${icon(following ? "branches" : "bookmark")}${
    editing.value
      ? html`<form onSubmit=${save}><input name="rename" ref=${takeFocus} maxlength="100" required aria-label=${t("label.rename", { name })} defaultValue=${name} /><button class="primary">${t("save")}</button></form>`
      : html`<span>${name}</span>${button(t("label.rename", { name }), "edit", () => (editing.value = true))}`
  }${button(t("label.remove", { name }), "close", () => dropLabel(name))}</li>`;
}

/** The names of a message, on the message. @param {{nid: Id}} props */
export const Labels = ({ nid }) =>
  html`${labelsOf(nid).map(({ name, following }) => html`<button key=${name} type="button" class="place-name" title=${t("command.label")} onClick=${() => openDialog({ kind: "label", nid })}>${icon(following ? "branches" : "bookmark")}<span>${name}</span></button>`)}`;
