// The world panel: every variable drawn from its schema, this turn's changes marked, each value editable by hand.
import { h, html, useRef, useSignal } from "../../vendor/preact.js";
import { wordsFor } from "../actions/failure.js";
import "../actions/plot.js";
import { GLANCE, findRows, valuesIn, wordsOf } from "../lib/find-rows.js";
import { t } from "../lib/i18n.js";
import { MVU, changeAt, fullness, isChip, isDanger, isOpen, isUndeclared, placeOf } from "../lib/schema.js";
import { brief } from "../lib/text.js";
import { openDialog } from "../model/page.js";
import { peek, session } from "../model/story.js";
import { failed, groups, known, nameOf, rolls, turn } from "../model/world.js";
import { writing } from "../tree/line.js";
import { RollChip, differenceOf, toneOf } from "./changes.js";
import { EditValue } from "./edit-value.js";
import { Blank, CommandButton, Waiting, icon } from "./parts.js";
import { secretMark } from "./secret.js";

/** @import { Row, Turn } from "../lib/schema.js" */
/** @import { Json } from "../lib/wire.d.ts" */

export function World() {
  return html`<aside class="world" aria-label=${t("world.title")}><div class="world-inner"><header><h2>${t("world.title")}</h2>${h(CommandButton, { id: "session.plot" })}</header>${h(Contents, { key: session.value?.id })}</div></aside>`;
}

function Contents() {
  const sought = useSignal("");
  if (failed.value) return h(Blank, { symbol: "warning", title: wordsFor(failed.value).text, hint: wordsFor(failed.value).hint });
  if (!known.value) return h(Waiting, { rows: 5 });
  if (groups.value.length === 0) return h(Blank, { symbol: "world", title: t("world.empty"), hint: t("world.emptyHint") });
  const all = valuesIn(groups.value);
  const words = wordsOf(sought.value);
  const shown = words.length > 0 ? findRows(groups.value, words, shownAs) : { groups: groups.value, found: all };
  return html`${(all > GLANCE || sought.value !== "") && h(Search, { sought: sought.value, put: (text) => (sought.value = text), said: words.length > 0 ? t("world.found", { n: shown.found, all }) : "" })}
  ${shown.groups.map(
    (group) => html`<section key=${group.plugin}>${groups.value.length > 1 && html`<h3>${group.title || t(group.plugin === MVU ? "world.card" : "world.free")}</h3>`}
      <ul class="variables">${group.rows.map((row) => h(Variable, { key: row.path, row }))}</ul></section>`,
  )}
  ${words.length === 0 && rolls.value.length > 0 && html`<section><h3>${t("world.dice")}</h3><ul class="changes">${rolls.value.map((roll, i) => h(RollChip, { key: i, roll }))}</ul></section>`}`;
}

/** What a row shows where that is not what is stored. @param {Row} row */
function shownAs(row) {
  if (row.kind === "flag") return t(row.value ? "yes" : "no");
  if (row.kind === "list") return Array.isArray(row.seen) ? row.seen.map((item) => nameOf(row, item)).join("\n") : "";
  if (row.kind === "map") return Object.keys(isObject(row.seen) ? row.seen : {}).map((key) => nameOf(row, key)).join("\n");
  return nameOf(row, row.seen);
}

/** @param {{sought: string, put: (text: string) => void, said: string}} props */
function Search({ sought, put, said }) {
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || sought === "") return;
    event.preventDefault();
    put("");
  };
  return html`<search><div class="search-field">${icon("search")}<input type="search" aria-label=${t("world.find")} placeholder=${t("world.find")} value=${sought}
    onInput=${(/** @type {InputEvent} */ event) => put(/** @type {HTMLInputElement} */ (event.target).value)} onKeyDown=${keys} /></div><p class="aside" role="status">${said}</p></search>`;
}

/** @param {{row: Row}} props */
function Variable({ row }) {
  const editing = useSignal(false);
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  const close = () => {
    editing.value = false;
    button.current?.focus();
  };
  const change = changeAt(turn.value, placeOf(row));
  // A group that nobody declared may get what its maker would put in.
  const isFree = row.kind === "group" && isUndeclared(row.schema);
  const edit = t("world.edit", { name: row.label });
  // What is not to be seen would be seen in a field, or lost by one.
  const isWhole = row.kind === "bar" || isFree || JSON.stringify(row.seen) === JSON.stringify(row.value);
  const mayEdit = isWhole && peek.value === null && !writing.value && !row.schema.readOnly && row.schema["x-computed"] === undefined;
  const pencil = mayEdit && html`<button ref=${button} type="button" class="round small" aria-label=${edit} title=${edit} aria-expanded=${editing.value} onClick=${() => (editing.value = !editing.value)}>${icon("edit")}</button>`;
  if (row.kind === "group") {
    if (row.rows.length === 0 && !isOpen(row.schema) && !isFree) return null;
    return html`<li class="group variable" data-path=${row.path}><div class="variable-head"><h3 title=${row.about}>${row.label}</h3>${row.isSecret && secretMark(row.path)}${(isOpen(row.schema) || isFree) && pencil}</div>${editing.value && h(EditValue, { row, close })}<ul class="variables">${row.rows.map((inner) => h(Variable, { key: inner.path, row: inner }))}</ul></li>`;
  }
  return html`<li class=${`variable ${change ? "changed" : ""}`} data-path=${row.path}>
    <div class="variable-head"><span class="label" title=${row.about}>${row.label}</span>${row.isSecret && secretMark(row.path)}
      ${pencil}
      ${h(Now, { row, change, isEdited: editing.value })}</div>
    ${editing.value ? h(EditValue, { row, close }) : h(Long, { row, change })}
    ${row.isPair && typeof row.value === "string" && html`<p class="aside">${row.about}</p>`}
    ${change?.why && html`<p class="why">${change.why}</p>`}</li>`;
}

