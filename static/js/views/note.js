// The author's note: what stands in the prompts of the open story and is no message. Loaded when first opened.
import { h, html, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { changeNote } from "../actions/note.js";
import { t } from "../lib/i18n.js";
import { keepBegun } from "../model/begun.js";
import { openDialog } from "../model/page.js";
import { session } from "../model/story.js";
import { fieldsOf, fillIn, useBegun } from "./begun.js";
import { Modal } from "./parts.js";

/** @import { AuthorsNote } from "../lib/wire.d.ts" */

/** @type {AuthorsNote} */
const NEW = { text: "", place: "inChat", depth: 4, role: "system", every: 1, lore: false };
const PLACES = /** @type {const} */ (["inChat", "afterMain", "beforeMain"]);
const ROLES = /** @type {const} */ (["system", "user", "assistant"]);

export function Note() {
  const note = session.value?.authorsNote ?? NEW;
  const key = `note.${session.peek()?.id}`;
  const begun = useBegun(key);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const place = useSignal(/** @type {AuthorsNote["place"]} */ (begun?.["place"] ?? note.place));
  const keep = () => form.current && keepBegun(key, fieldsOf(form.current));
  useLayoutEffect(() => {
    if (begun && form.current) fillIn(form.current, begun);
  }, []);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const word = (/** @type {string} */ name) => String(form.get(name) ?? "");
    // What is not to be seen in the form stays as it was.
    const number = (/** @type {"depth" | "every"} */ name) => (form.has(name) ? Number(form.get(name)) : note[name]);
    const text = word("text").trim();
    const next = /** @type {AuthorsNote} */ ({ text, place: word("place"), role: word("role"), depth: number("depth"), every: number("every"), lore: form.has("lore") });
    if (await changeNote(text ? next : null)) openDialog(null);
  };
  const options = (/** @type {readonly string[]} */ all, /** @type {string} */ chosen, /** @type {"note.place" | "note.role"} */ key) =>
    all.map((one) => html`<option key=${one} value=${one} selected=${one === chosen}>${t(/** @type {import("../lib/strings/keys.d.ts").Key} */ (`${key}.${one}`))}</option>`);
  return h(Modal, { title: t("command.note"), class: "wide lore", keeps: true }, html`<form ref=${form} onSubmit=${save} onInput=${keep} onChange=${keep}><p class="aside">${t("note.text")}</p>
    ${begun && html`<p class="aside" role="status">${t("lore.begunHere")}</p>`}
    <label>${t("note.content")}<textarea name="text" rows="5" maxlength="100000" autofocus defaultValue=${note.text}></textarea></label>
    <label>${t("note.place")}<select name="place" onChange=${(/** @type {Event} */ event) => (place.value = /** @type {AuthorsNote["place"]} */ (/** @type {HTMLSelectElement} */ (event.target).value))}>${options(PLACES, note.place, "note.place")}</select></label>
    ${place.value === "inChat" && html`<label>${t("note.depth")}<input name="depth" type="number" min="0" max="10000" required defaultValue=${note.depth} /><small>${t("note.depthHint")}</small></label>`}
    <label>${t("note.role")}<select name="role">${options(ROLES, note.role, "note.role")}</select></label>
    <label>${t("note.every")}<input name="every" type="number" min="0" max="10000" required defaultValue=${note.every} /><small>${t("note.everyHint")}</small></label>
    <label class="check"><input type="checkbox" name="lore" defaultChecked=${note.lore} /><span>${t("note.lore")}</span></label>
    <div class="actions"><button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary">${t("save")}</button></div></form>`);
}
