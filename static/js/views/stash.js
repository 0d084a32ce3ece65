// The stash: what was taken out of the story, to be read, put back, moved, named or thrown away for good. Loaded when first opened.
import { h, html, useEffect, useSignal } from "../../vendor/preact.js";
import { place } from "../actions/move.js";
import { putBack, readFragment, renameFragment } from "../actions/stash.js";
import { attempt } from "../actions/failure.js";
import { ago, moment, t } from "../lib/i18n.js";
import { excerpt } from "../lib/excerpt.js";
import { plain } from "../lib/text.js";
import { fragments } from "../model/arrangement.js";
import { mayRearrange, openDialog } from "../model/page.js";
import { purges } from "../model/story.js";
import { inOrder } from "../tree/fragment.js";
import { nameOf } from "../tree/speaker.js";
import { handleOfFragment } from "./drag.js";
import { ReadOnly } from "./message.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";
import { Purge } from "./purge.js";
import { takeFocus } from "./sure.js";

/** @import { Key } from "../lib/i18n.js" */
/** @import { ChatNode, Fragment, Id } from "../lib/wire.d.ts" */

/** @param {{opened: Id | null}} props the fragment that is read at once */
export function Stash({ opened }) {
  const list = fragments.value;
  return h(Modal, { title: t("command.stash"), class: "wide" }, html`<div class="stash">
    ${list === null ? h(Waiting, { rows: 3 }) : list.length === 0 ? h(Blank, { symbol: "stash", title: t("stash.empty"), hint: t("stash.emptyHint") }) : html`<ul>${list.map((fragment) => h(Row, { key: fragment.id, fragment, isOpened: fragment.id === opened }))}</ul>`}</div>`);
}

/** @typedef {"" | "read" | "rename" | "purge"} Doing */

/** What a fragment is called: its own name, or how it begins. @param {Fragment} fragment */
export const titleOf = ({ name, firstLine }) => name || excerpt(firstLine) || t("stash.nameless");

/** @param {{fragment: Fragment, isOpened: boolean}} props */
function Row({ fragment, isOpened }) {
  const doing = useSignal(/** @type {Doing} */ (isOpened ? "read" : ""));
  const name = titleOf(fragment);
  const turn = (/** @type {Doing} */ to) => (doing.value = doing.peek() === to ? "" : to);
  const button = (/** @type {Key} */ label, /** @type {string} */ symbol, /** @type {() => unknown} */ act, /** @type {boolean | null} */ open = null) =>
    html`<button type="button" aria-expanded=${open} onClick=${act}>${icon(symbol)}<span>${t(label)}</span></button>`;
  return html`<li class="fragment"><article aria-label=${name}>
    <h3 ...${mayRearrange.value ? handleOfFragment(fragment.id, name) : {}}>${name}</h3><p class="aside">${fragment.name && fragment.firstLine && html`<q>${excerpt(plain(fragment.firstLine))}</q> · `}${t("stash.count", { n: fragment.count })} · <time datetime=${fragment.createdAt} title=${moment(fragment.createdAt)}>${ago(fragment.createdAt, Date.now())}</time></p>
    ${!fragment.canReturn && html`<p class="aside no-return">${icon("warning")}<span>${t(fragment.originId ? "stash.originOut" : "stash.originGone")}</span></p>`}
    <div class="actions">${mayRearrange.value && html`${fragment.canReturn && button("stash.putBack", "undo", () => putBack(fragment.id))}${button("stash.putBelow", "move", () => place(fragment.id, name, false))}${button("stash.copyBelow", "copyTo", () => place(fragment.id, name, true))}`}
      ${button("stash.read", "eye", () => turn("read"), doing.value === "read")}${button("command.keepLore", "lore", () => openDialog({ kind: "keepLore", passage: { fragmentId: fragment.id } }))}${button("stash.rename", "edit", () => turn("rename"), doing.value === "rename")}
      ${mayRearrange.value && button("command.purge", "shred", () => turn("purge"), doing.value === "purge")}</div>
    ${doing.value === "read" && h(Contents, { id: fragment.id })}
    ${doing.value === "rename" && h(Rename, { fragment, done: () => (doing.value = "") })}
    ${doing.value === "purge" && h(Purge, { piece: { fragmentId: fragment.id }, keep: () => (doing.value = "") })}</article></li>`;
}

/** @param {{fragment: Fragment, done: () => void}} props */
export function Rename({ fragment, done }) {
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const name = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("name") ?? "").trim();
    if (await renameFragment(fragment.id, name)) done();
  };
  return html`<form onSubmit=${save}><label>${t("stash.name")}<input name="name" maxlength="100" ref=${takeFocus} defaultValue=${fragment.name ?? ""} /></label>
    <div class="actions"><button type="button" onClick=${done}>${t("cancel")}</button><button class="primary">${t("save")}</button></div></form>`;
}

// Reading

/** So many steps to the right are shown at most; what branches further stays there. */
const DEEPEST = 6;

/** The messages of a fragment; where it branches, the later branches stand further to the right. @param {{id: Id}} props */
export function Contents({ id }) {
  const nodes = useSignal(/** @type {ChatNode[]} */ ([]));
  const next = useSignal(/** @type {string | null | undefined} */ (undefined));
  const more = async () => {
    const page = await attempt(() => readFragment(id, next.peek() ?? undefined));
    if (!page) return;
    nodes.value = [...nodes.peek(), ...page.items];
    next.value = page.next;
  };
  useEffect(() => {
    nodes.value = [];
    next.value = undefined;
    void more();
  }, [id, purges.value]);
  if (next.value === undefined) return h(Waiting, { rows: 2 });
  return html`<ol class="contents" aria-label=${t("stash.contents")}>${inOrder(nodes.value).map(
    ({ node, steps }) => html`<li key=${node.id} class=${`steps-${Math.min(steps, DEEPEST)}`}><b>${nameOf(node)}</b>${h(ReadOnly, { node })}</li>`,
  )}</ol>${next.value && html`<button type="button" onClick=${more}>${t("stash.more")}</button>`}`;
}
