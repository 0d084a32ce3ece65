// The rules that a card carries: what they are beside what is installed here, and the way to take them in. Nothing of them has run.
import { h, html, useEffect, useSignal } from "../../vendor/preact.js";
import { acceptRules, dropRules, putRules, readInstalled, readRules } from "../actions/card-rules.js";
import { t } from "../lib/i18n.js";
import { bare, linesBetween, titlesOf, visible } from "../lib/judged.js";
import { sentence } from "../lib/text.js";
import { icon } from "./parts.js";
import { Sure } from "./sure.js";

/** @import { Signal } from "../../vendor/preact.js" */
/** @import { CardRules as Rules, CardRulesFile, Id, PluginInfo } from "../lib/wire.d.ts" */

/** What can be taken in. */
const WELCOME = new Set(["new", "newer", "older", "other"]);

/** @param {{characterId: Id}} props */
export function CardRules({ characterId }) {
  const rules = useSignal(/** @type {Rules | null} */ (null));
  const isTaken = useSignal(false);
  const asking = useSignal(false);
  const read = () => readRules(characterId).then((found) => void (rules.value = found), () => {});
  useEffect(() => void read(), []);
  const seen = rules.value;
  if (!seen) return null;
  const take = async () => {
    if (await acceptRules(characterId, seen)) {
      isTaken.value = true;
      await read();
    }
  };
  const drop = async () => {
    asking.value = false;
    if (await dropRules(characterId)) await read();
  };
  return html`<details open=${isTaken.value || (seen.state !== "none" && seen.state !== "same")}><summary>${t("cardRules.title")}</summary><div class="card-rules">
    ${isTaken.value && html`<p role="status">${t("cardRules.taken")}</p>`}
    ${seen.state === "none" ? h(Put, { characterId, rules }) : html`${h(About, { seen })}
      <div class="actions start">${WELCOME.has(seen.state) && html`<button type="button" class="primary" onClick=${take}>${icon("check")}<span>${t("cardRules.accept")}</span></button>`}
        <button type="button" aria-expanded=${asking.value} onClick=${() => (asking.value = true)}>${icon("trash")}<span>${t("cardRules.drop")}</span></button></div>
      ${asking.value && h(Sure, { text: t("cardRules.dropText"), yes: t("cardRules.dropYes"), no: t("cardRules.dropNo"), act: drop, keep: () => (asking.value = false) })}
      ${WELCOME.has(seen.state) && html`<p class="aside">${t("cardRules.acceptText")}</p>`}`}</div></details>`;
}

/** @param {{seen: Rules}} props */
function About({ seen }) {
  const { state, title, version, installedVersion, description, permissions, asksMore, warnings, error, files } = seen;
  return html`<p>${t(`cardRules.${state === "none" ? "same" : state}`, { installed: installedVersion ?? "", version: version ?? "" })}</p>
    ${error && html`<p class="fault bad">${icon("warning")}${sentence(error.message)}</p>`}
    ${title && html`<h3>${bare(title)} ${version}</h3><p>${bare(description)}</p>
      <h3>${t("cardRules.may")}</h3>${permissions.length === 0 ? html`<p class="aside">${t("cardRules.mayNothing")}</p>` : html`<ul>${permissions.map(({ name, words }) => html`<li key=${name}>${asksMore.includes(name) ? t("cardRules.more", { words }) : words}</li>`)}</ul>`}`}
    ${warnings.map((one, i) => html`<p key=${i} class="fault">${icon("warning")}${sentence(one.message)}</p>`)}
    ${files.length > 0 && html`<h3>${t("cardRules.files")}</h3>${files.map((file) => h(File, { key: file.path, file }))}`}`;
}

/** @param {{file: CardRulesFile}} props */
function File({ file: { path, change, before, after } }) {
  const how = t(change === "same" ? "cardRules.sameFile" : `cardRules.${change}`);
  return html`<details><summary><code>${path}</code> ${how}</summary>
    ${before !== null && after !== null && before !== after ? h(Both, { before, after }) : html`<pre tabindex="0">${visible(after ?? before ?? "")}</pre>`}</details>`;
}

/** What is here and what the card brings, in one: each line that is not in both says where it is. @param {{before: string, after: string}} props */
const Both = ({ before, after }) =>
  html`<p class="aside"><del>− ${t("cardRules.before")}</del> <ins>+ ${t("cardRules.after")}</ins></p><pre class="lines" tabindex="0">${linesBetween(visible(before), visible(after)).map(
    ({ sign, text }, i) => (sign === "" ? html`<span key=${i}>${`  ${text}\n`}</span>` : sign === "-" ? html`<del key=${i}>${`− ${text}\n`}</del>` : html`<ins key=${i}>${`+ ${text}\n`}</ins>`),
  )}</pre>`;

/** @param {{characterId: Id, rules: Signal<Rules | null>}} props */
function Put({ characterId, rules }) {
  const installed = useSignal(/** @type {PluginInfo[]} */ ([]));
  const chosen = useSignal("");
  useEffect(() => void readInstalled().then((all) => void (installed.value = all.filter(({ isOk }) => isOk)), () => {}), []);
  const put = async () => {
    const found = chosen.peek() && (await putRules(characterId, chosen.peek()));
    if (found) rules.value = found;
  };
  const titles = titlesOf(installed.value);
  return html`<p class="aside">${t("cardRules.none")} ${t("cardRules.putText")}</p>
    <label>${t("cardRules.which")}<select value=${chosen.value} onChange=${(/** @type {Event} */ event) => (chosen.value = /** @type {HTMLSelectElement} */ (event.target).value)}>
      <option value="">–</option>${installed.value.map(({ id }) => html`<option key=${id} value=${id}>${titles.get(id)}</option>`)}</select></label>
    <div class="actions start"><button type="button" aria-disabled=${chosen.value ? null : "true"} onClick=${put}>${icon("plug")}<span>${t("cardRules.put")}</span></button></div>`;
}
