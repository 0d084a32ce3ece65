// "Why?": what a turn changed and by which rule, its dice, the prompt that made it. Loaded when first asked for.
import { h, html, useSignal } from "../../vendor/preact.js";
import { readWhy } from "../actions/page.js";
import { readParts } from "../actions/preset-edit.js";
import { addEnglish, clock, t, wordFor } from "../lib/i18n.js";
import { causesOf, inputsOf } from "../lib/causes.js";
import { changesOf } from "../lib/schema.js";
import { served } from "../lib/served.js";
import words from "../lib/strings/en-preset-edit.js";
import { brief, escapeStep, humanise, sentence } from "../lib/text.js";
import { maySee, seenIn, seenProblems } from "../model/secrets.js";
import { nodeOf, session } from "../model/story.js";
import { isWithheld, placeName, rows, seenDelta } from "../model/world.js";
import { ApiError } from "../net/api.js";
import { askedFor, handsAfter } from "../tree/line.js";
import { deedOf, isTool } from "./causes.js";
import { RollChip, besideTitle, differenceOf, isByHand, toneOf } from "./changes.js";
import { Modal, ProblemLine, Waiting } from "./parts.js";
import { Failed, useLatest, useReading } from "./reading.js";
import { Withheld, secretMark } from "./secret.js";
import { slotName, sourceName } from "./slots.js";

/** @import { Block, ChatNode, Delta, Id, Json, LoreTold, LoreVerdict, Operation, PresetPart, RuleRun, ScriptRun, Trace } from "../lib/wire.d.ts" */

addEnglish(words);

/** @param {{nid: Id}} props */
export function Why({ nid }) {
  const asked = askedFor(nid);
  const hands = handsAfter(nid);
  const known = useReading(() => readWhy(session.peek()?.id ?? "", nid, Boolean(nodeOf(nid)?.metadata?.model), [asked, ...hands]), nid);
  return h(Modal, { title: t("command.why"), class: "wide" }, html`<div class="why-view">${
    known === null ? h(Waiting, { rows: 3 }) : known instanceof ApiError ? h(Failed, { error: known }) : h(Contents, { nid, ...known, hands })
  }</div>`);
}

/** @param {{nid: Id, trace: Trace, delta: Delta, others: (Delta | null)[], hands: Id[]}} props */
function Contents({ nid, trace, delta: all, others, hands }) {
  const node = nodeOf(nid);
  const delta = toldOf(all);
  const [asked = null, ...after] = others.map((one) => one && toldOf(one));
  const title = node?.kind === "change" ? handTitle(node, delta) : t("why.changes");
  const isLess = !mayRead(trace.messages ?? []) || [all, ...others].some((one, i) => one && isCut(one, [delta, asked, ...after][i] ?? one));
  return html`${isLess && h(Withheld, {})}<section><h3>${title}</h3>${h(Changes, { delta })}</section>
    ${h(Rules, { rules: [...(trace.plan ?? []), ...(trace.rules?.length ? trace.rules : (delta.rules ?? []))] })}
    ${asked && !isNothing(asked) && html`<section><h3>${t("why.asked")}</h3>${h(Changes, { delta: asked })}${h(Rules, { rules: asked.rules ?? [] })}</section>`}
    ${hands.map((id, i) => after[i] && html`<section key=${id}><h3>${handTitle(nodeOf(id), after[i])}</h3>${h(Changes, { delta: after[i] })}</section>`)}
    ${h(Origin, { node })}
    ${trace.tools && h(Offered, { tools: trace.tools })}
    ${trace.lore && h(Lore, { lore: trace.lore })}
    ${h(Prompt, { trace })}
    ${trace.values && h(ValuesKept, { values: trace.values })}`;
}

