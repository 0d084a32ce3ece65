// "Why is it so?": how a value of the world came to be, message by message. Loaded when first asked for.
import { h, html, useSignal } from "../../vendor/preact.js";
import { goTo } from "../actions/branches.js";
import { attempt } from "../actions/failure.js";
import { readHistory } from "../actions/history.js";
import { formulaOf } from "../lib/causes.js";
import { excerpt } from "../lib/excerpt.js";
import { addEnglish, clock, t } from "../lib/i18n.js";
import words from "../lib/strings/en-history.js";
import { quoted } from "../lib/tags.js";
import { plain, steps } from "../lib/text.js";
import { nameOf, placeName, rows } from "../model/world.js";
import { ApiError } from "../net/api.js";
import { nameOf as speaker } from "../tree/speaker.js";
import { Causes } from "./causes.js";
import { Modal, Waiting, icon } from "./parts.js";
import { Failed, useReading } from "./reading.js";
import { secretMark } from "./secret.js";

/** @import { Event, History } from "../actions/history.js" */
/** @import { Change, ChatNode, Json } from "../lib/wire.d.ts" */

addEnglish(words);

/** So many characters of a message stand in its name. */
const BEGINNING = 60;

/** @param {{path: string}} props */
export function HistoryOf({ path }) {
  const row = rows.value.get(path);
  const found = useReading(() => readHistory(path), path);
  const name = placeName(path);
  const formula = formulaOf(row?.schema["x-computed"]);
  return h(Modal, { title: t("history.title", { name }), class: "wide history" }, html`${row && html`<p class="aside"><code>${path}</code>${row.about && html` · ${row.about}`}</p>`}
    ${formula.length > 0 && html`<div><p>${t("history.computed")}</p><ul class="causes">${formula.map((one, i) => html`<li key=${i}><code>${one}</code></li>`)}</ul></div>`}
    ${found === null ? h(Waiting, { rows: 3 }) : found instanceof ApiError ? h(Failed, { error: found }) : h(Line, { key: path, path, first: found })}`);
}

/** @param {{path: string, first: History}} props */
function Line({ path, first }) {
  const all = useSignal(first);
  const isBusy = useSignal(false);
  const more = async () => {
    if (isBusy.peek()) return;
    isBusy.value = true;
    const found = await attempt(() => readHistory(path, all.peek().next));
    isBusy.value = false;
    if (found) all.value = { events: [...all.peek().events, ...found.events], next: found.next };
  };
  const { events, next } = all.value;
  return html`${events.length === 0 && html`<p class="aside">${t(next ? "history.noneYet" : "history.none")}</p>`}
    ${events.length > 0 && html`<ol class="events">${events.map((event) => h(One, { key: event.delta.nodeId, path, event }))}</ol>`}
    ${next && html`<div class="actions start"><button type="button" aria-disabled=${isBusy.value ? "true" : null} onClick=${more}>${icon("rewind")}<span>${t("history.more")}</span></button></div>`}`;
}

/** @param {{path: string, event: Event}} props */
function One({ path, event: { delta, node, changes, causes } }) {
  const name = titleOf(node);
  const isMessage = node !== null && node.kind !== "change" && node.kind !== "root";
  return html`<li><p class="differences">${changes.map((change) => h(Difference, { key: change.path, path, change }))}</p>
    <p class="aside">${isMessage ? html`<button type="button" class="link" onClick=${() => goTo(delta.nodeId, false)}>${name}</button>` : name}</p>
    ${causes.length > 0 ? h(Causes, { causes }) : html`<p class="aside">${t("history.unknown")}</p>`}</li>`;
}

/** @param {ChatNode | null} node */
function titleOf(node) {
  if (!node) return t("history.gone");
  if (node.kind === "root") return t("history.root");
  if (node.kind === "change") return `${t("history.beside")}, ${clock(node.timestamp)}`;
  return `${speaker(node)}, ${clock(node.timestamp)}: ${excerpt(node.role === "user" ? plain(node.content) : quoted(node.display ?? node.content), BEGINNING)}`;
}

/** "15 → 22", below it with the name of what is inside. @param {{path: string, change: Change}} props */
function Difference({ path, change }) {
  const inner = change.path.startsWith(`${path}/`) ? steps(change.path).slice(steps(path).length).join(" · ") : "";
  const said = (/** @type {Json | undefined} */ value) => (value === undefined ? t("history.nothing") : nameOf(rows.value.get(change.path), value));
  return html`<b>${inner && `${inner}: `}${said(change.before)} → ${said(change.after)}${secretMark(change.path)}</b>`;
}
