// One box: words find messages in every story and branch; a leading ">" finds commands.
import { h, html, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { canRun, commandsOf, run } from "../actions/commands.js";
import { wordsFor } from "../actions/failure.js";
import { search } from "../actions/page.js";
import { jump } from "../actions/travel.js";
import { moment, t, wordFor } from "../lib/i18n.js";
import { spelled } from "../lib/keys.js";
import { fits, otherNames } from "../lib/synonyms.js";
import { cutAtMarks, unmarked } from "../lib/text.js";
import { openDialog } from "../model/page.js";
import { peekNode, purges } from "../model/story.js";
import { ApiError } from "../net/api.js";
import { tail } from "../tree/line.js";
import { Filters, fieldsOf, narrows } from "./narrow.js";
import { Blank, Modal, icon } from "./parts.js";

/** @import { Command } from "../actions/commands.js" */
/** @import { ChatNode, Hit, Id, SearchAnswer, SearchNote, SearchQuery } from "../lib/wire.d.ts" */
/** @import { Filter } from "./narrow.js" */
/** @typedef {{state: "idle"} | {state: "busy"} | {state: "failed", error: ApiError, asked: string} | {state: "done", hits: Hit[], total: string, told: string[]}} Answer */

const PAUSE = 160;

/** @param {{text: string, focused: Id | null}} props `focused`: the message that had the keyboard when the search was asked for */
export function Search({ text, focused }) {
  const at = useRef(peekNode(focused) ?? tail.peek()).current;
  const query = useSignal(text);
  const filter = useSignal(/** @type {Filter} */ ({}));
  const answer = useSignal(/** @type {Answer} */ ({ state: "idle" }));
  const chosen = useSignal(0);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const wanted = query.value.trim();
  const listsCommands = useSignal(text.startsWith(">"));
  const forCommands = listsCommands.value;
  const gone = purges.value;
  const seen = useRef(gone);
  // Before it is painted: an arrow pressed right after a letter would be taken back.
  useLayoutEffect(() => {
    chosen.value = 0;
    if ((!wanted && !narrows(filter.value)) || forCommands) return void (answer.value = { state: "idle" });
    const abort = new AbortController();
    const timer = setTimeout(() => void look({ q: wanted, ...fieldsOf(filter.peek()) }, abort.signal).then((next) => next && (answer.value = next)), PAUSE);
    // What was found before stays until there is something newer, unless some of it may be gone for good.
    answer.value = answer.peek().state === "done" && seen.current === gone ? answer.peek() : { state: "busy" };
    seen.current = gone;
    return () => (clearTimeout(timer), abort.abort());
  }, [wanted, forCommands, filter.value, gone]);
  const found = answer.value;
  const asked = forCommands ? wanted.replace(/^>/, "").trim() : "";
  const commands = forCommands ? commandsFor(asked, at) : [];
  const options = commands.length > 0 || (!forCommands && found.state === "done" && found.hits.length > 0);
  const type = (/** @type {InputEvent} */ event) => {
    const { value } = /** @type {HTMLInputElement} */ (event.target);
    const isAsked = (/** @type {string} */ words) => words.trimStart().startsWith(">");
    // Who types over all of it still looks for a command; who deletes the ">" does not.
    const isDeleted = isAsked(query.peek()) && !event.inputType?.startsWith("insert");
    listsCommands.value = isAsked(value) || (listsCommands.peek() && value !== "" && !isDeleted);
    query.value = value;
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const all = [...(list.current?.querySelectorAll("[role=option]") ?? [])];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = chosen.peek() + (event.key === "ArrowDown" ? 1 : -1);
      chosen.value = Math.max(0, Math.min(all.length - 1, next));
      all[chosen.peek()]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      /** @type {HTMLElement | undefined} */ (all[chosen.peek()])?.click();
    }
  };
  return h(Modal, { title: t(forCommands ? "command.palette" : "command.search"), class: "search" }, html`<search>
    <div class="search-field">${icon("search")}<input type="text" enterkeyhint="search" role="combobox" aria-expanded=${options} aria-controls=${options ? "hits" : null} aria-activedescendant=${options ? `hit-${chosen.value}` : null}
      aria-label=${t("command.search")} placeholder=${t("search.placeholder")} autofocus value=${query.value} onInput=${type} onKeyDown=${keys} /></div>
    ${!forCommands && h(Filters, { filter })}
    <div class="hits" ref=${list}>${forCommands ? h(Commands, { filter: asked, found: commands, chosen: chosen.value, node: at }) : h(Hits, { answer: answer.value, chosen: chosen.value })}</div></search>`);
}

/** A search whose last word may be typed on, as one for what begins so; "" where only a letter of an alphabet is there, null where it ends otherwise. @param {string} q */
function begunOf(q) {
  if (/^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]$/u.test(q)) return "";
  const isOpen = q.split('"').length % 2 === 0;
  return /(?:^|[\s"])(?!(?:AND|OR|NOT)$)\p{L}[\p{L}\p{N}]+$/u.test(q) ? `${q}${isOpen ? '"*' : "*"}` : null;
}

/** Looks for the words as they stand, and where nothing has them, for what begins as the last one does. @param {SearchQuery} wanted @param {AbortSignal} signal @returns {Promise<Answer | null>} null: no longer asked */
async function look(wanted, signal) {
  try {
    const whole = await search(wanted, signal);
    const longer = whole.items.length === 0 ? begunOf(wanted.q) : null;
    // Of one letter nobody expects to find anything; one character of Chinese is a word.
    if (longer === "") return { state: "idle" };
    const begun = longer ? await search({ ...wanted, q: longer }, signal) : null;
    const isBetter = begun !== null && begun.items.length > 0;
    const found = isBetter ? begun : whole;
    const n = found.total?.value ?? found.items.length;
    return { state: "done", hits: found.items, total: t("search.total", { n }), told: [...(isBetter ? [t("search.begun")] : []), ...toldOf(found)] };
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof ApiError)) throw error;
    return { state: "failed", error, asked: wanted.q };
  }
}