/** How another model was asked to keep the values, and what it said. @param {{values: NonNullable<Trace["values"]>}} props */
function ValuesKept({ values: { model, text = "", error, tries = 1, messages = [] } }) {
  return html`<section><h3>${t("why.kept")}</h3><dl><div><dt>${t("why.model")}</dt><dd>${model}</dd></div>${tries > 1 && html`<div><dt>${t("why.keptTries")}</dt><dd>${tries}</dd></div>`}</dl>
    ${error ? html`<p class="aside bad">${served(error)}</p>` : maySee(text) ? html`<div class="sent"><b>${t("why.keptAnswer")}</b><pre tabindex="0">${text || "–"}</pre></div>` : h(Withheld, {})}
    ${messages.length > 0 && mayRead(messages) && html`<details><summary>${t("why.messages", { n: messages.length })}</summary>${messages.map(
      (m, i) => html`<div key=${i} class="sent"><b>${m.role}</b><pre tabindex="0">${m.content}</pre></div>`,
    )}</details>`}</section>`;
}

/** Whether nothing that is hidden stands in what the model was sent. @param {NonNullable<Trace["messages"]>} messages */
const mayRead = (messages) => messages.every(({ content }) => maySee(content));

/** What a reader may be told of what was done. @param {Delta} delta @returns {Delta} */
function toldOf(delta) {
  const seen = seenDelta(delta);
  return { ...seen, ...(seen.problems && { problems: seenProblems(seen.problems) }) };
}

/** @param {Delta} all @param {Delta} told */
const isCut = (all, told) => /** @type {const} */ (["changes", "operations", "problems"]).some((part) => (told[part]?.length ?? 0) < (all[part]?.length ?? 0));

/** Which tools the model could have called; what it called is among the rules. @param {{tools: NonNullable<Trace["tools"]>}} props */
const Offered = ({ tools: { offered, used } }) => html`<section><h3>${t("why.tools")}</h3><p>${t(used.length > 0 ? "why.toolsUsed" : "why.toolsUnused", { names: offered.join(", "), n: used.length })}</p></section>`;

/** The file of another program that a message came in from. @param {{node: ChatNode | null}} props */
function Origin({ node }) {
  const { file, line } = fileOf(node);
  if (!file) return null;
  return html`<section><h3>${t("why.origin")}</h3><p>${t(line ? "why.fromLine" : "why.fromFile", { file, line: line ?? "" })}</p></section>`;
}

/** @param {ChatNode | null} node @returns {{file?: string, line?: number | null}} */
const fileOf = (node) => (node?.metadata?.provenance?.file ? node.metadata.provenance : {});

/** @param {ChatNode | null} node @param {Delta} delta */
function handTitle(node, delta) {
  const title = isByHand(delta) ? t("why.byHand") : besideTitle(node, delta);
  return node ? `${title}, ${clock(node.timestamp)}` : title;
}

/** Whether nothing can be told of a message. @param {Delta} delta */
const isNothing = ({ operations = [], rolls = [], problems = [], rules = [] }) =>
  operations.length + rolls.length + problems.length === 0 && !rules.some((rule) => rule.error || rule.warnings?.length);

/** What a delta came to, by which operations, and what went wrong. @param {{delta: Delta}} props */
function Changes({ delta }) {
  const rows = [...changesOf([delta]).values()];
  const { rolls = [], problems = [] } = delta;
  const all = delta.operations ?? [];
  // What lore leaves in the world is told where lore is told of, and a summary is a text to be read.
  const operations = all.filter((one) => one.in !== "lore" && one.in !== "summary");
  const summaries = all.filter((one) => one.in === "summary");
  return html`${rows.length + all.length - all.filter((one) => one.in === "lore").length + rolls.length === 0 && html`<p class="aside">${t("why.noChanges")}</p>`}
    ${rows.length > 0 && html`<ul class="changes">${rows.map((row) => html`<li key=${row.path} class=${`chip ${toneOf(row)}`}><span title=${row.path}>${placeName(row.path)}</span>${secretMark(row.path)}<b>${differenceOf(row)}</b>
      <small>${brief(row.before)} → ${brief(row.after)}${h(Computed, { delta, path: row.path })}</small></li>`)}</ul>`}
    ${rolls.length > 0 && html`<ul class="changes">${rolls.map((roll, i) => h(RollChip, { key: i, roll }))}</ul>`}
    ${operations.length > 0 && h(Operations, { operations })}
    ${summaries.map((one, i) => h(Summarised, { key: i, text: typeof one.value === "string" ? one.value : "" }))}
    ${problems.map((problem, i) => h(ProblemLine, { key: i, problem }))}`;
}

