// JSON to be read: folded, drawn when it is opened, and never more of a long list than somebody asked for.
import { html, h, useSignal } from "../../vendor/preact.js";
import { excerpt } from "../lib/excerpt.js";
import { t } from "../lib/i18n.js";

/** So many parts are drawn at once. */
const PIECE = 100;
/** A longer text is folded. */
const LINE = 60;
/** What a part of a list may be called by. */
const NAMES = ["name", "scriptName", "label", "identifier", "title", "id"];

/** The parts of a value, by their names. @param {{value: object}} props */
export function Parts({ value }) {
  const drawn = useSignal(PIECE);
  const all = Object.entries(value);
  const nameOf = (/** @type {string} */ key, /** @type {any} */ part) => (Array.isArray(value) ? [Number(key) + 1, titleOf(part)].filter(Boolean).join(" ") : key);
  return html`<div class="json">${all.slice(0, drawn.value).map(([key, part]) => h(Part, { key, name: nameOf(key, part), value: part }))}
    ${all.length > drawn.value && html`<button type="button" onClick=${() => (drawn.value += PIECE)}>${t("preset.more", { n: all.length - drawn.value })}</button>`}</div>`;
}

/** @param {any} part */
const titleOf = (part) => (part && typeof part === "object" ? (NAMES.map((key) => part[key]).find((name) => typeof name === "string" && name.trim()) ?? "") : "");

/** @param {{name: string, value: unknown}} props */
function Part({ name, value }) {
  const isOpen = useSignal(false);
  const turn = (/** @type {Event} */ event) => (isOpen.value = /** @type {HTMLDetailsElement} */ (event.target).open);
  const folded = (/** @type {string} */ aside, /** @type {() => unknown} */ inside) =>
    html`<details onToggle=${turn}><summary><b>${name}</b> <small>${aside}</small></summary>${isOpen.value && inside()}</details>`;
  if (value && typeof value === "object" && Object.keys(value).length > 0) return folded(t("preset.parts", { n: Object.keys(value).length }), () => h(Parts, { value }));
  if (typeof value === "string" && (value.length > LINE || value.includes("\n"))) return folded(excerpt(value.slice(0, 500).replace(/\s+/g, " "), LINE), () => html`<pre tabindex="0">${value}</pre>`);
  return html`<p><b>${name}</b> <code>${JSON.stringify(value)}</code></p>`;
}
