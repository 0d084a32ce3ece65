// A value of the world, changed by hand: the field that its schema asks for, and what is expected when an input does not fit.
import { h, html, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { change } from "../actions/world.js";
import { drawn } from "../lib/focus.js";
import { t } from "../lib/i18n.js";
import { boundsOf, fault, fieldKind, startValue } from "../lib/fields.js";
import { isUndeclared, kindOf, placeOf, stepsBetween } from "../lib/schema.js";
import { nameOf } from "../model/world.js";
import { icon } from "./parts.js";

/** @import { Kind, Row } from "../lib/schema.js" */
/** @import { Json, Schema } from "../lib/wire.d.ts" */
/** @typedef {{id: number, key: string, value: Json}} Entry */

/** @param {{row: Row, close: () => void}} props */
export function EditValue({ row, close }) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  // Of what nobody declared only what was changed is written, each at its own place; the rest may change meanwhile.
  const isFree = isUndeclared(row.schema);
  const before = isFree ? row.seen : row.value;
  const value = useRef(/** @type {Json | Error} */ (before ?? startValue(row.schema)));
  const wrong = useSignal("");
  const begin = () => /** @type {HTMLElement | null | undefined} */ (form.current?.querySelector("input, select, textarea") ?? form.current?.querySelector("button"))?.focus();
  useLayoutEffect(begin, []);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const found = fault(row.schema, value.current);
    wrong.value = found ? t(/** @type {import("../lib/i18n.js").Key} */ (`expected.${found.key}`), found.vars) : "";
    if (found) return begin();
    const after = /** @type {Json} */ (value.current);
    const isSame = JSON.stringify(after) === JSON.stringify(before);
    if (isSame || (await change(isFree ? stepsBetween(placeOf(row), before, after) : [{ op: "set", path: row.path, value: after }]))) close();
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  };
  const put = (/** @type {Json | Error} */ next) => void (value.current = next);
  return html`<form ref=${form} class="edit-value" novalidate onSubmit=${save} onKeyDown=${keys}>
    ${h(Field, { row, kind: fieldKind(row), schema: row.schema, value: value.current, name: row.label, put })}
    ${wrong.value && html`<p class="hint bad" role="alert">${wrong.value}</p>`}
    <div class="actions"><button type="button" onClick=${close}>${t("cancel")}</button><button class="primary">${t("world.set")}</button></div></form>`;
}

/**
 * @typedef {object} FieldProps
 * @property {Row} row whose words name the values
 * @property {Kind} kind
 * @property {Schema} schema
 * @property {Json | Error} value at the beginning
 * @property {string} name
 * @property {(next: Json | Error) => void} put hears of every change; an Error names what was expected
 */

/** @param {FieldProps} props */
export function Field(props) {
  const { row, kind, schema, value, name, put } = props;
  switch (kind) {
    case "bar":
    case "number":
      return h(NumberField, props);
    case "choice":
      return html`<select aria-label=${name} onChange=${(/** @type {Event} */ e) => put(JSON.parse(/** @type {HTMLSelectElement} */ (e.target).value))}>${schema.enum?.map(
        (choice, i) => html`<option key=${i} value=${JSON.stringify(choice)} selected=${choice === value}>${nameOf(row, choice)}</option>`,
      )}</select>`;
    case "flag":
      return html`<label class="check"><input type="checkbox" defaultChecked=${value === true} onChange=${(/** @type {Event} */ e) => put(/** @type {HTMLInputElement} */ (e.target).checked)} /><span>${name}</span></label>`;
    case "text":
      return html`<input type="text" maxlength=${schema.maxLength} defaultValue=${typeof value === "string" ? value : ""} aria-label=${name} onInput=${(/** @type {Event} */ e) => put(textIn(e))} />`;
    case "list":
    case "map":
      return h(Entries, props);
    default:
      return h(JsonField, props);
  }
}

/** @param {Event} event */
const textIn = (event) => /** @type {HTMLInputElement} */ (event.target).value;

