// Bringing another timeline over: what comes along, and what holds where both did something to the same place. Loaded when
// first opened.
import { h, html, useSignal } from "../../vendor/preact.js";
import { readDiff } from "../actions/branches.js";
import { merge, readBoth } from "../actions/merge.js";
import { t } from "../lib/i18n.js";
import { fault } from "../lib/fields.js";
import { valueAt } from "../lib/text.js";
import { openDialog } from "../model/page.js";
import { head } from "../model/story.js";
import { isWithheld, labelOf, nameOf, rows } from "../model/world.js";
import { ApiError } from "../net/api.js";
import { Field } from "./edit-value.js";
import { Labels } from "./label.js";
import { Ago, PartingAt } from "./parting.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";
import { Failed, useReading } from "./reading.js";
import { reasonsOf } from "./reasons.js";
import { RunChooser, runOf } from "./run.js";
import { takeFocus } from "./sure.js";

/** @import { Row } from "../lib/schema.js" */
/** @import { ChatNode, Conflict, DiffSide, Id, Json } from "../lib/wire.d.ts" */

/** @param {{from: Id}} props the end of the other line */
export function Merge({ from }) {
  const known = useReading(() => readDiff(head.peek() ?? from, from), from);
  return h(Modal, { title: t("command.merge"), class: "wide" }, html`<p class="aside">${t("merge.text")}</p>${
    known === null ? h(Waiting, { rows: 3 }) : known instanceof ApiError ? h(Failed, { error: known }) : known.to.count === 0 ? h(Blank, { symbol: "merge", title: t("compare.nothing") }) : h(Parts, { side: known.to, ancestorId: known.ancestorId })
  }`);
}

/** @typedef {{path: string, theirs: Json | undefined, ours: Json | undefined, conflict: Conflict}} Open */
/** A side, or a value of the reader's own; an Error names what was expected of it. @typedef {"ours" | "theirs" | {value: Json | Error}} Held */

/** @param {{side: DiffSide, ancestorId: Id}} props what the other line has since the two parted */
function Parts({ side: { leafId, count, items }, ancestorId }) {
  const nodes = items.filter(({ kind, status }) => kind !== "change" && status === "complete");
  const run = useSignal({ first: nodes[0]?.id ?? "", last: nodes.at(-1)?.id ?? "" });
  const alone = useSignal(nodes.length === 0);
  const open = useSignal(/** @type {Open[]} */ ([]));
  const chosen = useSignal(/** @type {{[path: string]: Held}} */ ({}));
  const wrong = useSignal(/** @type {{[path: string]: string}} */ ({}));
  const busy = useSignal(false);
  // What else comes along may meet other places.
  const anew = () => (open.value = []);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy.peek()) return;
    wrong.value = faultsOf(open.peek(), chosen.peek());
    if (Object.keys(wrong.peek()).length > 0) return;
    busy.value = true;
    const ids = alone.peek() ? [] : withChanges(items, runOf(nodes, run.peek().first, run.peek().last));
    const conflicts = await merge(leafId, ids, open.peek().length > 0 ? /** @type {{[path: string]: Json}} */ (chosen.peek()) : {});
    if (conflicts) await ask(conflicts);
    busy.value = false;
  };
  const ask = async (/** @type {Conflict[]} */ conflicts) => {
    const both = await readBoth(leafId);
    chosen.value = Object.fromEntries(conflicts.map(({ path }) => [path, "ours"]));
    open.value = conflicts.map((conflict) => ({ path: conflict.path, conflict, theirs: at(both.theirs, conflict.path), ours: at(both.ours, conflict.path) }));
  };
  const hold = (/** @type {string} */ path, /** @type {Held} */ value) => {
    chosen.value = { ...chosen.peek(), [path]: value };
    wrong.value = { ...wrong.peek(), [path]: "" };
  };
  const what = (/** @type {boolean} */ is, /** @type {"messages" | "alone"} */ word) =>
    html`<label class="check"><input type="radio" name="what" checked=${alone.value === is} disabled=${!is && nodes.length === 0} onChange=${() => (anew(), (alone.value = is))} /><span>${t(`merge.${word}`)}<small>${t(`merge.${word}Hint`)}</small></span></label>`;
  return html`<form novalidate onSubmit=${save}><p class="aside">${h(Labels, { nid: leafId })}${h(PartingAt, { nid: ancestorId })}${nodes.length > 0 && html`<span>${t("stash.count", { n: nodes.length })} · ${h(Ago, { timestamp: nodes.at(-1)?.timestamp ?? "" })}</span>`}</p><fieldset><legend>${t("merge.what")}</legend>${what(false, "messages")}${what(true, "alone")}</fieldset>
    ${!alone.value && html`${h(RunChooser, { nodes, ...run.value, put: (first, last) => (anew(), (run.value = { first, last })) })}
      ${count > items.length && html`<p class="aside">${t("compare.older", { n: count - items.length })}</p>`}`}
    ${open.value.length > 0 && html`<section class="conflicts" ref=${takeFocus} tabindex="-1" aria-labelledby="conflicts"><h3 id="conflicts">${icon("warning")}${t("merge.conflicts", { n: open.value.length })}</h3>
      ${open.value.map((one) => h(Choice, { key: one.path, open: one, wrong: wrong.value[one.path] ?? "", put: (value) => hold(one.path, value) }))}</section>`}
    <div class="actions"><button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary" aria-disabled=${busy.value}>${icon("merge")}<span>${t("merge.take")}</span></button></div></form>`;
}

