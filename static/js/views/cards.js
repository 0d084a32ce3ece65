// What can be done with a character or a story of the first page. Loaded apart from it.
import { html, useEffect, useRef } from "../../vendor/preact.js";
import { takeCard } from "../actions/cards.js";
import { removeCharacter } from "../actions/library.js";
import { askSpent } from "../actions/spent.js";
import { askForm, takeAlong } from "../actions/takeout.js";
import { duplicate } from "../actions/transfers.js";
import { addEnglish, locale, t } from "../lib/i18n.js";
import words from "../lib/strings/en-cards.js";
import edits from "../lib/strings/en-edit.js";
import { openDialog } from "../model/page.js";
import { spentOf } from "../model/spent.js";
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
    <button type="button" onClick=${() => takeAlong(id)}>${icon("download")}${t("command.export")}</button>
    <button type="button" onClick=${() => askForm(id, title)}>${icon("download")}${t("command.exportAs")}</button>`;

/** What a story took, for its row: known some time after the row is in sight. @param {{session: Session}} props */
export function SessionSpent({ session }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const row = place.current?.closest("li");
    if (!row) return undefined;
    const seen = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && (seen.disconnect(), askSpent(session)));
    seen.observe(row);
    return () => seen.disconnect();
  }, [session.id, session.op]);
  const sums = spentOf(session.id);
  const tokens = sums ? sums.tokenCount.prompt + sums.tokenCount.completion : 0;
  const short = new Intl.NumberFormat(locale.value, { notation: "compact" });
  const money = new Intl.NumberFormat(locale.value, { maximumSignificantDigits: 2 });
  return html`<span ref=${place}>${tokens > 0 && html`<span title=${t("library.tokensOf", { read: sums?.tokenCount.prompt ?? 0, written: sums?.tokenCount.completion ?? 0 })}>${t("library.tokens", { sum: short.format(tokens) })}</span> · `}${(sums?.cost ?? 0) > 0 && html`${t("library.cost", { cost: money.format(sums?.cost ?? 0) })} · `}</span>`;
}