/** Of a value that nobody writes: from which others it follows. @param {{delta: Delta, path: string}} props */
function Computed({ delta, path }) {
  const schema = rows.value.get(path)?.schema;
  if (schema?.["x-computed"] === undefined || causesOf(delta, path).length > 0) return null;
  const names = inputsOf(schema, path).filter((input) => !isWithheld(input)).map(placeName);
  return names.length > 0 ? html` · ${t("why.follows", { names: names.join(", ") })}` : null;
}

/** The world has another summary of what the prompt does not hold any more. @param {{text: string}} props */
const Summarised = ({ text }) => (text.trim() ? html`<div class="summarised"><p>${t("why.summarised")}</p><p class="long">${text}</p></div>` : html`<p>${t("why.unsummarised")}</p>`);

/** @param {{rules: RuleRun[]}} props */
function Rules({ rules }) {
  if (rules.length === 0) return null;
  return html`<section><h3>${t("why.rules")}</h3><table><thead><tr><th>${t("why.rule")}</th><th>${t("why.operations")}</th><th>${t("why.time")}</th></tr></thead><tbody>
    ${rules.map((rule, i) => html`<tr key=${i}><td>${rule.plugin === "server" ? t("why.server") : rule.plugin} · ${isTool(rule) ? "" : html`<code>${rule.hook}</code> `}<small>${deedOf(maySee(rule.because ?? "") ? rule : { ...rule, because: "" })}</small>${h(Called, { call: rule })}${rule.error && html`<p class="aside bad">${maySee(rule.error.message) ? sentence(rule.error.message) : ""} ${placeOf(rule.error)}</p>`}${rule.warnings?.map(brief).filter(maySee).map((warning, j) => html`<p key=${j} class="aside">${warning}</p>`)}</td>
      <td>${count(rule.ops)}</td><td>${rule.micros === undefined ? "–" : `${(rule.micros / 1000).toFixed(1)} ms`}</td></tr>`)}</tbody></table></section>`;
}

/** What a call had a model asked, what it heard, or with what a tool was called and what it answered. @param {{call: RuleRun}} props */
function Called({ call: { plugin, hook, arguments: args, answer, refused, asks = [] } }) {
  if (asks.length > 0) return html`<dl class="called"><div><dt>${t("why.asks")}</dt><dd>${asks.map(({ name }) => name).join(", ")}</dd></div></dl>`;
  if (hook === "on_answer" && answer !== null && typeof answer === "object" && !Array.isArray(answer)) {
    const { name, text, error } = answer;
    return html`<dl class="called"><div><dt>${t(error ? "why.noAnswer" : "why.heard", { name: brief(name) })}</dt><dd>${error ? served(brief(error)) : brief(seenIn(plugin, text ?? ""))}</dd></div></dl>`;
  }
  if (args === undefined) return null;
  return html`<dl class="called"><div><dt>${t("why.calledWith")}</dt><dd><code>${JSON.stringify(seenIn(plugin, args))}</code></dd></div>
    <div><dt>${t(refused === undefined ? "why.answered" : "why.refusedIt")}</dt><dd>${refused === undefined ? html`<code>${JSON.stringify(seenIn(plugin, answer ?? null))}</code>` : maySee(refused) ? sentence(refused) : "…"}</dd></div></dl>`;
}

/** "main.rhai:4" @param {NonNullable<RuleRun["error"]>} error */
const placeOf = ({ file, line }) => (file ? html`<code>${line ? `${file}:${line}` : file}</code>` : "");