/** A run, and the changes by hand that follow its messages. @param {ChatNode[]} items @param {ChatNode[]} run */
function withChanges(items, run) {
  const from = items.findIndex(({ id }) => id === run[0]?.id);
  const after = items.findIndex(({ kind }, i) => i > items.findIndex(({ id }) => id === run.at(-1)?.id) && kind !== "change");
  return items.slice(from, after < 0 ? undefined : after).map(({ id }) => id);
}

/** @param {Json} vars @param {string} path of a variable, or with the name of another part of the world in front */
const at = (vars, path) => (path.startsWith("/") ? valueAt(vars, path) : undefined);

/** @param {Json | undefined} value */
const isPlain = (value) => typeof value === "number" || typeof value === "string";

/** The row that a value is drawn as in the world, or one that asks for no more than the kind of value that stands there. @param {Open} open @returns {Row} */
function rowOf({ path, theirs, ours }) {
  const kind = typeof theirs === "number" || typeof ours === "number" ? "number" : "text";
  return rows.value.get(path) ?? { path, label: labelOf(path) ?? "", about: "", kind, schema: {}, value: ours, rows: [] };
}

/** What is wrong with the values of the reader's own, in words. @param {Open[]} open @param {{[path: string]: Held}} chosen */
function faultsOf(open, chosen) {
  /** @type {{[path: string]: string}} */
  const words = {};
  for (const one of open) {
    const held = chosen[one.path];
    const found = typeof held === "object" ? fault(rowOf(one).schema, held.value) : null;
    if (found) words[one.path] = t(/** @type {import("../lib/i18n.js").Key} */ (`expected.${found.key}`), found.vars);
  }
  return words;
}

/** @param {{open: Open, wrong: string, put: (value: Held) => void}} props */
function Choice({ open, wrong, put }) {
  const { path, theirs, ours, conflict } = open;
  const own = useSignal(false);
  const row = rowOf(open);
  const value = (/** @type {Json | undefined} */ it) => (it === undefined ? (path.startsWith("/") ? t("change.gone") : "") : nameOf(row, it));
  const isOut = isWithheld(path);
  const side = (/** @type {"ours" | "theirs"} */ which, /** @type {Json | undefined} */ it) =>
    html`<label class="check"><input type="radio" name=${path} defaultChecked=${which === "ours"} onChange=${() => ((own.value = false), put(which))} /><span>${t(`merge.${which}`)} ${!isOut && html`<b>${value(it)}</b><small>${reasonsOf(conflict[which], path)}</small>`}</span></label>`;
  // A word that is typed is a value, also where it reads like one of the two sides.
  const typed = (/** @type {Json | Error} */ next) => put({ value: next });
  return html`<fieldset class="conflict"><legend>${labelOf(path) ?? t("merge.hidden")}</legend>${side("ours", ours)}${side("theirs", theirs)}
    ${!isOut && isPlain(ours) && isPlain(theirs) && html`<label class="check"><input type="radio" name=${path} onChange=${() => ((own.value = true), put({ value: ours ?? null }))} /><span>${t("merge.own")}</span></label>
      ${own.value && html`<div class="own edit-value" ref=${focusWithin}>${h(Field, { row, kind: row.kind, schema: row.schema, value: ours ?? null, name: t("merge.ownValue", { name: row.label }), put: typed })}</div>`}`}
    ${wrong && html`<p class="hint bad" role="alert">${wrong}</p>`}</fieldset>`;
}

/** @param {HTMLElement | null} box */
const focusWithin = (box) => takeFocus(/** @type {HTMLElement | null | undefined} */ (box?.querySelector("input, select, textarea")) ?? null);
