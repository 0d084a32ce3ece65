// The fields of a lore entry. All forms for entries share them.
import { Fragment, h } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { KeywordField } from "./keyword-field.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Signal } from "../../vendor/preact.js";
import type { NewEntry } from "../actions/lore.ts";
import type { LoreEntry } from "../lib/wire.d.ts";

/** Returns the title of an entry: its comment, else its first key, else its uid. */
export const entryTitle = ({ uid, comment, key }: LoreEntry) =>
  comment?.trim() || key?.[0] || t("lore.nameless", { uid: String(uid) });

/** Returns the entry in the fields. */
export const entryFromForm = (form: FormData, key: string[]): NewEntry => ({
  comment: String(form.get("comment") ?? "").trim(),
  key,
  content: String(form.get("content") ?? "").replaceAll("\r\n", "\n"),
  constant: form.has("constant"),
});

/** Returns a new entry. `addMemo` makes SillyTavern show its name. */
export function newEntryFromForm(form: FormData, key: string[]): NewEntry {
  const entry = entryFromForm(form, key);
  return { ...entry, addMemo: entry.comment !== "" };
}

interface EntryFieldsProps {
  entry: NewEntry;
  keys: Signal<string[]>;
  suggested?: string[];
}

export const EntryFields = ({ entry, keys, suggested = [] }: EntryFieldsProps) => (
  <>
    <label>
      {t("lore.fieldName")}
      <input name="comment" ref={takeFocus} defaultValue={entry.comment ?? ""} />
    </label>
    <label>
      {t("lore.fieldText")}
      <textarea name="content" rows={7} defaultValue={entry.content ?? ""} />
    </label>
    <KeywordField keys={keys} before={entry.key ?? []} suggested={suggested} />
    <label class="check">
      <input type="checkbox" name="constant" defaultChecked={entry.constant === true} />
      <span>
        {t("lore.always")}
        <small>{t("lore.alwaysHint")}</small>
      </span>
    </label>
  </>
);