/** @param {unknown} ops a list, or how many */
const count = (ops) => (Array.isArray(ops) ? ops.length : typeof ops === "number" ? ops : "–");

/** A path, which may go on in the next line between its steps and nowhere else. @param {string} path */
const stepwise = (path) => path.split("/").map((step, i) => (i === 0 ? step : html`<wbr />/${step}`));

/** @param {{operations: Operation[]}} props */
const Operations = ({ operations }) =>
  html`<div class="table" tabindex="0"><table><thead><tr><th>${t("why.operation")}</th><th>${t("why.value")}</th><th>${t("why.reason")}</th><th>${t("why.by")}</th></tr></thead><tbody>${operations.map(
    (o, i) => html`<tr key=${i}><td><code>${o.op} ${stepwise(o.path)}${o.key ? ` · ${o.key}` : ""}${o.from ? html` ← ${stepwise(o.from)}` : ""}</code>${(o.in ?? "vars") === "vars" && secretMark(o.key === undefined ? o.path : `${o.path}/${escapeStep(o.key)}`)}</td><td>${o.value === undefined ? "" : brief(o.value)}</td><td>${o.why}</td><td>${o.by === "user" ? t("you") : o.by === "server" ? t("why.server") : o.by}</td></tr>`,
  )}</tbody></table></div>`;

/** Which entries of lorebooks were called up, which were stopped, and why. @param {{lore: LoreTold}} props */
function Lore({ lore: { books, fired, stopped, silent, overflowed, similar, notes } }) {
  const bookOf = (/** @type {LoreVerdict} */ { book }) => books.find(({ id }) => id === book)?.name ?? "";
  const reasonOf = (/** @type {LoreVerdict} */ { why, key, problem, score, plugin }) => [wordFor(`why.lore.${why}`) || why, key, problem, score, plugin].filter(Boolean).join(": ");
  const row = (/** @type {LoreVerdict} */ one, /** @type {boolean} */ isIn) =>
    html`<li key=${`${one.book}.${one.uid}`} class=${isIn ? "" : "dropped"}><b>${one.title || t("lore.nameless", { uid: one.uid })}</b> <small>${[bookOf(one), one.tokens === undefined ? "" : t("why.tokens", { n: one.tokens })].filter(Boolean).join(" · ")}</small> <small>${reasonOf(one)}</small></li>`;
  return html`<section><h3>${t("why.lore")}</h3>${fired.length === 0 && html`<p class="aside">${t("why.noLore")}</p>`}
    ${fired.length + stopped.length > 0 && html`<ol class="blocks">${fired.map((one) => row(one, true))}${stopped.map((one) => row(one, false))}</ol>`}
    ${silent > 0 && html`<p class="aside">${t("why.loreSilent", { n: silent })}</p>`}${overflowed && html`<p class="aside">${t("why.loreFull")}</p>`}${similar?.problem && html`<p class="aside bad">${t("why.loreNoVectors")} ${served(similar.problem)}</p>`}${notes.map((note) => html`<p key=${note} class="aside bad">${sentence(note)}</p>`)}</section>`;
}

