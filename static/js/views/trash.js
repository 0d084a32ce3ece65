// The trash: what was deleted, until when it is kept, back again or gone for good. Loaded when first opened.
import { h, html, useEffect, useSignal } from "../../vendor/preact.js";
import { attempt } from "../actions/failure.js";
import { restore } from "../actions/library.js";
import { destroy, readTrash } from "../actions/trash.js";
import { ago, moment, t } from "../lib/i18n.js";
import { tell } from "../model/page.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";
import { Sure } from "./sure.js";

/** @import { TrashItem } from "../lib/wire.d.ts" */

export function Trash() {
  const list = useSignal(/** @type {TrashItem[] | null} */ (null));
  const next = useSignal(/** @type {string | null} */ (null));
  const read = async () => {
    const page = await attempt(() => readTrash(next.peek() ?? undefined));
    if (!page) return;
    list.value = [...(list.peek() ?? []), ...page.items];
    next.value = page.next;
  };
  useEffect(() => void read(), []);
  const drop = (/** @type {TrashItem} */ gone) => (list.value = (list.peek() ?? []).filter((item) => item !== gone));
  const items = list.value;
  return h(Modal, { title: t("command.trash"), class: "wide" }, html`<div class="stash"><p class="aside">${t("trash.text")}</p>
    ${items === null ? h(Waiting, { rows: 3 }) : items.length === 0 ? h(Blank, { symbol: "trash", title: t("trash.empty") }) : html`<ul>${items.map((item) => h(Row, { key: item.id, item, drop: () => drop(item) }))}</ul>`}
    ${next.value && html`<button type="button" onClick=${read}>${t("stash.more")}</button>`}</div>`);
}

/** @param {{item: TrashItem, drop: () => void}} props */
function Row({ item, drop }) {
  const asking = useSignal(false);
  const back = async () => {
    if (!(await restore(item.id))) return;
    drop();
    tell({ tone: "quiet", text: t("notice.restored", { name: item.name }) });
  };
  const end = async () => {
    if (!(await destroy(item.id))) return;
    drop();
    tell({ tone: "quiet", text: t("notice.destroyed", { name: item.name }) });
  };
  const what = [t(`trash.${item.kind}`), item.nodes === null ? "" : t("stash.count", { n: item.nodes })].filter(Boolean).join(" · ");
  return html`<li class="fragment"><article aria-label=${item.name}><h3>${item.name}</h3>
    <p class="aside">${what} · <time datetime=${item.trashedAt} title=${moment(item.trashedAt)}>${ago(item.trashedAt, Date.now())}</time> · ${t("trash.until", { when: moment(item.until) })}</p>
    <div class="actions"><button type="button" onClick=${back}>${icon("undo")}<span>${t("command.restore")}</span></button>
      <button type="button" aria-expanded=${asking.value} onClick=${() => (asking.value = !asking.peek())}>${icon("trash")}<span>${t("trash.destroy")}</span></button></div>
    ${asking.value && h(Sure, { text: t("trash.destroySure", { name: item.name }), yes: t("trash.destroyYes"), no: t("stash.keep"), act: end, keep: () => (asking.value = false) })}</article></li>`;
}
