// The second question before something is destroyed. It opens beside what asked it, and takes the keyboard.
import { html } from "../../vendor/preact.js";
import { icon } from "./parts.js";

/** @param {{text: string, yes: string, no: string, act: () => unknown, keep: () => unknown}} props */
export const Sure = ({ text, yes, no, act, keep }) =>
  html`<div class="grave" role="group" aria-label=${yes}>${icon("warning")}<p>${text}</p>
    <div class="actions"><button type="button" ref=${takeFocus} onClick=${keep}>${no}</button><button type="button" class="primary danger" onClick=${act}>${yes}</button></div></div>`;

/** What has just opened takes the keyboard, once. @param {HTMLElement | null} element */
export function takeFocus(element) {
  if (!element || element.dataset["met"]) return;
  element.dataset["met"] = "yes";
  element.focus();
}
