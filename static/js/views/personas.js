// Who a reader plays: the list, a form for one, and the choice for a story. Loaded when first opened.
import { h, html, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { keepPersona, playAs, readPersonas, removePersona } from "../actions/personas.js";
import { addEnglish, t } from "../lib/i18n.js";
import words from "../lib/strings/en-cards.js";
import { keyring } from "../lib/once.js";
import { session } from "../model/story.js";
import { Avatar, Blank, Modal, Waiting, icon } from "./parts.js";

/** @import { Signal } from "../../vendor/preact.js" */
/** @import { Persona } from "../lib/wire.d.ts" */

addEnglish(words);

export function Personas() {
  const all = useSignal(/** @type {Persona[] | null} */ (null));
  /** Which one is changed; null: none, "": a new one. */
  const changing = useSignal(/** @type {string | null} */ (null));
  const read = async () => {
    const found = await readPersonas();
    if (found) all.value = found;
  };
  useEffect(() => void read(), []);
  const done = () => ((changing.value = null), void read());
  const at = changing.value;
  const title = t(at === null ? "command.personas" : at ? "persona.change" : "persona.new");
  const inside = all.value === null ? h(Waiting, { rows: 3 }) : at === null ? h(List, { all: all.value, changing, read }) : h(Form, { persona: all.value.find(({ id }) => id === at) ?? null, done, leave: () => (changing.value = null) });
  return h(Modal, { title, class: "wide", keeps: at !== null }, inside);
}

/** @param {{all: Persona[], changing: Signal<string | null>, read: () => void}} props */
const List = ({ all, changing, read }) => html`<div class="stash"><p class="aside">${t("persona.text")}</p>
  ${all.length === 0 ? h(Blank, { symbol: "user", title: t("persona.none") }) : html`<ul>${all.map((persona) => h(Row, { key: persona.id, persona, changing, read }))}</ul>`}
  <div class="actions">${session.value?.personaId && html`<button type="button" onClick=${() => playAs(null)}>${t("persona.nobody")}</button>`}
    <button type="button" class="primary" onClick=${() => (changing.value = "")}>${icon("plus")}<span>${t("persona.new")}</span></button></div></div>`;

/** @param {{persona: Persona, changing: Signal<string | null>, read: () => void}} props */
function Row({ persona, changing, read }) {
  const { id, name, description, avatar } = persona;
  const isPlayed = session.value?.personaId === id;
  return html`<li class="fragment persona"><article aria-label=${name}>${h(Avatar, { name, src: avatar })}<div><h3>${name}${isPlayed && html` <span class="chip on">${t("persona.played")}</span>`}</h3>${description && html`<p class="aside">${description}</p>`}</div>
    <div class="actions">${session.value && !isPlayed && html`<button type="button" onClick=${() => playAs(id)}>${icon("play")}<span>${t("persona.play")}</span></button>`}
      <button type="button" onClick=${() => (changing.value = id)}>${icon("edit")}<span>${t("persona.change")}</span></button>
      <button type="button" class="round" aria-label=${t("persona.delete", { name })} title=${t("persona.delete", { name })} onClick=${() => removePersona(persona, read)}>${icon("trash")}</button></div></article></li>`;
}

/** @param {{persona: Persona | null, done: () => void, leave: () => void}} props */
function Form({ persona, done, leave }) {
  const picture = useSignal(/** @type {File | null} */ (null));
  const keyFor = useRef(keyring()).current;
  const busy = useRef(false);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    const said = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const text = (/** @type {string} */ name) => String(said.get(name) ?? "").replaceAll("\r\n", "\n").trim();
    const kept = await keepPersona(persona?.id ?? null, { name: text("name"), description: text("description") }, picture.peek(), keyFor);
    busy.current = false;
    if (kept) done();
  };
  const choose = (/** @type {Event} */ event) => (picture.value = /** @type {HTMLInputElement} */ (event.target).files?.[0] ?? null);
  return html`<form onSubmit=${save}>
    <div class="picture">${h(Avatar, { name: persona?.name, src: persona?.avatar ?? null, symbol: persona ? "" : "user" })}<label>${t("character.picture")}<input type="file" accept="image/png,image/jpeg,image/webp,image/gif" onChange=${choose} /></label></div>
    <label>${t("character.name")}<input name="name" required maxlength="200" autofocus defaultValue=${persona?.name ?? ""} /></label>
    <label>${t("persona.description")}<textarea name="description" rows="5" defaultValue=${persona?.description ?? ""}></textarea><small>${t("persona.descriptionHint")}</small></label>
    <div class="actions"><button type="button" onClick=${leave}>${t("cancel")}</button><button class="primary">${t("save")}</button></div></form>`;
}

/** Whom the reader plays in a story that begins; nothing where there is nobody to choose. */
export function PlayedBy() {
  const all = useSignal(/** @type {Persona[]} */ ([]));
  useEffect(() => void readPersonas().then((found) => found && (all.value = found)), []);
  return all.value.length === 0 ? null : html`<label>${t("persona.who")}<select name="persona"><option value="">${t("persona.nobody")}</option>${all.value.map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}</select></label>`;
}
