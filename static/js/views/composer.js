// Where the reader writes: the field, quick replies, send and stop.
import { html, h, useEffect, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { run } from "../actions/commands.js";
import "../actions/draft.js";
import { passUnread, visit } from "../actions/follow.js";
import { readSlashCommands, recallDraft, send, writeDraft } from "../actions/turn.js";
import { isFocusLost } from "../lib/focus.js";
import { locale, t } from "../lib/i18n.js";
import { isWestern } from "../lib/text.js";
import { drafting } from "../model/drafting.js";
import { seenProblems } from "../model/secrets.js";
import { draft, editing, fieldWanted, focusField, focusOn, online, problems, quickReplies, sending, session, slashCommands, unread } from "../model/story.js";
import { writing } from "../tree/line.js";
import { CommandButton, ProblemLine, icon } from "./parts.js";

/** @import { Drafting } from "../model/drafting.js" */
/** @import { QuickReply, SlashCommand } from "../lib/wire.d.ts" */

/** On touch screens Enter is a new line, because there is no Shift beside it. */
const TOUCH = matchMedia("(pointer: coarse)");

export function Composer() {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const sid = session.value?.id ?? "";
  // Before the field is painted: a letter typed into an empty field would take the place of what was kept.
  useLayoutEffect(() => {
    recallDraft(sid);
    if (!TOUCH.matches && document.activeElement === document.body) field.current?.focus({ preventScroll: true });
  }, [sid]);
  const wanted = fieldWanted.value;
  const heard = useRef(wanted);
  useLayoutEffect(() => {
    // On a touch screen the focus would bring up the keyboard.
    if (heard.current !== wanted && !TOUCH.matches && editing.peek() === null) field.current?.focus({ preventScroll: true });
    heard.current = wanted;
  }, [wanted]);
  useLayoutEffect(() => {
    const box = field.current;
    if (!box || CSS.supports("field-sizing", "content")) return;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  }, [draft.value]);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void send(draft.peek());
  };
  const complete = (/** @type {string} */ name) => {
    writeDraft(`/${name} `);
    field.current?.focus();
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const first = offered()[0];
    if (event.key === "Tab" && !event.shiftKey && first) {
      event.preventDefault();
      return complete(wordOf(first));
    }
    if (event.key !== "Enter") return;
    if (event.shiftKey || event.altKey || (TOUCH.matches && !event.ctrlKey)) return;
    submit(event);
  };
  const busy = writing.value !== null;
  const making = drafting.value;
  const isSending = sending.value;
  /** Whether the keyboard is in the box: its buttons come and go, and it stays there. */
  const within = useRef(false);
  const left = (/** @type {FocusEvent} */ event) => {
    const button = /** @type {HTMLButtonElement} */ (event.target);
    if (button.isConnected && !button.disabled) within.current = false;
  };
  useLayoutEffect(() => {
    if (!TOUCH.matches && within.current && (isFocusLost() || document.activeElement?.matches(":disabled"))) field.current?.focus({ preventScroll: true });
  }, [busy, making !== null, isSending]);
  return html`<div class="dock">${h(Unread, {})}${draft.value.startsWith("/") ? h(Completions, { complete }) : html`${h(Hindered, {})}${h(QuickReplies, {})}`}
    <form class="composer" onSubmit=${submit} onFocusIn=${() => (within.current = true)} onFocusOut=${left}>
      <textarea ref=${field} rows="1" aria-label=${t("composer.label")} placeholder=${making ? draftPhase(making) : t("composer.placeholder")} value=${draft.value}
        onInput=${(/** @type {Event} */ event) => writeDraft(/** @type {HTMLTextAreaElement} */ (event.target).value)} onKeyDown=${keys}></textarea>
      ${h(CommandButton, { id: "turn.draft" })}
      ${making
        ? html`<button key="stop-draft" type="button" class="send stop" aria-label=${t("command.stopDraft")} title=${t("command.stopDraft")} onClick=${() => run("turn.stopDraft")}>${icon("stop")}</button>`
        : busy
        ? html`<button key="stop" type="button" class="send stop" aria-label=${t("command.stop")} title=${t("command.stop")} onClick=${() => run("turn.stop")}>${icon("stop")}</button>`
        : html`<button key="send" class="send" aria-label=${t("composer.send")} title=${t("composer.send")} disabled=${isSending || !online.value || !draft.value.trim()}>${icon("send")}</button>`}
    </form></div>`;
}

