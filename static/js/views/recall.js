// What the open story recalls of what its prompts do not hold any more: whether, and which documents. Loaded when first opened.
import { h, html, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { doneWithErrors } from "../actions/done-with.js";
import { addDocument, changeRecall, readCollections, readDocuments, removeDocument } from "../actions/recall.js";
import { addEnglish, t } from "../lib/i18n.js";
import { keyring } from "../lib/once.js";
import words from "../lib/strings/en-recall.js";
import { tell } from "../model/page.js";
import { session } from "../model/story.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";
import { SummariesOf } from "./summaries.js";
import { Sure } from "./sure.js";

/** @import { Collection, Document } from "../lib/wire.d.ts" */

addEnglish(words);

const OFF = { enabled: false, collections: /** @type {string[]} */ ([]) };

export function RecallOf() {
  const all = useSignal(/** @type {Collection[] | null} */ (null));
  const isUnread = useSignal(false);
  const read = async () => {
    isUnread.value = false;
    const found = await readCollections();
    if (found) all.value = found;
    isUnread.value = !found;
  };
  useEffect(() => void read(), []);
  const recall = session.value?.recall ?? OFF;
  const turn = (/** @type {Event} */ event) => void changeRecall({ ...recall, enabled: /** @type {HTMLInputElement} */ (event.target).checked });
  // What is chosen stays to be seen when its last document is gone.
  const names = [...new Set([...(all.value ?? []).map(({ name }) => name), ...recall.collections])];
  const choose = (/** @type {string} */ name, /** @type {boolean} */ isOn) =>
    void changeRecall({ ...recall, collections: isOn ? [...recall.collections, name] : recall.collections.filter((one) => one !== name) });
  const count = (/** @type {string} */ name) => all.value?.find((one) => one.name === name)?.count ?? 0;
  return h(Modal, { title: t("command.recall"), class: "wide lore memory", keeps: true }, html`<p class="aside">${t("recall.text")}</p>
    <label class="check"><input type="checkbox" checked=${recall.enabled} onChange=${turn} autofocus /><span>${t("recall.on")}<small>${t("recall.onHint")}</small></span></label>
    ${h(SummariesOf, null)}
    <h3>${t("recall.documents")}</h3><p class="aside">${t("recall.documentsHint")}</p>
    ${isUnread.value && h(Blank, { symbol: "warning", title: t("recall.unread") }, html`<button type="button" class="primary" onClick=${read}>${t("retry")}</button>`)}
    ${all.value === null ? !isUnread.value && h(Waiting, { rows: 2 }) : html`<ul>${names.map((name) => h(Row, { key: name, name, count: count(name), isChosen: recall.collections.includes(name), choose: (isOn) => choose(name, isOn), read }))}</ul>`}
    ${h(NewDocument, { names, read })}`);
}

/** @param {{name: string, count: number, isChosen: boolean, choose: (isOn: boolean) => void, read: () => unknown}} props */
function Row({ name, count, isChosen, choose, read }) {
  const looking = useSignal(false);
  const look = useRef(/** @type {HTMLElement | null} */ (null));
  return html`<li class="fragment"><article aria-label=${name}><label class="check"><input type="checkbox" checked=${isChosen} onChange=${(/** @type {Event} */ event) => choose(/** @type {HTMLInputElement} */ (event.target).checked)} /><span>${name}<small>${t("recall.count", { n: count })}</small></span></label>
    <div class="actions"><button type="button" ref=${look} aria-expanded=${looking.value} onClick=${() => (looking.value = !looking.peek())}>${icon("eye")}<span>${t("recall.look")}</span></button></div>
    ${looking.value && h(Documents, { key: count, name, read, gone: () => look.current?.focus() })}</article></li>`;
}

/** @param {{name: string, read: () => unknown, gone: () => void}} props `gone`: what was pressed went with its document */
function Documents({ name, read, gone }) {
  const all = useSignal(/** @type {Document[] | null} */ (null));
  useEffect(() => void readDocuments(name).then((found) => (all.value = found ?? [])), []);
  const remove = async (/** @type {Document} */ { id }) => {
    if (!(await removeDocument(id))) return;
    all.value = (all.peek() ?? []).filter((one) => one.id !== id);
    gone();
    await read();
  };
  if (all.value === null) return h(Waiting, { rows: 2 });
  return html`<ul>${all.value.map((one) => h(Doc, { key: one.id, one, remove: () => remove(one) }))}</ul>`;
}

/** @param {{one: Document, remove: () => unknown}} props */
function Doc({ one, remove }) {
  const asking = useSignal(false);
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  const keep = () => {
    asking.value = false;
    button.current?.focus();
  };
  return html`<li class="fragment"><p class="long">${one.content}</p>
    <div class="actions"><button type="button" ref=${button} aria-expanded=${asking.value} onClick=${() => (asking.value = !asking.peek())}>${icon("shred")}<span>${t("recall.remove")}</span></button></div>
    ${asking.value && h(Sure, { text: t("recall.removeText"), yes: t("recall.removeYes"), no: t("recall.removeNo"), act: remove, keep })}</li>`;
}

/** @param {{names: string[], read: () => unknown}} props */
function NewDocument({ names, read }) {
  /** The same text sent twice by mistake is kept once; what was kept may be written again. */
  const keys = useRef(keyring());
  const busy = useRef(false);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const [collection, content] = ["collection", "content"].map((name) => String(new FormData(form).get(name) ?? "").trim());
    if (busy.current) return;
    doneWithErrors();
    if (!collection || !content) return tell({ tone: "error", text: t("recall.blank") });
    busy.current = true;
    if (await addDocument(collection, content, keys.current([collection, content]))) {
      /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("content")).value = "";
      // The name stays for the next one; it is in no danger of being lost.
      /** @type {HTMLInputElement} */ (form.elements.namedItem("collection")).defaultValue = collection;
      keys.current = keyring();
      await read();
    }
    busy.current = false;
  };
  return html`<form onSubmit=${save}><h3>${t("recall.new")}</h3>
    <label>${t("recall.collection")}<input name="collection" required maxlength="100" list="collections" /></label><datalist id="collections">${names.map((name) => html`<option key=${name} value=${name}></option>`)}</datalist>
    <label>${t("recall.content")}<textarea name="content" rows="4" required></textarea></label>
    <div class="actions"><button class="primary">${t("recall.add")}</button></div></form>`;
}
