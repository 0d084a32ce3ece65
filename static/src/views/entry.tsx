// The fields of a lore entry, wherever one is written.
import { Fragment, h } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { Keys } from "./keys.tsx";
import { takeFocus } from "./sure.tsx";
import type { Signal } from "../../vendor/preact.js";
import type { NewEntry } from "../actions/lore.ts";
import type { LoreEntry } from "../lib/wire.d.ts";

/** What an entry is called: by itself, by its first key, or by its place. */
export const titleOf = ({ uid, comment, key }: LoreEntry) =>
  comment?.trim() || key?.[0] || t("lore.nameless", { uid: String(uid) });

/** What stands in the fields. */
export const entryOf = (form: FormData, key: string[]): NewEntry => ({
  comment: String(form.get("comment") ?? "").trim(),
  key,
  content: String(form.get("content") ?? "").replaceAll("\r\n", "\n"),
  constant: form.has("constant"),
});

/** The same of an entry that is new: SillyTavern shows its name. */
export function newEntryOf(form: FormData, key: string[]): NewEntry {
  const entry = entryOf(form, key);
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
    <Keys keys={keys} before={entry.key ?? []} suggested={suggested} />
    <label class="check">
      <input type="checkbox" name="constant" defaultChecked={entry.constant === true} />
      <span>
        {t("lore.always")}
        <small>{t("lore.alwaysHint")}</small>
      </span>
    </label>
  </>
);
