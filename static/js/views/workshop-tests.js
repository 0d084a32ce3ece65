// The tests of a plugin, run with what is written here: each case with what it expected and what came. Nothing of it is written.
import { h, html, useSignal } from "../../vendor/preact.js";
import { doneWithErrors } from "../actions/done-with.js";
import { runTests } from "../actions/workshop.js";
import { t } from "../lib/i18n.js";
import { sentence } from "../lib/text.js";
import { Fault } from "./fault.js";
import { icon } from "./parts.js";

/** @import { PluginDetail, PluginTested, TestedCase, Texts } from "../lib/wire.d.ts" */
/** @typedef {(fault: {file?: string | null, line?: number | null, column?: number | null}) => void} Jump */

/** @param {{plugin: PluginDetail, texts: Texts, jump: Jump}} props */
export function Tests({ plugin, texts, jump }) {
  const told = useSignal(/** @type {{answer: PluginTested, texts: Texts} | null} */ (null));
  const isBusy = useSignal(false);
  const ask = async () => {
    if (isBusy.peek()) return;
    doneWithErrors();
    isBusy.value = true;
    const answer = await runTests(plugin.id, texts);
    isBusy.value = false;
    if (answer) told.value = { answer, texts };
  };
  const { cases = [], left = 0, error = null, warnings = [] } = told.value?.answer ?? {};
  const bad = cases.filter((one) => !one.isPassed).length;
  const said = cases.length === 0 ? t("workshop.noCases") : t(bad === 0 ? "workshop.allPassed" : "workshop.someFailed", { n: cases.length, m: bad });
  return html`<p class="aside">${t("workshop.testsText")}</p>
    <div class="actions start"><button type="button" class="primary" aria-disabled=${isBusy.value ? "true" : null} onClick=${ask}>${icon("play")}<span>${t("workshop.testIt")}</span></button>${isBusy.value && html`<p class="aside" role="status">${t("workshop.running")}</p>`}</div>
    ${error && html`<ul>${h(Fault, { fault: error, jump })}</ul>`}
    ${told.value && !error && html`<p role="status" class=${bad > 0 ? "bad" : ""}>${said}${left > 0 && ` ${t("workshop.left", { n: left })}`}</p>
      ${told.value.texts !== texts && html`<p class="aside">${t("workshop.old")}</p>`}
      ${warnings.length > 0 && html`<ul>${warnings.map((fault, i) => h(Fault, { key: i, fault, isBad: false, jump }))}</ul>`}
      <ul class="cases">${cases.map((one) => h(Case, { key: `${one.file} ${one.isPassed}`, one, jump }))}</ul>`}`;
}

/** @param {{one: TestedCase, jump: Jump}} props */
function Case({ one, jump }) {
  const { file, isPassed, expects, failures, warnings } = one;
  const state = isPassed ? t("workshop.casePassed") : t(failures.length > 0 || expects ? "workshop.caseFailed" : "workshop.caseMute");
  const to = (/** @type {number | null} */ line) => html`<button type="button" class="link place" onClick=${() => jump({ file, line: line ?? 1 })}><code>${[file, line].filter(Boolean).join(":")}</code></button>`;
  if (isPassed && warnings.length === 0) return html`<li>${icon("check")} ${to(null)} ${state}</li>`;
  return html`<li><details open><summary><code>${file}</code> <span class=${isPassed ? "" : "bad"}>${state}</span></summary>
    ${failures.map((failure, i) => failure.error ? html`<ul key=${i}>${h(Fault, { fault: failure.error, jump })}</ul>`
      : html`<div key=${i} class="failure"><p><strong>${failure.expected === null ? sentence(failure.what) : failure.what}</strong> ${to(failure.line)}</p>
        ${failure.expected !== null && html`<div class="sides">${h(Told, { name: t("workshop.expected"), text: failure.expected })}${h(Told, { name: t("workshop.found"), text: failure.found ?? "" })}</div>`}</div>`)}
    ${warnings.map((words, i) => html`<p key=${i} class="aside">${sentence(words)}</p>`)}</details></li>`;
}

/** @param {{name: string, text: string}} props */
const Told = ({ name, text }) => html`<div><p class="aside">${name}</p><pre tabindex="0">${text || t("workshop.nothingProposed")}</pre></div>`;
