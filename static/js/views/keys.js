// The keys of a lore entry: each by itself, to be taken away; a field for more; and words that offer themselves.
import { html, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { t } from "../lib/i18n.js";
import { keysIn } from "../lib/keywords.js";
import { icon } from "./parts.js";

/** @import { Signal } from "../../vendor/preact.js" */

/** @param {{keys: Signal<string[]>, before: string[], suggested?: string[]}} props `before`: what they were when the form was opened */
export function Keys({ keys, before, suggested = [] }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const add = (/** @type {string[]} */ more) => (keys.value = [...new Set([...keys.peek(), ...more])]);
  const drop = (/** @type {string} */ key) => {
    keys.value = keys.peek().filter((one) => one !== key);
    field.current?.focus();
  };
  const take = () => {
    const typed = field.current;
    if (!typed?.value.trim()) return;
    add(keysIn(typed.value));
    typed.value = "";
  };
  /** While the pointer is down nothing moves away from under it: what was typed becomes a key once it is up. */
  const isDown = useRef(false);
  useLayoutEffect(() => {
    const form = field.current?.form;
    const down = () => void (isDown.current = true);
    const up = () => {
      isDown.current = false;
      if (document.activeElement !== field.current) setTimeout(take);
    };
    addEventListener("pointerdown", down, true);
    addEventListener("pointerup", up, true);
    addEventListener("pointercancel", up, true);
    form?.addEventListener("submit", take, true);
    return () => {
      removeEventListener("pointerdown", down, true);
      removeEventListener("pointerup", up, true);
      removeEventListener("pointercancel", up, true);
      form?.removeEventListener("submit", take, true);
    };
  }, []);
  const press = (/** @type {KeyboardEvent} */ event) => {
    const typed = /** @type {HTMLInputElement} */ (event.target).value;
    const ends = event.key === "Enter" || (/^[,，、]$/.test(event.key) && !typed.startsWith("/"));
    if (!ends || !typed.trim()) return;
    event.preventDefault();
    take();
  };
  const offered = suggested.filter((word) => !keys.value.includes(word));
  return html`<fieldset class="lore-keys"><legend>${t("lore.keys")}</legend>
    ${keys.value.length > 0 && html`<ul class="chips">${keys.value.map((key) => html`<li key=${key} class="chip"><span>${key}</span><button type="button" aria-label=${t("lore.keyDrop", { name: key })} title=${t("lore.keyDrop", { name: key })} onClick=${() => drop(key)}>${icon("close")}</button></li>`)}</ul>`}
    <label><span class="hidden">${t("lore.keyAdd")}</span><input ref=${field} placeholder=${t("lore.keyAdd")} onKeyDown=${press} onBlur=${() => isDown.current || take()} /><small>${t("lore.keysHint")}</small></label>
    <input hidden readonly defaultValue=${before.join("\n")} value=${keys.value.join("\n")} />
    ${offered.length > 0 && html`<ul class="chips" aria-label=${t("lore.suggested")}>${offered.map((word) => html`<li key=${word}><button type="button" class="chip without" aria-label=${t("lore.suggest", { name: word })} onClick=${() => add([word])}>${icon("plus")}${word}</button></li>`)}</ul>`}</fieldset>`;
}
