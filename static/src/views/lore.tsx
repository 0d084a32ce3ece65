// The list of lorebooks, and one lorebook with its entries. Loaded when first opened.
import { Fragment, h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import {
  BOOK_EXTENSIONS,
  importBooks,
  rereadBooks,
  createBook,
  readBooks,
  removeBook,
  renameBook,
  downloadBook,
} from "../actions/lore.ts";
import { filePicker } from "../lib/file-picker.ts";
import { addEnglish, ago, moment, t } from "../lib/i18n.ts";
import { onTabVisible } from "../lib/tab-visibility.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import cards from "../lib/strings/en-cards.ts";
import { entryDraftsIn, bookById, books } from "../model/lore.ts";
import { LorebookEditor } from "./lorebook.tsx";
import { LoreSettings } from "./lore-settings.tsx";
import { EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import { FileDropArea, NameForm } from "./list-parts.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Signal } from "../../vendor/preact.js";
import type { Key } from "../lib/i18n.ts";
import type { Id, Lorebook } from "../lib/wire.d.ts";

addEnglish(cards);

/** @param props the lorebook and the entry to open first */
export function Lore({ bookId, uid }: { bookId: Id | null; uid: string | null }) {
  const at = useSignal(bookId);
  /** The lorebook that was open last. It gets the focus in the list. */
  const last = useSignal<Id | null>(null);
  const isUnread = useSignal(false);
  const read = async () => {
    isUnread.value = false;
    isUnread.value = !(await readBooks());
  };
  useEffect(() => {
    void read();
    return onTabVisible(rereadBooks);
  }, []);
  const back = () => {
    last.value = at.peek();
    at.value = null;
    void read();
  };
  const coming = useSignal(0);
  const bring = async (files: File[]) => {
    coming.value += 1;
    await importBooks(files);
    coming.value -= 1;
  };
  const choose = useRef(filePicker(bring, { accept: BOOK_EXTENSIONS })).current;
  const id = at.value;
  return (
    <Modal title={(id && bookById(id)?.name) || t("command.lore")} class="wide lore" keeps>
      <FileDropArea text="lore.drop" onFiles={bring}>
        {coming.value > 0 && (
          <p class="aside" role="status">
            {t("lore.coming")}
          </p>
        )}
        {isUnread.value && (
          <EmptyState symbol="warning" title={t("lore.unread")}>
            <button type="button" class="primary" onClick={read}>
              {t("retry")}
            </button>
          </EmptyState>
        )}
        {id ? (
          <LorebookEditor key={id} id={id} opened={id === bookId ? uid : null} back={back} />
        ) : (
          <List at={at} last={last.value} isUnread={isUnread.value} choose={choose} />
        )}
      </FileDropArea>
    </Modal>
  );
}

interface ListProps {
  at: Signal<Id | null>;
  last: Id | null;
  isUnread: boolean;
  choose: () => void;
}

function List({ at, last, isUnread, choose }: ListProps) {
  const making = useSignal(false);
  const keyFor = useRef(idempotencyKeys()).current;
  const first = useRef<HTMLButtonElement | null>(null);
  const list = books.value;
  /** Moves the focus to the first button, because the pressed one disappears with its row or form. */
  const home = () => first.current?.focus();
  const make = async (name: string) => {
    const result = await createBook(name, keyFor);
    if (result) at.value = result.id;
  };
  return (
    <>
      <p class="aside">{t("lore.text")}</p>
      <div class="actions start">
        <button type="button" ref={first} aria-expanded={making.value} onClick={() => (making.value = !making.peek())}>
          {icon("plus")}
          <span>{t("lore.new")}</span>
        </button>
        <button type="button" onClick={choose}>
          {icon("upload")}
          <span>{t("lore.bring")}</span>
        </button>
      </div>
      {making.value && <NameForm name="" onSave={make} onClose={() => (home(), (making.value = false))} />}
      <LoreSettings />
      {list === null ? (
        !isUnread && <LoadingRows rows={3} />
      ) : list.length === 0 ? (
        <EmptyState symbol="lore" title={t("lore.empty")} hint={t("lore.emptyHint")} />
      ) : (
        <ul>
          {list.map((book) => (
            <Row
              key={book.id}
              book={book}
              isLast={book.id === last}
              open={() => (at.value = book.id)}
              drop={() => removeBook(book).then(home)}
            />
          ))}
        </ul>
      )}
    </>
  );
}

interface RowProps {
  book: Lorebook;
  isLast: boolean;
  open: () => void;
  drop: () => unknown;
}

function Row({ book: { id, name, entryCount, updatedAt }, isLast, open, drop }: RowProps) {
  const naming = useSignal(false);
  const rename = useRef<HTMLElement | null>(null);
  const done = () => {
    naming.value = false;
    rename.current?.focus();
  };
  const button = (label: Key, symbol: string, act: () => unknown, more: object = {}) => (
    <button type="button" {...more} onClick={act}>
      {icon(symbol)}
      <span>{t(label)}</span>
    </button>
  );
  const save = async (next: string) => {
    if (next === name || (await renameBook(id, next))) done();
  };
  return (
    <li class="fragment">
      <article aria-label={name}>
        <h3>{name}</h3>
        <p class="aside">
          {entryDraftsIn(id).length > 0 && (
            <>
              <span class="chip on">{t("lore.begun")}</span>{" "}
            </>
          )}
          {t("lore.entries", { n: entryCount })} ·{" "}
          <time datetime={updatedAt} title={moment(updatedAt)}>
            {ago(updatedAt, Date.now())}
          </time>
        </p>
        <div class="actions">
          {button("lore.open", "book", open, { ref: isLast ? takeFocus : null })}
          {button("lore.rename", "edit", () => (naming.value = !naming.peek()), {
            ref: rename,
            "aria-expanded": naming.value,
          })}
          {button("lore.take", "download", () => downloadBook(id))}
          {button("lore.delete", "trash", drop)}
        </div>
        {naming.value && <NameForm name={name} onSave={save} onClose={done} />}
      </article>
    </li>
  );
}
