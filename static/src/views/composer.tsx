// The composer: text field, quick replies, send and stop buttons.
import { Fragment, h, useEffect, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { run } from "../actions/commands.ts";
import "../actions/impersonate.ts";
import { markUnreadAsRead, moveHead } from "../actions/session-sync.ts";
import { readSlashCommands, loadDraft, send, saveDraft } from "../actions/turn.ts";
import { isFocusLost } from "../lib/focus.ts";
import { locale, t } from "../lib/i18n.ts";
import { isWestern } from "../lib/text.ts";
import { impersonation } from "../model/impersonation.ts";
import { visibleProblems } from "../model/secrets.ts";
import {
  draft,
  editedMessage,
  fieldFocusRequests,
  requestFieldFocus,
  setFocusNext,
  online,
  problems,
  quickReplies,
  sending,
  session,
  slashCommands,
  unread,
} from "../model/session-store.ts";
import { writtenReply } from "../tree/shown-branch.ts";
import { CommandButton, ProblemLine, icon } from "./common.tsx";
import type { Impersonation } from "../model/impersonation.ts";
import type { QuickReply, SlashCommand } from "../lib/wire.d.ts";

/** Touch screens, where Enter makes a new line, because there is no Shift key for that. */
const TOUCH = matchMedia("(pointer: coarse)");

export function Composer() {
  const field = useRef<HTMLTextAreaElement | null>(null);
  const sid = session.value?.id ?? "";
  // Before the field is painted: a letter typed into the empty field would replace the stored draft.
  useLayoutEffect(() => {
    loadDraft(sid);
    if (!TOUCH.matches && document.activeElement === document.body) field.current?.focus({ preventScroll: true });
  }, [sid]);
  const wanted = fieldFocusRequests.value;
  const lastWanted = useRef(wanted);
  useLayoutEffect(() => {
    // On a touch screen, the focus would open the on-screen keyboard.
    if (lastWanted.current !== wanted && !TOUCH.matches && editedMessage.peek() === null)
      field.current?.focus({ preventScroll: true });
    lastWanted.current = wanted;
  }, [wanted]);
  useLayoutEffect(() => {
    const box = field.current;
    if (!box || CSS.supports("field-sizing", "content")) return;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  }, [draft.value]);
  const submit = (event: Event) => {
    event.preventDefault();
    void send(draft.peek());
  };
  const complete = (name: string) => {
    saveDraft(`/${name} `);
    field.current?.focus();
  };
  const keys = (event: KeyboardEvent) => {
    const first = matchingCommands()[0];
    if (event.key === "Tab" && !event.shiftKey && first) {
      event.preventDefault();
      return complete(wordOf(first));
    }
    if (event.key !== "Enter") return;
    if (event.shiftKey || event.altKey || (TOUCH.matches && !event.ctrlKey)) return;
    submit(event);
  };
  const busy = writtenReply.value !== null;
  const making = impersonation.value;
  const isSending = sending.value;
  /** Whether the focus is in the composer. It stays there when the focused button disappears. */
  const within = useRef(false);
  const left = (event: FocusEvent) => {
    const button = event.target as HTMLButtonElement;
    if (button.isConnected && !button.disabled) within.current = false;
  };
  useLayoutEffect(() => {
    if (!TOUCH.matches && within.current && (isFocusLost() || document.activeElement?.matches(":disabled")))
      field.current?.focus({ preventScroll: true });
  }, [busy, making !== null, isSending]);
  return (
    <div class="dock">
      <Unread />
      {draft.value.startsWith("/") ? (
        <Completions complete={complete} />
      ) : (
        <>
          <QuickReplyProblems />
          <QuickReplies />
        </>
      )}
      <form class="composer" onSubmit={submit} onFocusIn={() => (within.current = true)} onFocusOut={left}>
        <textarea
          ref={field}
          rows={1}
          aria-label={t("composer.label")}
          placeholder={making ? draftPhase(making) : t("composer.placeholder")}
          value={draft.value}
          onInput={(event: Event) => saveDraft((event.target as HTMLTextAreaElement).value)}
          onKeyDown={keys}
        />
        <CommandButton id="turn.draft" />
        {making ? (
          <button
            key="stop-draft"
            type="button"
            class="send stop"
            aria-label={t("command.stopDraft")}
            title={t("command.stopDraft")}
            onClick={() => run("turn.stopDraft")}
          >
            {icon("stop")}
          </button>
        ) : busy ? (
          <button
            key="stop"
            type="button"
            class="send stop"
            aria-label={t("command.stop")}
            title={t("command.stop")}
            onClick={() => run("turn.stop")}
          >
            {icon("stop")}
          </button>
        ) : (
          <button
            type="submit"
            key="send"
            class="send"
            aria-label={t("composer.send")}
            title={t("composer.send")}
            disabled={isSending || !online.value || !draft.value.trim()}
          >
            {icon("send")}
          </button>
        )}
      </form>
    </div>
  );
}

const draftPhase = ({ status, place }: Impersonation) =>
  status === "queued"
    ? t("phase.queued", { n: place })
    : t(status === "thinking" ? "phase.thinking" : "phase.drafting");

/** Returns the slash commands that begin with what is typed. */
function matchingCommands() {
  const beginning = /^\/(\S*)$/.exec(draft.value)?.[1];
  if (beginning === undefined) return [];
  const own = { plugin: "", name: "profile", aliases: ["连接配置"] };
  const texts = { args: t("composer.profileName"), help: t("composer.profileHelp") };
  const all: SlashCommand[] = [...(slashCommands.value?.list ?? []), { ...own, ...texts }];
  return all.filter(({ name, aliases }) => [name, ...aliases].some((word) => word.startsWith(beginning)));
}

const HAN = /\p{Script=Han}/u;

/**
 * Returns the name of a command in the user's language: its name or its first alias in Han characters for Chinese,
 * without them otherwise.
 */
const wordOf = ({ name, aliases }: Pick<SlashCommand, "name" | "aliases">) =>
  [name, ...aliases].find((word) => HAN.test(word) === (locale.value === "zh")) ?? name;

function Completions({ complete }: { complete: (name: string) => void }) {
  useEffect(() => void readSlashCommands(), [locale.value]);
  const list = matchingCommands();
  if (list.length === 0) return null;
  return (
    <ul class="completions" aria-label={t("composer.commands")}>
      {list.map(({ plugin, name, aliases, args, help }, i) => (
        <li key={`${plugin} ${name}`}>
          <button type="button" onClick={() => complete(wordOf({ name, aliases }))}>
            <b>/{wordOf({ name, aliases })}</b>
            {args && (
              <>
                {" "}
                <i>{args}</i>
              </>
            )}
            <span>{help}</span>
            {i === 0 && <kbd>Tab</kbd>}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The notice of replies that were finished on other branches and are not seen yet. */
function Unread() {
  const id = unread.value.at(-1);
  if (!id) return null;
  const show = () => void moveHead(id).then((moved) => moved && setFocusNext(id));
  return (
    <div class="unread">
      {icon("branch")}
      <p>{t("unread.text", { n: unread.value.length })}</p>
      <button type="button" onClick={show}>
        {t("notice.show")}
      </button>
      <button
        type="button"
        class="round"
        aria-label={t("unread.later")}
        title={t("unread.later")}
        onClick={() => (markUnreadAsRead(), requestFieldFocus())}
      >
        {icon("close")}
      </button>
    </div>
  );
}

/** The problems of plugins that could not make quick replies, in the place of these. */
function QuickReplyProblems() {
  const visible = visibleProblems(problems.value);
  if (writtenReply.value || visible.length === 0) return null;
  return (
    <details class="aside problems hindered">
      <summary>{t("composer.hindered", { n: visible.length })}</summary>
      {visible.map((problem, i) => (
        <ProblemLine key={i} problem={problem} />
      ))}
    </details>
  );
}

/**
 * Returns whether a quick reply is sent at once: a slash command, or a reply from the plugin that narrates the session.
 * Any other one goes to the field, where the user can change it.
 */
const isSentAtOnce = ({ plugin, send: text }: QuickReply) =>
  /^\/\S/.test(text) || session.value?.model === `plugin:${plugin}`;

/** Appends a quick reply to the typed text. */
function joined(typed: string, text: string) {
  const before = typed.trimEnd();
  if (before === "" || before.endsWith(text)) return before || text;
  return `${before}${isWestern(before.slice(-1) + text.slice(0, 1)) ? " " : ""}${text}`;
}

function QuickReplies() {
  if (writtenReply.value || sending.value || quickReplies.value.length === 0) return null;
  const choose = (reply: QuickReply) => {
    const hasText = draft.peek().trim() !== "";
    const isSent = isSentAtOnce(reply);
    // A text that is sent stays in the field until it has arrived, unless the user has typed something else there.
    if (!isSent || !hasText) saveDraft(isSent ? reply.send : joined(draft.peek(), reply.send));
    requestFieldFocus();
    if (isSent) void send(reply.send);
  };
  return (
    <ul class="replies" aria-label={t("composer.replies")}>
      {quickReplies.value.map((reply) => (
        <li key={reply.label}>
          <button
            type="button"
            title={t(isSentAtOnce(reply) ? "composer.sends" : "composer.puts", { text: reply.send })}
            onClick={() => choose(reply)}
          >
            {reply.label}
          </button>
        </li>
      ))}
    </ul>
  );
}
