// The stash beside the whole tree: a drawer that fragments are drawn out of, and cards into.
import { h, html, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { run } from "../actions/commands.js";
import { movedHere, place } from "../actions/move.js";
import { moveTo, takeOut } from "../actions/overview.js";
import { putBack, readArrangement } from "../actions/stash.js";
import { excerpt } from "../lib/excerpt.js";
import { isFocusLost } from "../lib/focus.js";
import { ago, moment, t } from "../lib/i18n.js";
import { plain } from "../lib/text.js";
import { fragments, moving } from "../model/arrangement.js";
import { isOverStash } from "../model/overview.js";
import { mayRearrange, openDialog } from "../model/page.js";
import { beginningOf } from "../tree/overview.js";
import { Blank, Menu, Waiting, icon } from "./parts.js";
import { Purge } from "./purge.js";
import { Contents, Rename, titleOf } from "./stash.js";
import { RESTS, SLIP } from "./tree-pointers.js";

/** @import { Key } from "../lib/i18n.js" */
/** @import { Fragment } from "../lib/wire.d.ts" */
/** @import { Drawn } from "../tree/overview.js" */
/** @import { TreeCanvas } from "./tree-canvas.js" */
/** @typedef {{tree: Drawn, canvas: () => TreeCanvas | null, focusTree: () => void}} Around */

const close = () => run("session.stash");

/** @param {Around & {isCovered: boolean, takesKeys: boolean}} props `isCovered`: on a narrow screen something else has its place; `takesKeys`: it was opened just now */
export function Drawer({ tree, canvas, focusTree, isCovered, takesKeys }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const list = fragments.value;
  useEffect(() => void readArrangement(), []);
  // Who opened it goes on in it by keys; who closes it finds the tree.
  useLayoutEffect(() => {
    if (takesKeys) box.current?.focus({ preventScroll: true });
    return () => void (box.current?.contains(document.activeElement) && focusTree());
  }, []);
  useEffect(() => {
    if (isFocusLost()) box.current?.focus({ preventScroll: true });
  }, [list]);
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || event.defaultPrevented || moving.peek() || document.querySelector(":popover-open")) return;
    event.preventDefault();
    close();
  };
  const takes = movedHere() !== null;
  return html`<section ref=${box} class=${`tree-drawer ${isCovered ? "is-covered" : ""} ${takes ? "takes" : ""} ${takes && isOverStash.value ? "is-over" : ""}`} tabindex="-1" data-takes="stash" aria-label=${t("command.stash")} onKeyDown=${keys}>
    <header>${icon("stash")}<h2>${t("command.stash")}</h2>${list && list.length > 0 && html`<span class="chip">${list.length}</span>`}
      <button type="button" class="round" aria-label=${t("tree.closeStash")} title=${`${t("tree.closeStash")} (D)`} onClick=${close}>${icon("close")}</button></header>
    ${takes && html`<p class="takes-here">${icon("down")}<span>${t("tree.takesHere")}</span></p>`}
    ${list === null ? h(Waiting, { rows: 3 }) : list.length === 0 ? h(Blank, { symbol: "stash", title: t("stash.empty"), hint: t("tree.stashHint") }) : html`<ul>${list.map((fragment) => h(Piece, { key: fragment.id, fragment, tree, canvas, focusTree }))}</ul>`}</section>`;
}

/** @typedef {"" | "read" | "rename" | "purge"} Doing */

/** @param {Around & {fragment: Fragment}} props */
function Piece({ fragment, tree, canvas, focusTree }) {
  const doing = useSignal(/** @type {Doing} */ (""));
  const name = titleOf(fragment);
  const turn = (/** @type {Doing} */ to) => (doing.value = doing.peek() === to ? "" : to);
  const button = (/** @type {Key} */ label, /** @type {string} */ symbol, /** @type {() => unknown} */ act) => html`<button type="button" onClick=${act}>${icon(symbol)}<span>${t(label)}</span></button>`;
  const { piece } = moving.value ?? {};
  const isTaken = piece && "fragmentId" in piece && piece.fragmentId === fragment.id;
  return html`<li class=${`piece ${isTaken ? "is-taken" : ""}`}><article aria-label=${name}>
    ${h(Handle, { fragment, name, canvas })}
    ${h(Origin, { fragment, tree, focusTree })}
    <div class="actions">${mayRearrange.value && html`${fragment.canReturn && button("tree.return", "undo", () => putBack(fragment.id))}${button("tree.putBelow", "move", () => place(fragment.id, name, false))}`}
      ${h(Menu, { label: t("tree.more", { name }), symbol: "more", class: "more" }, html`${button(doing.value === "read" ? "tree.close" : "stash.read", "eye", () => turn("read"))}${button("stash.rename", "edit", () => turn("rename"))}${mayRearrange.value && button("stash.copyBelow", "copyTo", () => place(fragment.id, name, true))}${button("command.keepLore", "lore", () => openDialog({ kind: "keepLore", passage: { fragmentId: fragment.id } }))}${mayRearrange.value && html`<hr />${button("command.purge", "shred", () => turn("purge"))}`}`)}</div>
    ${doing.value === "read" && h(Contents, { id: fragment.id })}
    ${doing.value === "rename" && h(Rename, { fragment, done: () => (doing.value = "") })}
    ${doing.value === "purge" && h(Purge, { piece: { fragmentId: fragment.id }, keep: () => (doing.value = "") })}</article></li>`;
}