/** What is worth knowing about an answer, in sentences. @param {SearchAnswer} found @returns {string[]} */
function toldOf({ rebuilding, notes = [] }) {
  const said = (/** @type {SearchNote} */ { code, name }) => t(`search.note.${code}`, { name: name ?? "" });
  return [...(typeof rebuilding === "number" ? [t("search.rebuilding", { n: rebuilding })] : []), ...notes.map(said)];
}

/** A search that is none, with the place. @param {{error: ApiError, asked: string}} props */
function Refused({ error, asked }) {
  const { at, length, reason, what, known = [] } = error.details;
  const { text, hint } = wordsFor(error);
  const own = reason && wordFor(`search.bad.${reason}`, { what });
  // Where something to look for is missing, the place is all that was typed: it stands in the field.
  const hasPlace = typeof at === "number" && reason !== "empty";
  return h(Blank, { symbol: "warning", title: own || text, hint: own ? [t("search.possible"), known.length > 0 && t("search.known", { names: known.join(", ") })].filter(Boolean).join(" ") : hint }, hasPlace &&
    html`<p class="asked">${cutAtMarks(asked, [[at, at + Math.max(1, length)]]).map((part, j) => (part.marked ? html`<mark key=${j}>${part.text}</mark>` : part.text))}</p>`);
}

/** @param {{answer: Answer, chosen: number}} props */
function Hits({ answer, chosen }) {
  if (answer.state === "idle") return html`<p class="aside">${t("search.help")}</p>`;
  if (answer.state === "busy") return html`<p class="aside" role="status">${t("loading")}</p>`;
  if (answer.state === "failed") return h(Refused, { error: answer.error, asked: answer.asked });
  if (answer.hits.length === 0) return h(Blank, { symbol: "search", title: t("search.none"), hint: answer.told.join(" ") || t("search.noneHint") });
  return html`<p class="aside" role="status">${[answer.total, ...answer.told].join(" · ")}</p><ul id="hits" role="listbox" aria-label=${t("search.hits")}>${answer.hits.map(
    (hit, i) => html`<li key=${hit.nodeId} id=${`hit-${i}`} role="option" aria-selected=${i === chosen} onClick=${() => void jump(hit)}>
      <small><b>${hit.sessionTitle}</b> · ${hit.role === "user" && (hit.name ?? "You") === "You" ? t("you") : (hit.name ?? hit.role)}${hit.timestamp && ` · ${moment(hit.timestamp)}`}${hit.stashed && html` <span class="chip">${icon("stash")}${t("search.stashed")}</span>`}${!hit.stashed && hit.onTrunk === false && html` <span class="chip">${icon("branch")}${hit.branch ?? t("search.otherBranch")}</span>`}</small>
      <span>${cutAtMarks(hit.snippet.text, hit.snippet.marks).map((part, j) => (part.marked ? html`<mark key=${j}>${unmarked(part.text)}</mark>` : unmarked(part.text)))}</span></li>`,
  )}</ul>`;
}

/** The commands that fit what is typed, those by their names first. @param {string} filter @param {ChatNode | null} node @returns {Command[]} */
function commandsFor(filter, node) {
  const page = commandsOf("page").filter(({ id }) => canRun(id));
  if (!filter) return page;
  // What is for a message is offered to who looks for it, for the message that had the keyboard.
  const all = [...page, ...commandsOf("message").filter(({ id }) => canRun(id, node) && id !== "message.menu" && id !== "message.rate")];
  const named = all.filter(({ label }) => fits(t(label), filter));
  return [...named, ...all.filter((one) => !named.includes(one) && otherNames(one.id, filter).length > 0)];
}

/** @param {{filter: string, found: Command[], chosen: number, node: ChatNode | null}} props */
function Commands({ filter, found, chosen, node }) {
  if (found.length === 0) return html`<div role="status">${h(Blank, { symbol: "search", title: t("search.none") })}</div>`;
  const choose = (/** @type {Command} */ { id, scope }) => {
    openDialog(null);
    run(id, scope === "message" ? node : null);
  };
  // Why it is there, where its name does not say it.
  const other = (/** @type {Command} */ { id, label }) => (filter && !fits(t(label), filter) ? otherNames(id, filter).slice(0, 3).join(", ") : "");
  return html`<ul id="hits" role="listbox" aria-label=${t("command.palette")}>${found.map(
    (one, i) => html`<li key=${one.id} id=${`hit-${i}`} role="option" aria-selected=${i === chosen} class="command" onClick=${() => choose(one)}>
      ${icon(one.icon)}<span>${t(one.label)}</span>${other(one) && html`<small>${other(one)}</small>`}${one.keys?.[0] && html`<kbd>${spelled(one.keys[0])}</kbd>`}</li>`,
  )}</ul>${!filter && h(MessageKeys, {})}`;
}

/** What can be done with a focused message, for the keyboard. */
const MessageKeys = () =>
  html`<h3>${t("search.messageKeys")}</h3><ul class="keys">${commandsOf("message").filter(({ keys }) => keys?.length).map(
    ({ id, label, keys }) => html`<li key=${id}><span>${t(label)}</span><kbd>${spelled(keys?.[0] ?? "")}</kbd></li>`,
  )}</ul>`;
