// The rules run again along the line on screen: what they did beside what they would do. Nothing of it is written, until the reader lets
// the story follow.
import { h, html, useSignal } from "../../vendor/preact.js";
import { goTo } from "../actions/branches.js";
import { doneWithErrors } from "../actions/done-with.js";
import { acceptReplay, replay } from "../actions/workshop.js";
import { t } from "../lib/i18n.js";
import { maySee } from "../model/secrets.js";
import { head, peek, session } from "../model/story.js";
import { isThere, seenOf, seenOperation } from "../model/world.js";
import { Deeds, Differences, spelledOut } from "./deeds.js";
import { Fault } from "./fault.js";
import { Blank, icon } from "./parts.js";
import { Withheld } from "./secret.js";
import { titleOf } from "./workshop-try.js";

/** @import { ChatNode, Id, PluginDetail, PluginReplayed, ReplayedRow, ScriptError, Texts } from "../lib/wire.d.ts" */

/** @typedef {PluginReplayed & {nodes: Map<Id, ChatNode>}} Told */

/** @param {ReplayedRow} row */
const saidOf = ({ old, new: next }) => [old, next].map((list) => list.map((one) => `${spelledOut(one)} ${one.why ?? ""}`).join("\n"));

/** Whether the rules would propose something else. @param {ReplayedRow} row */
function isOther(row) {
  const [was, is] = saidOf(row);
  return was !== is || Boolean(row.error);
}

/** Whether anything would be otherwise there. @param {ReplayedRow} row */
const differs = (row) => isOther(row) || row.world.length > 0;

/** What of a message's rules is to be seen. @param {ReplayedRow} row @returns {ReplayedRow} */
const seenRow = (row) => ({ ...row, old: row.old.map(seenOperation).filter(isThere), new: row.new.map(seenOperation).filter(isThere), world: row.world.map(seenOf).filter(isThere), notes: row.notes.filter(maySee) });

/** @param {{plugin: PluginDetail, texts: Texts, jump: (fault: ScriptError) => void}} props */
export function Replay({ plugin, texts, jump }) {
  const open = session.value;
  const told = useSignal(/** @type {{answer: Told, texts: Texts} | null} */ (null));
  const isBusy = useSignal(false);
  const every = useSignal(false);
  const follows = useSignal(false);
  if (!open) return h(Blank, { symbol: "book", title: t("workshop.noStory"), hint: t("workshop.noStoryHint") });
  const ask = async () => {
    if (isBusy.peek()) return;
    doneWithErrors();
    isBusy.value = true;
    follows.value = false;
    const leaf = peek.peek() ?? head.peek();
    const answer = await replay(plugin.id, { sessionId: open.id, files: texts, ...(leaf && { leafId: leaf }) });
    isBusy.value = false;
    if (answer) told.value = { answer, texts };
  };
  const accept = async () => {
    if (isBusy.peek()) return;
    doneWithErrors();
    isBusy.value = true;
    const leaf = peek.peek() ?? head.peek();
    const answer = await acceptReplay(plugin.id, { sessionId: open.id, files: {}, ...(leaf && { leafId: leaf }) });
    isBusy.value = false;
    if (!answer) return;
    told.value = null;
    follows.value = true;
  };
  const isSaved = Object.keys(texts).length === 0;
  const mayFollow = told.value?.texts === texts && (told.value?.answer.rows ?? []).every((row) => !row.error);
  const all = told.value?.answer.rows ?? [];
  const rows = all.map(seenRow);
  const isLess = JSON.stringify(rows) !== JSON.stringify(all);
  const other = rows.filter(differs);
  const shown = every.value ? rows : other;
  return html`<p class="aside">${t("workshop.replayText")}</p>
    <div class="actions start"><button type="button" class="primary" aria-disabled=${isBusy.value ? "true" : null} onClick=${ask}>${icon("rewind")}<span>${t("workshop.replayIt")}</span></button>${isBusy.value && html`<p class="aside" role="status">${t("workshop.running")}</p>`}</div>
    ${follows.value && html`<p role="status">${t("workshop.follows")}</p>`}
    ${told.value?.answer.error && html`<ul>${h(Fault, { fault: told.value.answer.error, jump })}</ul>`}
    ${told.value && !told.value.answer.error && html`<p role="status">${rows.length === 0 ? t("workshop.noRows") : t(other.length === 0 ? "workshop.allSame" : "workshop.someOther", { n: rows.length, m: other.length })}</p>
      ${told.value.texts !== texts && html`<p class="aside">${t("workshop.old")}</p>`}${isLess && h(Withheld, {})}
      ${other.length > 0 && other.length < rows.length && html`<label class="check"><input type="checkbox" checked=${every.value} onChange=${(/** @type {Event} */ event) => (every.value = /** @type {HTMLInputElement} */ (event.target).checked)} /><span>${t("workshop.showAll")}</span></label>`}
      ${shown.length > 0 && html`<table class="replay"><caption class="hidden">${t("workshop.replay")}</caption><thead><tr><th scope="col">${t("workshop.message")}</th><th scope="col">${t("workshop.before")}</th><th scope="col">${t("workshop.after")}</th><th scope="col">${t("workshop.worldThen")}</th></tr></thead>
        <tbody>${shown.map((row) => h(Row, { key: `${row.nodeId} ${row.hook}`, row, node: told.value?.answer.nodes.get(row.nodeId) ?? null, jump }))}</tbody></table>`}
      ${all.some(differs) && mayFollow && (isSaved ? html`<div class="actions start"><button type="button" aria-disabled=${isBusy.value ? "true" : null} onClick=${accept}>${icon("check")}<span>${t("workshop.follow")}</span></button><p class="aside">${t("workshop.followText")}</p></div>` : html`<p class="aside">${t("workshop.followSaved")}</p>`)}`}`;
}

/** @param {{row: ReplayedRow, node: ChatNode | null, jump: (fault: ScriptError) => void}} props */
function Row({ row, node, jump }) {
  const { nodeId, hook, old, new: next, notes, error, world } = row;
  const differs = isOther(row);
  const name = node ? titleOf(node) : nodeId;
  return html`<tr class=${differs ? "differs" : ""}><th scope="row"><button type="button" class="link" title=${t("workshop.goTo")} onClick=${() => goTo(nodeId, false)}>${name}</button> <small><code>${hook}</code></small></th>
    <td data-label=${t("workshop.before")}>${h(Deeds, { operations: old })}</td>
    <td data-label=${t("workshop.after")}>${error ? html`<ul>${h(Fault, { fault: error, jump })}</ul>` : differs ? h(Deeds, { operations: next }) : html`<p class="aside">${t("workshop.same")}</p>`}${notes.map((note, i) => html`<p key=${i} class="aside">${note}</p>`)}</td>
    <td data-label=${t("workshop.worldThen")}>${world.length > 0 ? h(Differences, { changes: world }) : html`<p class="aside">${t("workshop.same")}</p>`}</td></tr>`;
}
