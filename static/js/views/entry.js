// The fields of a lore entry, wherever one is written.
import { h, html } from "../../vendor/preact.js";
import { t } from "../lib/i18n.js";
import { Keys } from "./keys.js";
import { takeFocus } from "./sure.js";

/** @import { Signal } from "../../vendor/preact.js" */
/** @import { NewEntry } from "../actions/lore.js" */

/** What an entry is called: by itself, by its first key, or by its place. @param {import("../lib/wire.d.ts").LoreEntry} entry */
export const titleOf = ({ uid, comment, key }) => comment?.trim() || key?.[0] || t("lore.nameless", { uid: String(uid) });

/** What stands in the fields. @param {FormData} form @param {string[]} key @returns {NewEntry} */
export const entryOf = (form, key) => ({
  comment: String(form.get("comment") ?? "").trim(),
  key,
  content: String(form.get("content") ?? "").replaceAll("\r\n", "\n"),
  constant: form.has("constant"),
});

/** The same of an entry that is new: SillyTavern shows its name. @param {FormData} form @param {string[]} key @returns {NewEntry} */
export function newEntryOf(form, key) {
  const entry = entryOf(form, key);
  return { ...entry, addMemo: entry.comment !== "" };
}

/** @param {{entry: NewEntry, keys: Signal<string[]>, suggested?: string[]}} props */
export const EntryFields = ({ entry, keys, suggested = [] }) =>
  html`<label>${t("lore.fieldName")}<input name="comment" ref=${takeFocus} defaultValue=${entry.comment ?? ""} /></label>
    <label>${t("lore.fieldText")}<textarea name="content" rows="7" defaultValue=${entry.content ?? ""}></textarea></label>
    ${h(Keys, { keys, before: entry.key ?? [], suggested })}
    <label class="check"><input type="checkbox" name="constant" defaultChecked=${entry.constant === true} /><span>${t("lore.always")}<small>${t("lore.alwaysHint")}</small></span></label>`;
