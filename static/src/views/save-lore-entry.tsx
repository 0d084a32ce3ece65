// The form that makes a lorebook entry of messages. Loaded when first opened.
import { h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { saveLoreEntry, lastBook, readPassage } from "../actions/save-lore-entry.ts";
import { readBooks } from "../actions/lore.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import cardsTexts from "../lib/strings/en-cards.ts";
import { keywordsOf } from "../lib/keywords.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import { bookById, books, readPassageDraft, savePassageDraft } from "../model/lore.ts";
import { openDialog } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { EntryFields, newEntryFromForm } from "./lore-entry-fields.tsx";
import { Modal, LoadingRows } from "./common.tsx";
import type { Passage } from "../model/dialog.d.ts";

addEnglish(cardsTexts);

interface LoadedPassage {
  text: string;
  names: string[];
  title: string;
}

export function SaveLoreEntry({ passage }: { passage: Passage }) {
  const read = useSignal<LoadedPassage | null>(null);
  useEffect(() => {
    void Promise.all([readPassage(passage), readBooks()]).then(([found]) =>
      found ? (read.value = found) : openDialog(null),
    );
  }, []);
  const title = t("command.keepLore");
  return read.value ? (
    <Modal title={title} class="wide" keeps>
      <Form passage={passage} read={read.value} />
    </Modal>
  ) : (
    <Modal title={title}>
      <LoadingRows rows={4} />
    </Modal>
  );
}

/** Value of the choice for a new lorebook. It cannot be an id. */
const NEW_BOOK = "another";

function Form({ passage, read }: { passage: Passage; read: LoadedPassage }) {
  const draft = useRef(readPassageDraft(passage)).current;
  const form = useRef<HTMLFormElement | null>(null);
  const suggested = useRef(keywordsOf(read.text, read.names)).current;
  const name = read.title || (suggested.find((word) => !read.names.includes(word)) ?? suggested[0] ?? "");
  const keyFor = useRef(idempotencyKeys()).current;
  const keys = useSignal(draft?.mine.key ?? []);
  const busy = useRef(false);
  const where = useSignal(
    (draft?.where === NEW_BOOK ? NEW_BOOK : bookById(draft?.where ?? lastBook() ?? "")?.id) ??
      books.peek()?.[0]?.id ??
      NEW_BOOK,
  );
  const keep = () => {
    const typed = new FormData(form.current as HTMLFormElement);
    const { comment = "", content = "", constant = false } = newEntryFromForm(typed, []);
    savePassageDraft(passage, {
      mine: { comment, content, constant, key: keys.peek() },
      where: where.peek(),
      book: String(typed.get("book") ?? draft?.book ?? ""),
    });
  };
  useLayoutEffect(() => {
    if (!draft) return;
    const field = (name: string) => form.current?.elements.namedItem(name) as HTMLInputElement | null;
    for (const name of ["comment", "content"] as const) {
      const at = field(name);
      if (at) at.value = draft.mine[name];
    }
    const [always, book] = [field("constant"), field("book")];
    if (always) always.checked = draft.mine.constant;
    if (book && draft.book) book.value = draft.book;
  }, []);
  // The first call reports the initial keys, which are no draft.
  const isFirst = useRef(true);
  useLayoutEffect(() => keys.subscribe(() => (isFirst.current ? (isFirst.current = false) : keep())), []);
  // Unmounting deletes the draft, because the user has saved or cancelled. A reload keeps it: it does not run this.
  useLayoutEffect(() => () => savePassageDraft(passage, null), []);
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    const form = new FormData(event.target as HTMLFormElement);
    const place = where.peek() === NEW_BOOK ? { name: String(form.get("book") ?? "").trim() } : { id: where.peek() };
    await saveLoreEntry(place, newEntryFromForm(form, keys.peek()), keyFor);
    busy.current = false;
  };
  return (
    <form ref={form} onSubmit={save} onInput={keep} onChange={keep}>
      {draft && (
        <p class="aside" role="status">
          {t("lore.begunHere")}
        </p>
      )}
      <EntryFields
        entry={{ comment: name, content: read.text, key: [], constant: false }}
        keys={keys}
        suggested={suggested}
      />
      <label>
        {t("lore.where")}
        <select
          value={where.value}
          onChange={(event: Event) => (where.value = (event.target as HTMLSelectElement).value)}
        >
          {(books.value ?? []).map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
          <option value={NEW_BOOK}>{t("lore.another")}</option>
        </select>
      </label>
      {where.value === NEW_BOOK && (
        <label>
          {t("lore.anotherName")}
          <input name="book" required maxlength={200} defaultValue={session.peek()?.title ?? ""} />
        </label>
      )}
      <p class="aside">{t("lore.text")}</p>
      <div class="actions foot-actions">
        <button type="button" onClick={() => openDialog(null)}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}
