// The lorebooks: all of them, and one with its entries. Loaded when first opened.
import { h, html, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { BOOKS, bringBooks, lookAgain, makeBook, readBooks, removeBook, renameBook, takeBook } from "../actions/lore.js";
import { chooser } from "../lib/chooser.js";
import { addEnglish, ago, moment, t } from "../lib/i18n.js";
import { whenLookedAt } from "../lib/looked.js";
import { keyring } from "../lib/once.js";
import cards from "../lib/strings/en-cards.js";
import { begunIn, bookById, books } from "../model/lore.js";
import { Book } from "./lorebook.js";
import { Rules } from "./lore-rules.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";
import { DropPlace, NameForm } from "./shelf.js";
import { takeFocus } from "./sure.js";

/** @import { Signal } from "../../vendor/preact.js" */
/** @import { Key } from "../lib/i18n.js" */
/** @import { Id, Lorebook } from "../lib/wire.d.ts" */

addEnglish(cards);

/** @param {{bookId: Id | null, uid: string | null}} props the book, and the entry in it, that is shown at once */
export function Lore({ bookId, uid }) {
  const at = useSignal(bookId);
  /** The book that was looked at last, where the keyboard comes back to. */
  const last = useSignal(/** @type {Id | null} */ (null));
  const isUnread = useSignal(false);
  const read = async () => {
    isUnread.value = false;
    isUnread.value = !(await readBooks());
  };
  useEffect(() => {
    void read();
    return whenLookedAt(lookAgain);
  }, []);
  const back = () => {
    last.value = at.peek();
    at.value = null;
    void read();
  };
  const coming = useSignal(0);
  const bring = async (/** @type {File[]} */ files) => {
    coming.value += 1;
    await bringBooks(files);
    coming.value -= 1;
  };
  const choose = useRef(chooser(bring, { accept: BOOKS })).current;
  const id = at.value;
  return h(Modal, { title: (id && bookById(id)?.name) || t("command.lore"), class: "wide lore", keeps: true }, h(DropPlace, { text: "lore.drop", bring }, html`${coming.value > 0 && html`<p class="aside" role="status">${t("lore.coming")}</p>`}
    ${isUnread.value && h(Blank, { symbol: "warning", title: t("lore.unread") }, html`<button type="button" class="primary" onClick=${read}>${t("retry")}</button>`)}
    ${id ? h(Book, { key: id, id, opened: id === bookId ? uid : null, back }) : h(List, { at, last: last.value, isUnread: isUnread.value, choose })}`));
}

/** @param {{at: Signal<Id | null>, last: Id | null, isUnread: boolean, choose: () => void}} props */
function List({ at, last, isUnread, choose }) {
  const making = useSignal(false);
  const keyFor = useRef(keyring()).current;
  const first = useRef(/** @type {HTMLElement | null} */ (null));
  const list = books.value;
  /** What was pressed goes with its row, or with its form. */
  const home = () => first.current?.focus();
  const make = async (/** @type {string} */ name) => {
    const made = await makeBook(name, keyFor);
    if (made) at.value = made.id;
  };
  return html`<p class="aside">${t("lore.text")}</p>
    <div class="actions start"><button type="button" ref=${first} aria-expanded=${making.value} onClick=${() => (making.value = !making.peek())}>${icon("plus")}<span>${t("lore.new")}</span></button><button type="button" onClick=${choose}>${icon("upload")}<span>${t("lore.bring")}</span></button></div>
    ${making.value && h(NameForm, { name: "", save: make, done: () => (home(), (making.value = false)) })}
    ${h(Rules, {})}
    ${list === null ? !isUnread && h(Waiting, { rows: 3 }) : list.length === 0 ? h(Blank, { symbol: "lore", title: t("lore.empty"), hint: t("lore.emptyHint") }) : html`<ul>${list.map((book) => h(Row, { key: book.id, book, isLast: book.id === last, open: () => (at.value = book.id), drop: () => removeBook(book).then(home) }))}</ul>`}`;
}

/** @param {{book: Lorebook, isLast: boolean, open: () => void, drop: () => unknown}} props */
function Row({ book: { id, name, entryCount, updatedAt }, isLast, open, drop }) {
  const naming = useSignal(false);
  const rename = useRef(/** @type {HTMLElement | null} */ (null));
  const done = () => {
    naming.value = false;
    rename.current?.focus();
  };
  const button = (/** @type {Key} */ label, /** @type {string} */ symbol, /** @type {() => unknown} */ act, /** @type {object} */ more = {}) =>
    html`<button type="button" ...${more} onClick=${act}>${icon(symbol)}<span>${t(label)}</span></button>`;
  const save = async (/** @type {string} */ next) => {
    if (next === name || (await renameBook(id, next))) done();
  };
  return html`<li class="fragment"><article aria-label=${name}><h3>${name}</h3>
    <p class="aside">${begunIn(id).length > 0 && html`<span class="chip on">${t("lore.begun")}</span> `}${t("lore.entries", { n: entryCount })} · <time datetime=${updatedAt} title=${moment(updatedAt)}>${ago(updatedAt, Date.now())}</time></p>
    <div class="actions">${button("lore.open", "book", open, { ref: isLast ? takeFocus : null })}${button("lore.rename", "edit", () => (naming.value = !naming.peek()), { ref: rename, "aria-expanded": naming.value })}
      ${button("lore.take", "download", () => takeBook(id))}${button("lore.delete", "trash", drop)}</div>
    ${naming.value && h(NameForm, { name, save, done })}</article></li>`;
}