/** @param {{trace: Trace}} props */
function Prompt({ trace }) {
  const { blueprint = [], messages = [], scripts = [], usage, timings, params, model, historyCut, alias, passedOver = [], cachedTokens, tokens, template, cost, saved, preset } = trace;
  /** What the parts of the preset are called by now; where it is gone, their ids stand for them. */
  const parts = useSignal(/** @type {PresetPart[]} */ ([]));
  useLatest(() => (preset?.id ? readParts(preset.id) : null), (found) => (parts.value = found), [preset?.id]);
  const isCounted = /^(tiktoken|file) /.test(tokens?.by ?? "");
  const facts = [
    [t("why.model"), alias ? `${model} (${alias})` : model],
    [t("why.passedOver"), passedOver.map((one) => `${one.model}: ${served(one.message, one.code)}`).join(" ")],
    [t("why.firstToken"), timings?.firstToken == null ? null : `${timings.firstToken} ms`],
    [t("why.total"), timings?.total == null ? null : `${timings.total} ms`],
    [t("why.size"), tokens ? sizeOf(tokens) : null],
    [t("why.template"), template ? [wordFor(`why.template.${template.name}`) || template.name, template.problem].filter(Boolean).join(": ") : null],
    [t("why.preset"), preset?.by ? t(`why.presetBy.${preset.by}`, { name: preset.name ?? "", model: preset.model ?? "" }) : null],
    [t("why.usage"), usage && Object.keys(usage).length ? named(usage, "why.usage") : null],
    [t("why.cached"), cachedTokens ? String(cachedTokens) : null],
    [t("why.cost"), cost == null ? null : String(cost)],
    [t("why.saved"), saved == null ? null : String(saved)],
    [t("why.params"), params && Object.keys(params).length ? named(params, "why.param") : null],
  ].filter(([, value]) => value);
  return html`${facts.length > 0 && html`<section><h3>${t("why.call")}</h3><dl>${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></section>`}
    ${blueprint.length > 0 && html`<section><h3>${t("why.prompt")}</h3><ol class="blocks">${blueprint.map((block, i) => h(PromptBlock, { key: i, block, parts: parts.value, isCounted }))}</ol>${historyCut && html`<p class="aside">${t("why.historyCut")}</p>`}</section>`}
    ${scripts.length > 0 && html`<section><h3>${t("why.scripts")}</h3><ul>${scripts.map((one, i) => h(ScriptLine, { key: i, one }))}</ul></section>`}
    ${messages.length > 0 && mayRead(messages) && html`<details><summary>${t("why.messages", { n: messages.length })}</summary>${messages.map(
      (m, i) => html`<div key=${i} class="sent"><b>${m.role}${m.name ? ` · ${m.name}` : ""}</b><pre tabindex="0">${m.content}</pre></div>`,
    )}</details>`}`;
}

/** What a regex script did, or why it did not. @param {{one: ScriptRun}} props */
function ScriptLine({ one: { name, scope, changed, why, message } }) {
  const reason = why && (wordFor(`why.script.${why}`) || sentence(message ?? why));
  return html`<li>${name ? html`<b>${name}</b> ` : ""}<small>${wordFor(`why.scope.${scope}`) || scope}</small> ${changed > 0 && t("why.changed", { n: changed })}${reason && html` <span class="aside bad">${reason}</span>`}</li>`;
}

/** Values by their names, in the reader's words where the page has some. @param {{[key: string]: Json}} values @param {string} of */
const named = (values, of) => Object.entries(values).map(([key, value]) => `${wordFor(`${of}.${key}`) || humanise(key)}: ${brief(value)}`).join(", ");

/** Who counted stands beside it; a number that nobody counted is marked. @param {{count: number, by: string}} tokens */
const sizeOf = ({ count, by }) => `${by === "estimate" ? "≈ " : ""}${t("why.tokens", { n: count })} (${wordFor(`why.by.${by}`) || by})`;

/** @param {{block: Block, parts: PresetPart[], isCounted: boolean}} props */
function PromptBlock({ block, parts, isCounted }) {
  const size = block.tokens === undefined ? "" : `${isCounted ? "" : "≈ "}${t("why.tokens", { n: block.tokens })}`;
  const dropped = block.kept === false;
  const reason = wordFor(`why.left.${block.why}`) || block.why;
  const about = [wordFor(`presetEdit.role.${block.role}`) || block.role, size, sourceName(block)].filter(Boolean).join(" · ");
  return html`<li class=${dropped ? "dropped" : ""}><b>${slotName(block, parts)}</b> <small>${about}</small>${dropped && html` <span class="chip">${t("why.dropped")}</span>`}${reason && html` <small>${reason}</small>`}</li>`;
}