/** Where it would come back to: the message it followed, which is a click away; or why it cannot. @param {Pick<Around, "tree" | "focusTree"> & {fragment: Fragment}} props */
function Origin({ fragment: { originId, canReturn }, tree: { outline }, focusTree }) {
  if (!canReturn) return html`<p class="aside no-return">${icon("warning")}<span>${t(originId ? "stash.originOut" : "stash.originGone")}</span></p>`;
  const n = outline.at.get(originId ?? "");
  if (n === undefined) return null;
  const words = n === 0 ? t("tree.beginning") : excerpt(beginningOf(outline, n), 40) || t("tree.wordless");
  return html`<button type="button" class="origin" title=${t("tree.showOrigin")} onClick=${() => (moveTo(n), focusTree())}>${icon("branch")}<span>${t("tree.origin", { text: words })}</span></button>`;
}

/** What a fragment is drawn by: with the mouse at once, with a finger after it has rested. @param {{fragment: Fragment, name: string, canvas: () => TreeCanvas | null}} props */
function Handle({ fragment, name, canvas }) {
  const held = useRef(false);
  const press = (/** @type {PointerEvent} */ event) => mayRearrange.peek() && drawOut(event, { fragment, name, canvas: canvas(), hold: (is) => (held.current = is) });
  // A finger that took it up does not scroll the list as well.
  const stay = (/** @type {TouchEvent} */ event) => held.current && event.cancelable && event.preventDefault();
  return html`<div class=${mayRearrange.value ? "piece-handle" : ""} onPointerDown=${press} onTouchMove=${stay} onContextMenu=${(/** @type {Event} */ event) => held.current && event.preventDefault()}>
    <h3>${name}</h3><p class="aside">${fragment.name && fragment.firstLine && html`<q>${excerpt(plain(fragment.firstLine), 80)}</q> · `}${t("stash.count", { n: fragment.count })} · <time datetime=${fragment.createdAt} title=${moment(fragment.createdAt)}>${ago(fragment.createdAt, Date.now())}</time></p></div>`;
}

/**
 * Follows one press of a fragment, from there over the tree. @param {PointerEvent} event
 * @param {{fragment: Fragment, name: string, canvas: TreeCanvas | null, hold: (is: boolean) => void}} what
 */
function drawOut(event, { fragment, name, canvas, hold }) {
  const handle = event.currentTarget;
  if (event.button > 0 || !event.isPrimary || !canvas || !(handle instanceof HTMLElement)) return;
  const isMouse = event.pointerType === "mouse";
  const [x, y] = [event.clientX, event.clientY];
  const ends = new AbortController();
  let doing = /** @type {"press" | "held" | "carry"} */ ("press");
  const rest = () => {
    doing = "held";
    hold(true);
    handle.classList.add("is-held");
    navigator.vibrate?.(10);
  };
  const timer = isMouse ? 0 : window.setTimeout(rest, RESTS);
  const end = (/** @type {boolean} */ isMeant) => {
    clearTimeout(timer);
    ends.abort();
    hold(false);
    handle.classList.remove("is-held");
    if (doing === "carry" && moving.peek()) canvas.hands.letGo(isMeant);
  };
  const move = (/** @type {PointerEvent} */ now) => {
    if (doing !== "carry") {
      if (Math.hypot(now.clientX - x, now.clientY - y) < SLIP[isMouse ? "mouse" : "touch"]) return;
      // A finger that did not rest scrolls.
      if ((doing === "press" && !isMouse) || !takeOut(fragment.id, name)) return end(false);
      doing = "carry";
      handle.setPointerCapture(now.pointerId);
    }
    // Left, or put down by a key.
    if (!moving.peek()) return end(false);
    canvas.hands.bring(canvas.at(now), name);
  };
  const { signal } = ends;
  handle.addEventListener("pointermove", move, { signal });
  handle.addEventListener("pointerup", () => end(true), { signal });
  handle.addEventListener("pointercancel", () => end(false), { signal });
}
