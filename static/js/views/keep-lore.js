// A passage of a story becomes an entry of a lorebook. Loaded when first opened.
import { h, html, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { keepLore, lastBook, readPassage } from "../actions/keep-lore.js";
import { readBooks } from "../actions/lore.js";
import { t } from "../lib/i18n.js";
import { keywordsOf } from "../lib/keywords.js";
import { keyring } from "../lib/once.js";
import { bookById, books, keepingOf, putKeeping } from "../model/lore.js";
import { openDialog } from "../model/page.js";
import { session } from "../model/story.js";
import { EntryFields, newEntryOf } from "./entry.js";
import { Modal, Waiting } from "./parts.js";

/** @import { Passage } from "../model/dialog.d.ts" */
/** @typedef {{text: string, names: string[], title: string}} Read */

/** @param {{passage: Passage}} props */
export function KeepLore({ passage }) {
  const read = useSignal(/** @type {Read | null} */ (null));
  useEffect(() => {
    void Promise.all([readPassage(passage), readBooks()]).then(([found]) => (found ? (read.value = found) : openDialog(null)));
  }, []);
  const title = t("command.keepLore");
  return read.value ? h(Modal, { title, class: "wide", keeps: true }, h(Form, { passage, read: read.value })) : h(Modal, { title }, h(Waiting, { rows: 4 }));
}

/** The choice that is no book yet; ids are no such words. */
const ANOTHER = "another";

/** @param {{passage: Passage, read: Read}} props */
function Form({ passage, read }) {
  const begun = useRef(keepingOf(passage)).current;
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const suggested = useRef(keywordsOf(read.text, read.names)).current;
  const name = read.title || (suggested.find((word) => !read.names.includes(word)) ?? suggested[0] ?? "");
  const keyFor = useRef(keyring()).current;
  const keys = useSignal(begun?.mine.key ?? []);
  const busy = useRef(false);
  const where = useSignal((begun?.where === ANOTHER ? ANOTHER : bookById(begun?.where ?? lastBook() ?? "")?.id) ?? books.peek()?.[0]?.id ?? ANOTHER);
  const keep = () => {
    const typed = new FormData(/** @type {HTMLFormElement} */ (form.current));
    const { comment = "", content = "", constant = false } = newEntryOf(typed, []);
    putKeeping(passage, { mine: { comment, content, constant, key: keys.peek() }, where: where.peek(), book: String(typed.get("book") ?? begun?.book ?? "") });
  };
  useLayoutEffect(() => {
    if (!begun) return;
    const field = (/** @type {string} */ name) => /** @type {HTMLInputElement | null} */ (form.current?.elements.namedItem(name));
    for (const name of /** @type {const} */ (["comment", "content"])) {
      const at = field(name);
      if (at) at.value = begun.mine[name];
    }
    const [always, book] = [field("constant"), field("book")];
    if (always) always.checked = begun.mine.constant;
    if (book && begun.book) book.value = begun.book;
  }, []);
  // What stands there at first is no draft.
  const isFirst = useRef(true);
  useLayoutEffect(() => keys.subscribe(() => (isFirst.current ? (isFirst.current = false) : keep())), []);
  // Who leaves has saved it or does not want it, however soon; a reload is neither, and comes by without this.
  useLayoutEffect(() => () => putKeeping(passage, null), []);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const place = where.peek() === ANOTHER ? { name: String(form.get("book") ?? "").trim() } : { id: where.peek() };
    await keepLore(place, newEntryOf(form, keys.peek()), keyFor);
    busy.current = false;
  };
  return html`<form ref=${form} onSubmit=${save} onInput=${keep} onChange=${keep}>
    ${begun && html`<p class="aside" role="status">${t("lore.begunHere")}</p>`}${h(EntryFields, { entry: { comment: name, content: read.text, key: [], constant: false }, keys, suggested })}
    <label>${t("lore.where")}<select value=${where.value} onChange=${(/** @type {Event} */ event) => (where.value = /** @type {HTMLSelectElement} */ (event.target).value)}>
      ${(books.value ?? []).map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}<option value=${ANOTHER}>${t("lore.another")}</option></select></label>
    ${where.value === ANOTHER && html`<label>${t("lore.anotherName")}<input name="book" required maxlength="200" defaultValue=${session.peek()?.title ?? ""} /></label>`}
    <p class="aside">${t("lore.text")}</p>
    <div class="actions foot-actions"><button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary">${t("save")}</button></div></form>`;
}
