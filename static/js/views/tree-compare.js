// Two lines of the tree side by side, beside the tree. Loaded when two are first compared.
import { h, html, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { turnCompared } from "../actions/overview.js";
import { t } from "../lib/i18n.js";
import { Comparison } from "./branches.js";
import { icon } from "./parts.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** @param {{from: Id, to: Id, back: () => void}} props */
export function Compared({ from, to, back }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => box.current?.focus({ preventScroll: true }), [from, to]);
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || document.querySelector(":popover-open")) return;
    event.preventDefault();
    back();
  };
  return html`<section ref=${box} class="tree-compared" tabindex="-1" aria-label=${t("command.compare")} onKeyDown=${keys}>
    <header>${icon("compare")}<h2>${t("command.compare")}</h2>
      <button type="button" class="round" aria-label=${t("tree.turnCompared")} title=${t("tree.turnCompared")} onClick=${turnCompared}>${icon("sides")}</button>
      <button type="button" class="round" aria-label=${t("tree.closeCompared")} title=${`${t("tree.closeCompared")} (Esc)`} onClick=${back}>${icon("close")}</button></header>
    <div class="tree-text" tabindex="0" role="group" aria-label=${t("tree.compared")}>${h(Comparison, { from, to })}</div></section>`;
}
