// Changing a character: its texts, its greetings, its tags, its picture.
import { h, html, useEffect, useSignal } from "../../vendor/preact.js";
import { changeCharacter, readCharacter } from "../actions/cards.js";
import { allowOutside, readOutside } from "../actions/outside.js";
import { addEnglish, t } from "../lib/i18n.js";
import words from "../lib/strings/en-cards.js";
import outside from "../lib/strings/en-outside.js";
import { outsideOf } from "../model/outside.js";
import { openDialog } from "../model/page.js";
import { CardRules } from "./card-rules.js";
import { Avatar, Modal, Waiting, icon } from "./parts.js";

/** @import { Signal } from "../../vendor/preact.js" */
/** @import { FullCharacter } from "../lib/wire.d.ts" */

addEnglish(words);
addEnglish(outside);

/** The texts, as they are called on the wire, and how tall their fields are. */
const TEXTS = /** @type {const} */ ([
  ["description", 6], ["personality", 2], ["scenario", 3], ["firstMessage", 4],
]);
const MORE = /** @type {const} */ ([
  ["exampleMessages", 5], ["systemPrompt", 3], ["postHistoryInstructions", 3], ["creatorNotes", 3],
]);

/** @param {{characterId: string}} props */
export function EditCharacter({ characterId }) {
  const whole = useSignal(/** @type {FullCharacter | null} */ (null));
  useEffect(() => void Promise.all([readCharacter(characterId), readOutside(characterId)]).then(([found]) => (found ? (whole.value = found) : openDialog(null))), []);
  const title = t("character.edit");
  return whole.value ? h(Modal, { title, class: "wide", keeps: true }, h(Form, { character: whole.value })) : h(Modal, { title }, h(Waiting, { rows: 4 }));
}

/** @param {{character: FullCharacter}} props */
function Form({ character }) {
  const greetings = useSignal(character.alternateGreetings.map((text, n) => ({ n, text })));
  const picture = useSignal(/** @type {File | null} */ (null));
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const shows = ANSWERS.find(([name]) => name === form.get("outside"));
    if (shows && shows[1] !== (outsideOf(character.id).peek().allowed ?? null) && !(await allowOutside(character.id, shows[1]))) return;
    const text = (/** @type {string} */ name) => String(form.get(name) ?? "").replaceAll("\r\n", "\n");
    const texts = Object.fromEntries([...TEXTS, ...MORE].map(([name]) => [name, text(name)]));
    const tags = text("tags").split(/[,，、\n]/).map((tag) => tag.trim()).filter(Boolean);
    const alternateGreetings = form.getAll("greeting").map((greeting) => String(greeting).replaceAll("\r\n", "\n")).filter((greeting) => greeting.trim());
    void changeCharacter(character.id, { ...texts, name: text("name"), tags, alternateGreetings }, picture.value);
  };
  const field = (/** @type {typeof TEXTS[number] | typeof MORE[number]} */ [name, rows]) =>
    html`<label key=${name}>${t(`character.${name}`)}<textarea name=${name} rows=${rows} defaultValue=${character[name]}></textarea></label>`;
  return html`<form onSubmit=${save}>
    ${h(Picture, { character, picture })}
    <label>${t("character.name")}<input name="name" required maxlength="200" autofocus defaultValue=${character.name} /></label>
    ${TEXTS.map(field)}${h(Greetings, { greetings })}
    <label>${t("character.tags")}<input name="tags" defaultValue=${character.tags.join(", ")} /><small>${t("character.tagsHint")}</small></label>
    <details><summary>${t("character.more")}</summary>${MORE.map(field)}</details>
    ${h(Outside, { characterId: character.id })}
    ${h(CardRules, { characterId: character.id })}
    <div class="actions"><button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary">${t("save")}</button></div></form>`;
}

/** What is said of pictures of other servers. @type {[name: "ask" | "yes" | "no", allowed: boolean | null][]} */
const ANSWERS = [
  ["ask", null],
  ["yes", true],
  ["no", false],
];

/** @param {{characterId: string}} props */
function Outside({ characterId }) {
  const allowed = outsideOf(characterId).value.allowed ?? null;
  return html`<label>${t("outside.setting")}<select name="outside">${ANSWERS.map(([name, says]) => html`<option key=${name} value=${name} selected=${says === allowed}>${t(`outside.setting.${name}`)}</option>`)}</select><small>${t("outside.settingHint")}</small></label>`;
}

/** @param {{character: FullCharacter, picture: Signal<File | null>}} props */
function Picture({ character, picture }) {
  const choose = (/** @type {Event} */ event) => {
    picture.value = /** @type {HTMLInputElement} */ (event.target).files?.[0] ?? null;
  };
  return html`<div class="picture">${h(Avatar, { name: character.name, src: character.avatar ?? null })}
    <label>${t("character.picture")}<input type="file" accept="image/png,image/jpeg,image/webp,image/gif" onChange=${choose} /></label></div>`;
}

/** @param {{greetings: Signal<{n: number, text: string}[]>}} props */
function Greetings({ greetings }) {
  const add = () => (greetings.value = [...greetings.value, { n: Math.max(0, ...greetings.value.map(({ n }) => n)) + 1, text: "" }]);
  const drop = (/** @type {number} */ n) => (greetings.value = greetings.value.filter((greeting) => greeting.n !== n));
  return html`<fieldset><legend>${t("character.greetings")}</legend>
    ${greetings.value.map(({ n, text }, i) => html`<div key=${n} class="greeting"><textarea name="greeting" rows="3" aria-label=${t("character.greeting", { n: i + 2 })} defaultValue=${text}></textarea>
      <button type="button" class="round" aria-label=${t("character.dropGreeting", { n: i + 2 })} title=${t("character.dropGreeting", { n: i + 2 })} onClick=${() => drop(n)}>${icon("trash")}</button></div>`)}
    <button type="button" onClick=${add}>${icon("plus")}<span>${t("character.addGreeting")}</span></button></fieldset>`;
}