/** @param {Drafting} making */
const draftPhase = ({ status, place }) => (status === "queued" ? t("phase.queued", { n: place }) : t(status === "thinking" ? "phase.thinking" : "phase.drafting"));

/** The commands that the beginning in the field may become. */
function offered() {
  const begun = /^\/(\S*)$/.exec(draft.value)?.[1];
  if (begun === undefined) return [];
  return (slashCommands.value?.list ?? []).filter(({ name, aliases }) => [name, ...aliases].some((word) => word.startsWith(begun)));
}

const HAN = /\p{Script=Han}/u;

/** What a command is called in the reader's language: its name, or the first of its other words that is written as one writes there. @param {Pick<SlashCommand, "name" | "aliases">} command */
const wordOf = ({ name, aliases }) => [name, ...aliases].find((word) => HAN.test(word) === (locale.value === "zh")) ?? name;

/** @param {{complete: (name: string) => void}} props */
function Completions({ complete }) {
  useEffect(() => void readSlashCommands(), [locale.value]);
  const list = offered();
  if (list.length === 0) return null;
  return html`<ul class="completions" aria-label=${t("composer.commands")}>${list.map(
    ({ plugin, name, aliases, args, help }, i) => html`<li key=${`${plugin} ${name}`}><button type="button" onClick=${() => complete(wordOf({ name, aliases }))}><b>/${wordOf({ name, aliases })}</b>${args && html` <i>${args}</i>`}<span>${help}</span>${i === 0 && html`<kbd>Tab</kbd>`}</button></li>`,
  )}</ul>`;
}

/** Replies that were finished on other timelines wait here until they are seen. */
function Unread() {
  const id = unread.value.at(-1);
  if (!id) return null;
  const show = () => void visit(id).then((moved) => moved && focusOn(id));
  return html`<div class="unread">${icon("branch")}<p>${t("unread.text", { n: unread.value.length })}</p><button type="button" onClick=${show}>${t("notice.show")}</button>
    <button type="button" class="round" aria-label=${t("unread.later")} title=${t("unread.later")} onClick=${() => (passUnread(), focusField())}>${icon("close")}</button></div>`;
}

/** A rule that could not make its suggestions says so where they would stand. */
function Hindered() {
  const told = seenProblems(problems.value);
  if (writing.value || told.length === 0) return null;
  return html`<details class="aside problems hindered"><summary>${t("composer.hindered", { n: told.length })}</summary>${told.map((problem, i) => h(ProblemLine, { key: i, problem }))}</details>`;
}

/** Whether a suggestion is a deed of rules: a command, or a move in a story that its plugin tells. Anything else is the reader's to change. @param {QuickReply} reply */
const isDeed = ({ plugin, send: text }) => /^\/\S/.test(text) || session.value?.model === `plugin:${plugin}`;

/** What was typed stays, with the suggestion behind it. @param {string} typed @param {string} text */
function joined(typed, text) {
  const before = typed.trimEnd();
  if (before === "" || before.endsWith(text)) return before || text;
  return `${before}${isWestern(before.slice(-1) + text.slice(0, 1)) ? " " : ""}${text}`;
}

function QuickReplies() {
  if (writing.value || sending.value || quickReplies.value.length === 0) return null;
  const choose = (/** @type {QuickReply} */ reply) => {
    const begun = draft.peek().trim() !== "";
    const isSent = isDeed(reply);
    // What is sent stands in the field until it has arrived, unless something else was begun there.
    if (!isSent || !begun) writeDraft(isSent ? reply.send : joined(draft.peek(), reply.send));
    focusField();
    if (isSent) void send(reply.send);
  };
  return html`<ul class="replies" aria-label=${t("composer.replies")}>${quickReplies.value.map(
    (reply) => html`<li key=${reply.label}><button type="button" title=${t(isDeed(reply) ? "composer.sends" : "composer.puts", { text: reply.send })} onClick=${() => choose(reply)}>${reply.label}</button></li>`,
  )}</ul>`;
}
