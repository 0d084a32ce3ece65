// A hook tried on a message of the open story, with the dice that fell there. Nothing of it is written.
import { h, html, useRef, useSignal } from "../../vendor/preact.js";
import { doneWithErrors } from "../actions/done-with.js";
import { tryHook } from "../actions/workshop.js";
import { excerpt } from "../lib/excerpt.js";
import { clock, said, t } from "../lib/i18n.js";
import { quoted } from "../lib/tags.js";
import { brief, sentence } from "../lib/text.js";
import { maySee, seenIn, seenProblems } from "../model/secrets.js";
import { line, nodeOf, session } from "../model/story.js";
import { isThere, isWithheld, seenOf, seenOperation } from "../model/world.js";
import { nameOf } from "../tree/speaker.js";
import { RollChip } from "./changes.js";
import { Deeds, Differences } from "./deeds.js";
import { Fault } from "./fault.js";
import { Blank, icon } from "./parts.js";
import { Withheld } from "./secret.js";
import { hookWords } from "./workshop-about.js";

/** @import { ChatNode, Json, PluginDetail, PluginTried, ScriptError, Texts } from "../lib/wire.d.ts" */

/** So many characters of a message stand in a list of them. */
const BEGINNING = 60;
/** What a hook reads, where it reads one kind of message only. @type {Record<string, string>} */
const READS = { on_input: "user", on_reply: "assistant", on_edit: "assistant" };

/** What a tool is called by in the list of what can run; its function has that name, too. */
const TOOL = "tool_";

/** The arguments of a tool; null where that is no JSON object. @param {string} text @returns {Record<string, Json> | null} */
function readArguments(text) {
  try {
    const read = JSON.parse(text.trim() || "{}");
    return typeof read === "object" && read !== null && !Array.isArray(read) ? read : null;
  } catch {
    return null;
  }
}

/** @param {ChatNode} node */
export const titleOf = (node) => `${nameOf(node)}, ${clock(node.timestamp)}: ${excerpt(quoted(node.display ?? node.content), BEGINNING)}`;

/** @param {{plugin: PluginDetail, hooks: string[], texts: Texts, jump: (fault: ScriptError) => void}} props */
export function Try({ plugin, hooks, texts, jump }) {
  const open = session.value;
  const hook = useSignal(/** @type {string | null} */ (null));
  const tried = useSignal(/** @type {{answer: PluginTried, hook: string, texts: Texts} | null} */ (null));
  const isBusy = useSignal(false);
  const isWrong = useSignal(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  if (!open) return h(Blank, { symbol: "book", title: t("workshop.noStory"), hint: t("workshop.noStoryHint") });
  const all = [...hooks, ...(plugin.manifest?.tools ?? []).map(({ name }) => `${TOOL}${name}`)];
  const chosen = hook.value !== null && all.includes(hook.value) ? hook.value : (["on_reply", "on_input", "plan"].find((one) => all.includes(one)) ?? all[0]);
  if (chosen === undefined) return h(Blank, { symbol: "plug", title: t("workshop.noHooks"), hint: t("workshop.noHooksHint") });
  const isTool = chosen.startsWith(TOOL);
  const wordsOf = (/** @type {string} */ one) => hookWords(one) || (plugin.manifest?.tools?.find(({ name }) => `${TOOL}${name}` === one)?.description ?? "");
  const reads = isTool ? "assistant" : READS[chosen];
  const nodes = line.value.map((id) => nodeOf(id)).filter((node) => node !== null && node.status === "complete");
  const fitting = /** @type {ChatNode[]} */ (nodes).filter((node) => !reads || (node.role === reads && node.kind === "message"));
  const ask = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isBusy.peek()) return;
    doneWithErrors();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const text = String(given.get("text") ?? "");
    const args = isTool ? readArguments(String(given.get("arguments") ?? "")) : {};
    isWrong.value = args === null;
    if (args === null) return;
    isBusy.value = true;
    const what = isTool ? { tool: chosen.slice(TOOL.length), arguments: args } : { hook: chosen, ...(text.trim() && { text }) };
    const answer = await tryHook(plugin.id, { sessionId: open.id, nodeId: String(given.get("node")), files: texts, ...what });
    isBusy.value = false;
    if (answer) tried.value = { answer, hook: chosen, texts };
  };
  return html`<p class="aside">${t("workshop.tryText")}</p>
    <form ref=${form} onSubmit=${ask}><label>${t("workshop.hook")}<select value=${chosen} onChange=${(/** @type {Event} */ event) => (hook.value = /** @type {HTMLSelectElement} */ (event.target).value)}>${all.map((one) => html`<option key=${one} value=${one} selected=${one === chosen}>${[one, wordsOf(one)].filter(Boolean).join(" – ")}</option>`)}</select></label>
      ${fitting.length === 0 ? html`<p class="aside">${t("workshop.noMessage")}</p>` : html`<label>${t(reads ? "workshop.message" : "workshop.place")}<select key=${chosen} name="node">${fitting.map((node, i) => html`<option key=${node.id} value=${node.id} selected=${i === fitting.length - 1}>${titleOf(node)}</option>`)}</select></label>
      ${isTool
        ? html`<label>${t("workshop.arguments")}<textarea name="arguments" class="code" rows="3" spellcheck="false" defaultValue="{}" aria-invalid=${isWrong.value ? "true" : null}></textarea><small>${t(isWrong.value ? "workshop.argumentsWrong" : "workshop.argumentsHint")}</small></label>`
        : html`<details><summary>${t("workshop.otherWords")}</summary><label>${t("workshop.otherWordsLabel")}<textarea name="text" rows="3"></textarea><small>${t("workshop.otherWordsHint")}</small></label></details>`}
      <div class="actions start"><button class="primary" aria-disabled=${isBusy.value ? "true" : null}>${icon("play")}<span>${t("workshop.tryIt")}</span></button></div>`}</form>
    ${tried.value && h(Tried, { ...tried.value, plugin: plugin.id, isOld: tried.value.texts !== texts, jump })}`;
}

