// The author's note: a text in the prompts of the open story that is no message. Loaded when first opened.
import { h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { changeNote } from "../actions/note.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import noteTexts from "../lib/strings/en-note.ts";
import { saveFormDraft } from "../model/form-drafts.ts";
import { openDialog } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { formValues, fillForm, useFormDraft } from "./form-drafts.ts";
import { Modal } from "./common.tsx";
import type { AuthorsNote } from "../lib/wire.d.ts";
import type { Key } from "../lib/strings/keys.d.ts";

addEnglish(noteTexts);

const NEW: AuthorsNote = { text: "", place: "inChat", depth: 4, role: "system", every: 1, lore: false };
const PLACES = ["inChat", "afterMain", "beforeMain"] as const;
const ROLES = ["system", "user", "assistant"] as const;

export function Note() {
  const note = session.value?.authorsNote ?? NEW;
  const key = `note.${session.peek()?.id}`;
  const draft = useFormDraft(key);
  const form = useRef<HTMLFormElement | null>(null);
  const place = useSignal((draft?.place ?? note.place) as AuthorsNote["place"]);
  const keep = () => form.current && saveFormDraft(key, formValues(form.current));
  useLayoutEffect(() => {
    if (draft && form.current) fillForm(form.current, draft);
  }, []);
  const save = async (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const word = (name: string) => String(form.get(name) ?? "");
    // Fields that the form does not show keep their values.
    const number = (name: "depth" | "every") => (form.has(name) ? Number(form.get(name)) : note[name]);
    const text = word("text").trim();
    const next = {
      text,
      place: word("place"),
      role: word("role"),
      depth: number("depth"),
      every: number("every"),
      lore: form.has("lore"),
    } as AuthorsNote;
    if (await changeNote(text ? next : null)) openDialog(null);
  };
  const options = (all: readonly string[], chosen: string, key: "note.place" | "note.role") =>
    all.map((one) => (
      <option key={one} value={one} selected={one === chosen}>
        {t(`${key}.${one}` as Key)}
      </option>
    ));
  return (
    <Modal title={t("command.note")} class="wide lore" keeps>
      <form ref={form} onSubmit={save} onInput={keep} onChange={keep}>
        <p class="aside">{t("note.text")}</p>
        {draft && (
          <p class="aside" role="status">
            {t("lore.begunHere")}
          </p>
        )}
        <label>
          {t("note.content")}
          <textarea name="text" rows={5} maxlength={100000} autofocus defaultValue={note.text} />
        </label>
        <label>
          {t("note.place")}
          <select
            name="place"
            onChange={(event: Event) =>
              (place.value = (event.target as HTMLSelectElement).value as AuthorsNote["place"])
            }
          >
            {options(PLACES, note.place, "note.place")}
          </select>
        </label>
        {place.value === "inChat" && (
          <label>
            {t("note.depth")}
            <input name="depth" type="number" min="0" max="10000" required defaultValue={note.depth} />
            <small>{t("note.depthHint")}</small>
          </label>
        )}
        <label>
          {t("note.role")}
          <select name="role">{options(ROLES, note.role, "note.role")}</select>
        </label>
        <label>
          {t("note.every")}
          <input name="every" type="number" min="0" max="10000" required defaultValue={note.every} />
          <small>{t("note.everyHint")}</small>
        </label>
        <label class="check">
          <input type="checkbox" name="lore" defaultChecked={note.lore} />
          <span>{t("note.lore")}</span>
        </label>
        <div class="actions">
          <button type="button" onClick={() => openDialog(null)}>
            {t("cancel")}
          </button>
          <button type="submit" class="primary">
            {t("save")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
