// Bringing another timeline over: what comes along, and what holds where both did something to the same place. Loaded when
// first opened.
import { h, html, useEffect, useSignal } from "../../vendor/preact.js";
import { readDiff } from "../actions/branches.js";
import { wordsFor } from "../actions/failure.js";
import { merge, readBoth } from "../actions/merge.js";
import { t } from "../lib/i18n.js";
import { valueAt } from "../lib/text.js";
import { openDialog } from "../model/page.js";
import { head } from "../model/story.js";
import { labelOf, nameOf, rows } from "../model/world.js";
import { ApiError } from "../net/api.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";
import { RunChooser, runOf } from "./run.js";
import { takeFocus } from "./sure.js";

/** @import { ChatNode, Conflict, Diff, DiffSide, Id, Json } from "../lib/wire.d.ts" */

/** @param {{from: Id}} props the end of the other line */
export function Merge({ from }) {
  const answer = useSignal(/** @type {Diff | ApiError | null} */ (null));
  useEffect(() => void readDiff(head.peek() ?? from, from).then((diff) => (answer.value = diff), (error) => (answer.value = error)), [from]);
  const known = answer.value;
  return h(Modal, { title: t("command.merge"), class: "wide" }, html`<p class="aside">${t("merge.text")}</p>${
    known === null ? h(Waiting, { rows: 3 }) : known instanceof ApiError ? h(Blank, { symbol: "warning", title: wordsFor(known).text, hint: wordsFor(known).hint }) : known.to.count === 0 ? h(Blank, { symbol: "merge", title: t("compare.nothing") }) : h(Parts, { side: known.to })
  }`);
}

/** @typedef {{path: string, theirs: Json | undefined, ours: Json | undefined, conflict: Conflict}} Open */

/** @param {{side: DiffSide}} props what the other line has since the two parted */
function Parts({ side: { leafId, count, items } }) {
  const nodes = items.filter(({ kind, status }) => kind !== "change" && status === "complete");
  const run = useSignal({ first: nodes[0]?.id ?? "", last: nodes.at(-1)?.id ?? "" });
  const alone = useSignal(nodes.length === 0);
  const open = useSignal(/** @type {Open[]} */ ([]));
  const chosen = useSignal(/** @type {{[path: string]: Json}} */ ({}));
  const busy = useSignal(false);
  // What else comes along may meet other places.
  const anew = () => (open.value = []);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy.peek()) return;
    busy.value = true;
    const ids = alone.peek() ? [] : withChanges(items, runOf(nodes, run.peek().first, run.peek().last));
    const conflicts = await merge(leafId, ids, open.peek().length > 0 ? chosen.peek() : {});
    if (conflicts) await ask(conflicts);
    busy.value = false;
  };
  const ask = async (/** @type {Conflict[]} */ conflicts) => {
    const both = await readBoth(leafId);
    chosen.value = Object.fromEntries(conflicts.map(({ path }) => [path, "ours"]));
    open.value = conflicts.map((conflict) => ({ path: conflict.path, conflict, theirs: at(both.theirs, conflict.path), ours: at(both.ours, conflict.path) }));
  };
  const what = (/** @type {boolean} */ is, /** @type {"messages" | "alone"} */ word) =>
    html`<label class="check"><input type="radio" name="what" checked=${alone.value === is} disabled=${!is && nodes.length === 0} onChange=${() => (anew(), (alone.value = is))} /><span>${t(`merge.${word}`)}<small>${t(`merge.${word}Hint`)}</small></span></label>`;
  return html`<form onSubmit=${save}><fieldset><legend>${t("merge.what")}</legend>${what(false, "messages")}${what(true, "alone")}</fieldset>
    ${!alone.value && html`${h(RunChooser, { nodes, ...run.value, put: (first, last) => (anew(), (run.value = { first, last })) })}
      ${count > items.length && html`<p class="aside">${t("compare.older", { n: count - items.length })}</p>`}`}
    ${open.value.length > 0 && html`<section class="conflicts" ref=${takeFocus} tabindex="-1" aria-labelledby="conflicts"><h3 id="conflicts">${icon("warning")}${t("merge.conflicts", { n: open.value.length })}</h3>
      ${open.value.map((one) => h(Choice, { key: one.path, open: one, put: (value) => (chosen.value = { ...chosen.peek(), [one.path]: value }) }))}</section>`}
    <div class="actions"><button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary" disabled=${busy.value}>${icon("merge")}<span>${t("merge.take")}</span></button></div></form>`;
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

/** @param {{open: Open, put: (value: Json) => void}} props */
function Choice({ open: { path, theirs, ours, conflict }, put }) {
  const own = useSignal(false);
  const isNumber = typeof theirs === "number" || typeof ours === "number";
  const value = (/** @type {Json | undefined} */ it) => (it === undefined ? (path.startsWith("/") ? t("change.gone") : "") : nameOf(rows.value.get(path), it));
  const why = (/** @type {Conflict["ours"]} */ done) => [...new Set(done.map((one) => one.why).filter(Boolean))].slice(0, 3).join("; ");
  const side = (/** @type {"ours" | "theirs"} */ which, /** @type {Json | undefined} */ it) =>
    html`<label class="check"><input type="radio" name=${path} defaultChecked=${which === "ours"} onChange=${() => ((own.value = false), put(which))} /><span>${t(`merge.${which}`)} <b>${value(it)}</b><small>${why(conflict[which])}</small></span></label>`;
  const typed = (/** @type {Event} */ event) => {
    const text = /** @type {HTMLInputElement} */ (event.target).value;
    // A word that is typed is a value, also where it reads like one of the two sides.
    put({ value: isNumber ? Number(text) : text });
  };
  return html`<fieldset class="conflict"><legend>${labelOf(path) ?? t("merge.hidden")}</legend>${side("ours", ours)}${side("theirs", theirs)}
    ${isPlain(ours) && isPlain(theirs) && html`<label class="check"><input type="radio" name=${path} onChange=${() => ((own.value = true), put({ value: ours ?? null }))} /><span>${t("merge.own")}</span></label>
      ${own.value && html`<input class="own" ref=${takeFocus} type=${isNumber ? "number" : "text"} step="any" required aria-label=${t("merge.ownValue", { name: labelOf(path) ?? "" })} defaultValue=${ours} onInput=${typed} />`}`}</fieldset>`;
}