/** A number with a button for less and one for more. @param {FieldProps} props */
function NumberField({ schema, value, name, put }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { min, max } = boundsOf(schema);
  const step = (/** @type {1 | -1} */ way) => {
    const input = field.current;
    if (!input) return;
    // A field that takes any number has no step of its own.
    const next = Number(((Number.isNaN(input.valueAsNumber) ? 0 : input.valueAsNumber) + way).toPrecision(12));
    input.valueAsNumber = Math.min(max ?? Infinity, Math.max(min ?? -Infinity, next));
    put(input.valueAsNumber);
  };
  const heard = () => {
    const number = field.current?.valueAsNumber ?? NaN;
    put(Number.isNaN(number) ? new Error("number") : number);
  };
  return html`<span class="stepper"><button type="button" class="round" aria-label=${t("world.less", { name })} onClick=${() => step(-1)}>−</button>
    <input ref=${field} type="number" step=${schema.type === "integer" ? 1 : "any"} min=${min} max=${max} defaultValue=${String(value ?? 0)} aria-label=${name} onInput=${heard} />
    <button type="button" class="round" aria-label=${t("world.more", { name })} onClick=${() => step(1)}>+</button></span>`;
}

let counted = 0;

/** The things of a list, or the names of a map with what belongs to them: to change, to take away, to add. @param {FieldProps} props */
function Entries({ row, kind, schema, value, name, put }) {
  const isMap = kind === "map";
  const inner = innerOf(schema, isMap);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const begun = useRef(/** @type {Entry[] | null} */ (null));
  const entries = useSignal((begun.current ??= entriesOf(value)));
  const tell = () => put(isMap ? mapOf(entries.peek()) : entries.peek().map((entry) => entry.value));
  const focusLast = () => void drawn().then(() => /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector("li:last-child")?.querySelector("input, select"))?.focus());
  const add = () => {
    entries.value = [...entries.peek(), { id: ++counted, key: "", value: startValue(inner) }];
    tell();
    focusLast();
  };
  const remove = (/** @type {Entry} */ gone) => {
    entries.value = entries.peek().filter((entry) => entry !== gone);
    tell();
    /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector(".add"))?.focus();
  };
  const isFull = !isMap && schema.maxItems !== undefined && entries.value.length >= schema.maxItems;
  return html`<div class="entries" ref=${box} role="group" aria-label=${name}><ul>${entries.value.map(
    (entry, i) => html`<li key=${entry.id}>
      ${isMap && html`<input type="text" class="key" defaultValue=${entry.key} aria-label=${t("world.entryName", { n: i + 1 })} placeholder=${t("world.entryPlaceholder")} onInput=${(/** @type {Event} */ e) => ((entry.key = textIn(e)), tell())} />`}
      ${h(Field, { row: { ...row, schema: inner }, kind: kindOf(inner, entry.value), schema: inner, value: entry.value, name: isMap ? t("world.entryValue", { name: entry.key || String(i + 1) }) : t("world.entryName", { n: i + 1 }), put: (next) => ((entry.value = /** @type {Json} */ (next)), tell()) })}
      <button type="button" class="round small" aria-label=${t("world.entryRemove", { name: entry.key || String(entry.value || i + 1) })} title=${t("world.remove")} onClick=${() => remove(entry)}>${icon("trash")}</button></li>`,
  )}</ul>
    <button type="button" class="add" aria-disabled=${isFull} onClick=${() => isFull || add()}>${icon("plus")}<span>${t("world.add")}</span></button></div>`;
}

/** @param {Schema} schema @param {boolean} isMap @returns {Schema} */
function innerOf(schema, isMap) {
  const inner = isMap ? schema.additionalProperties : schema.items;
  return typeof inner === "object" ? inner : {};
}

/** @param {Json | Error} value @returns {Entry[]} */
function entriesOf(value) {
  if (Array.isArray(value)) return value.map((inner) => ({ id: ++counted, key: "", value: inner }));
  const map = value !== null && typeof value === "object" && !(value instanceof Error) ? value : {};
  return Object.entries(map).map(([key, inner]) => ({ id: ++counted, key, value: inner }));
}

/** @param {Entry[]} entries @returns {Json | Error} */
function mapOf(entries) {
  const names = entries.map(({ key }) => key.trim());
  if (names.includes("")) return new Error("name");
  if (new Set(names).size < names.length) return new Error("names");
  const wrong = entries.find(({ value }) => value instanceof Error);
  return wrong ? /** @type {any} */ (wrong.value) : Object.fromEntries(entries.map(({ value }, i) => [names[i] ?? "", value]));
}

/** What has no form of its own. @param {FieldProps} props */
function JsonField({ value, name, put }) {
  const read = (/** @type {string} */ text) => {
    try {
      return /** @type {Json} */ (JSON.parse(text));
    } catch {
      return new Error("json");
    }
  };
  return html`<textarea rows="3" class="code" aria-label=${name} defaultValue=${JSON.stringify(value ?? null, null, 1)} onInput=${(/** @type {Event} */ e) => put(read(textIn(e)))}></textarea>`;
}
