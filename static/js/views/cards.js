// What can be done with a character or a story of the first page. Loaded apart from it.
import { html } from "../../vendor/preact.js";
import { takeCard } from "../actions/cards.js";
import { removeCharacter } from "../actions/library.js";
import { askForm, takeAlong } from "../actions/takeout.js";
import { duplicate } from "../actions/transfers.js";
import { addEnglish, t } from "../lib/i18n.js";
import words from "../lib/strings/en-cards.js";
import edits from "../lib/strings/en-edit.js";
import { openDialog } from "../model/page.js";
import { icon } from "./parts.js";

/** @import { Character, Session } from "../lib/wire.d.ts" */

addEnglish(words);
addEnglish(edits);

const FORMS = /** @type {const} */ (["png", "json", "charx"]);

/** @param {{character: Character}} props */
export const CharacterTools = ({ character }) =>
  html`<button type="button" onClick=${() => openDialog({ kind: "editCharacter", characterId: character.id })}>${icon("edit")}${t("character.edit")}</button>
    ${FORMS.map((form) => html`<button type="button" onClick=${() => takeCard(character.id, form)}>${icon("download")}${t(`character.take.${form}`)}</button>`)}
    <button type="button" onClick=${() => removeCharacter(character)}>${icon("trash")}${t("library.deleteCharacter")}</button>`;

/** @param {{session: Session}} props */
export const SessionTools = ({ session: { id, title } }) =>
  html`<button type="button" onClick=${() => duplicate({ id, title })}>${icon("copy")}${t("library.duplicate")}</button>
    <button type="button" onClick=${() => openDialog({ kind: "spent", sid: id })}>${icon("chart")}${t("command.spent")}</button>
    <button type="button" onClick=${() => takeAlong(id)}>${icon("download")}${t("command.export")}</button>
    <button type="button" onClick=${() => askForm(id, title)}>${icon("download")}${t("command.exportAs")}</button>`;