/** The value as a button that tells how it came to be. @param {{row: Row, change: Turn | null, isEdited: boolean}} props */
function Now({ row, change, isEdited }) {
  const ask = t("world.ask", { name: row.label });
  const isShort = !isEdited && Short({ row }) !== null;
  return html`<button type="button" class="now" title=${ask} aria-haspopup="dialog" onClick=${() => openDialog({ kind: "history", path: placeOf(row) })}>${change && h(Mark, { row, change })}${isShort ? h(Short, { row }) : html`${icon("why")}<span class="hidden">${ask}</span>`}</button>`;
}

/** @param {{row: Row, change: Turn}} props */
const Mark = ({ row, change }) => html`<b class=${`mark ${toneOf(change)}`}>${markOf(row, change)}</b>`;

/** @param {Row} row @param {Turn} change */
function markOf(row, change) {
  if (typeof change.before === "number" || Array.isArray(change.before)) return differenceOf(change);
  const named = row.kind === "choice" && change.before !== undefined;
  return named ? t("change.was", { value: nameOf(row, change.before) }) : t("change.changed");
}

// Values

/** The part beside the label. @param {{row: Row}} props */
function Short({ row }) {
  const { kind, value, schema } = row;
  if (kind === "bar") return html`<span class="value"><b>${brief(value)}</b><small> / ${schema.maximum}</small></span>`;
  const chip = isChip(schema) ? "chip" : "";
  if (kind === "number") return html`<span class=${`value ${chip}`}><b>${brief(value)}</b></span>`;
  if (kind === "choice") return html`<span class="value chip">${nameOf(row, value)}</span>`;
  if (kind === "flag") return html`<span class=${`value chip ${value ? "on" : ""}`}>${t(value ? "yes" : "no")}</span>`;
  if (kind === "text" && !isLong(value)) return html`<span class=${`value ${chip}`}>${nameOf(row, value)}</span>`;
  return null;
}

/** The part below it. @param {{row: Row, change: Turn | null}} props */
function Long({ row, change }) {
  const { kind, seen: value } = row;
  if (kind === "bar") return h(Bar, { row, change });
  if (kind === "list") return h(Items, { items: Array.isArray(value) ? value.map((item) => nameOf(row, item)) : [] });
  if (kind === "map") return h(Items, { items: Object.entries(isObject(value) ? value : {}).filter(([, inner]) => inner !== 0).map(([key, inner]) => pair(nameOf(row, key), inner)) });
  if (kind === "text" && isLong(value)) return html`<p class="long">${brief(value)}</p>`;
  return null;
}

/** @param {Json | undefined} value */
const isLong = (value) => brief(value).length > 24;
/** @param {Json | undefined} value @returns {value is {[key: string]: Json}} */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** "Rope × 2", "Affinity: 5" @param {string} name @param {Json} value */
function pair(name, value) {
  if (value === true || value === 1) return name;
  return typeof value === "number" ? `${name} × ${value}` : `${name}: ${brief(value)}`;
}

/** A bar drains at once and its loss fades after it. @param {{row: Row, change: Turn | null}} props */
function Bar({ row, change }) {
  const full = fullness(row);
  const before = typeof change?.before === "number" ? fullness({ ...row, value: change.before }) : full;
  return html`<div class=${`meter ${isDanger(row) ? "danger" : ""}`} role="meter" aria-label=${row.label} aria-valuenow=${Number(row.value ?? 0)}
    aria-valuemin=${row.schema.minimum} aria-valuemax=${row.schema.maximum} style=${{ "--full": full, "--before": Math.max(full, before) }}><span class="lost"></span><span class="fill"></span></div>`;
}

/** @param {{items: string[]}} props */
function Items({ items }) {
  if (items.length === 0) return html`<p class="nothing">${t("world.nothing")}</p>`;
  return html`<ul class="items">${items.map((item, i) => html`<li key=${i}>${item}</li>`)}</ul>`;
}