/** What of a try is to be seen. @param {PluginTried} answer @param {string} plugin @returns {PluginTried} */
function seenTry(answer, plugin) {
  const { operations, problems, notes, warnings, log, world, result, asks } = answer;
  const texts = (/** @type {string[]} */ list) => list.filter(maySee);
  return {
    ...answer,
    ...{ operations: operations.map(seenOperation).filter(isThere), world: world.map(seenOf).filter(isThere) },
    ...{ problems: seenProblems(problems).filter(({ path }) => !path || !isWithheld(path)), notes: texts(notes), warnings: texts(warnings), log: texts(log) },
    ...{ result: seenIn(plugin, result), ...(asks && { asks: asks.filter((one) => maySee(JSON.stringify(one))) }) },
  };
}

/** @param {{answer: PluginTried, plugin: string, hook: string, isOld: boolean, jump: (fault: ScriptError) => void}} props */
function Tried({ answer, plugin, hook, isOld, jump }) {
  const seen = seenTry(answer, plugin);
  const { operations, problems, rolls, notes, warnings, log, world, result, asks = [], usage, error } = seen;
  const isLess = JSON.stringify(seen) !== JSON.stringify(answer);
  const part = (/** @type {string} */ title, /** @type {string[]} */ lines) => lines.length > 0 && html`<section><h4>${title}</h4><ul class="deeds">${lines.map((one, i) => html`<li key=${i}>${one}</li>`)}</ul></section>`;
  return html`<div class="tried" role="region" aria-label=${t("workshop.came", { hook })}><h3>${t("workshop.came", { hook })}</h3>
    ${isOld && html`<p class="aside">${t("workshop.old")}</p>`}${isLess && h(Withheld, {})}
    ${error && html`<ul>${h(Fault, { fault: error, jump })}</ul>`}
    ${!error && html`<section><h4>${t("workshop.proposed")}</h4>${h(Deeds, { operations })}</section>
      <section><h4>${t("workshop.world")}</h4>${world.length > 0 ? h(Differences, { changes: world }) : html`<p class="aside">${t("workshop.sameWorld")}</p>`}</section>`}
    ${part(t("workshop.problems"), problems.map((one) => [one.path, sentence(said(one.message))].filter(Boolean).join(": ")))}
    ${rolls.length > 0 && html`<section><h4>${t("workshop.rolls")}</h4><ul class="changes">${rolls.map((roll, i) => h(RollChip, { key: i, roll }))}</ul></section>`}
    ${asks.length > 0 && html`<section><h4>${t("workshop.asks")}</h4><pre tabindex="0">${JSON.stringify(asks, null, 2)}</pre></section>`}
    ${part(t("workshop.notes"), notes)}${part(t("workshop.warnings"), warnings)}${part(t("workshop.log"), log)}
    ${result !== null && html`<section><h4>${t("workshop.result")}</h4>${typeof result === "string" ? html`<p class="long">${result}</p>` : html`<pre tabindex="0">${JSON.stringify(result, null, 2)}</pre>`}</section>`}
    <p class="aside">${t("workshop.usage", { micros: brief(usage.micros), steps: brief(usage.operations), kib: Math.ceil(usage.heapPeak / 1024) })}</p></div>`;
}
