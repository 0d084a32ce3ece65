// The text of a message, being written anew in its place.
import { h, html, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { begun, edit, giveUp, typedAnew } from "../actions/edit.js";
import { excerpt } from "../lib/excerpt.js";
import { t } from "../lib/i18n.js";
import { plain } from "../lib/text.js";
import { forgetOthers, takeOver, wordsElsewhere } from "../model/rewording.js";
import { fieldWanted } from "../model/story.js";
import { isLinear } from "../tree/line.js";
import { icon } from "./parts.js";

/** @import { ChatNode } from "../lib/wire.d.ts" */
/** @import { Others } from "../model/rewording.js" */

/** @param {{node: ChatNode, last: boolean}} props */
export function EditForm({ node, last }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  // On a single line, what follows stays.
  const carry = useSignal(isLinear.peek() && !last);
  const busy = useSignal(false);
  const start = useRef(begun(node)).current;
  useLayoutEffect(() => {
    field.current?.setSelectionRange(start.length, start.length);
  }, []);
  // The field that the reader writes in is this one as long as it is there.
  const wanted = fieldWanted.value;
  useLayoutEffect(() => field.current?.focus(), [wanted]);
  const saves = node.role === "user" && !carry.value ? "edit.saveAndAnswer" : "edit.save";
  const leave = () => giveUp(node);
  const save = async () => {
    const text = field.current?.value ?? "";
    if (busy.peek() || !text.trim()) return;
    // The same text once more is no version; below a message of one's own it asks for an answer all the same.
    if (text === node.content && saves === "edit.save") return leave();
    busy.value = true;
    await edit(node, text, carry.peek());
    busy.value = false;
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      leave();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
  };
  // Into the field as if it were typed: the field's own undo brings back what stood there.
  const take = (/** @type {Others} */ words) => {
    field.current?.select();
    document.execCommand("insertText", false, takeOver(node.id, words));
    field.current?.focus();
  };
  return html`<form class="edit" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), void save())}>
    <textarea ref=${field} aria-label=${t("command.edit")} readonly=${busy.value} onKeyDown=${keys} onInput=${(/** @type {Event} */ event) => typedAnew(node, /** @type {HTMLTextAreaElement} */ (event.target).value)} defaultValue=${start}></textarea>
    ${h(Elsewhere, { node, take })}
    ${!last && !isLinear.value && html`<label class="check"><input type="checkbox" checked=${carry.value} onChange=${() => (carry.value = !carry.value)} />
      <span>${t("edit.carry")}<small>${t(carry.value ? "edit.carryOn" : "edit.carryOff")}</small></span></label>`}
    <div class="actions"><button type="button" onClick=${leave}>${t("cancel")}</button>
      <button class="primary" aria-disabled=${busy.value}>${t(saves)}</button></div></form>`;
}

/** What another tab has begun to write here, which may be closed by now. @param {{node: ChatNode, take: (words: Others) => void}} props */
function Elsewhere({ node, take }) {
  const found = useSignal(wordsElsewhere(node.id).filter(({ text }) => text !== begun(node)));
  const drop = (/** @type {Others} */ words) => (found.value = found.peek().filter((one) => one !== words));
  const forget = (/** @type {Others} */ words) => (forgetOthers(words), drop(words));
  return html`${found.value.map((words) => html`<div key=${words.key} class="elsewhere" role="group" aria-label=${t("edit.elsewhere")}><p class="aside">${t("edit.elsewhere")} <q>${excerpt(plain(words.text), 80)}</q></p>
    <button type="button" onClick=${() => (take(words), drop(words))}>${t("edit.take")}</button><button type="button" class="round small" aria-label=${t("edit.forget")} title=${t("edit.forget")} onClick=${() => forget(words)}>${icon("close")}</button></div>`)}`;
}
