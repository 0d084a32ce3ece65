// The automatic summaries of the open story: the switch, and the summaries of the displayed branch. Chapters contain
// their parts, and each summary links to its messages.
import { Fragment, h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { moveHeadTo } from "../actions/branches.ts";
import {
  dropSummary,
  changeSummaries,
  correctSummary,
  readMessageText,
  readSummaries,
  readSentSummaries,
} from "../actions/recall.ts";
import { contains, nestChapters } from "../lib/chapters.ts";
import { excerpt } from "../lib/excerpt.ts";
import { t } from "../lib/i18n.ts";
import { modelFailureText } from "../lib/model-failure.ts";
import { plainText } from "../lib/text.ts";
import { formDraftKeys, saveFormDraft } from "../model/form-drafts.ts";
import { session } from "../model/session-store.ts";
import { formValues, fillForm, useFormDraft } from "./form-drafts.ts";
import { EmptyState, LoadingRows, icon } from "./common.tsx";
import { useLatestResult } from "./use-query.tsx";
import { Confirmation, takeFocus } from "./confirmation.tsx";
import type { Chapter } from "../lib/chapters.ts";
import type { Id, Summaries, Summary } from "../lib/wire.d.ts";

const OFF = { enabled: false };
/** Interval at which the list is read again while a summary is being written, in milliseconds. */
const POLL_INTERVAL = 1500;
/** Maximum number of summaries in an open list. A longer list is folded, as more follows below it. */
const MAX_OPEN_LIST = 3;
/** Maximum length of the quoted first and last messages in characters. */
const MAX_QUOTE = 60;

/** The prefix of the keys under which unsaved corrections are kept. */
const DRAFT_PREFIX = "summary.";

export function SummarySettings() {
  const found = useSignal<Summaries | null>(null);
  const isUnread = useSignal(false);
  /** The summaries that the newest reply's prompt contained. */
  const sentIds = useSignal<Set<Id>>(new Set());
  const settings = session.value?.summaries ?? OFF;
  const read = async () => {
    const answer = await readSummaries();
    if (answer) found.value = answer;
    isUnread.value = !answer;
  };
  useEffect(() => void read(), [settings.enabled]);
  useEffect(() => void readSentSummaries().then((ids) => (sentIds.value = new Set(ids))), []);
  const isWorking = found.value?.isWorking ?? false;
  useEffect(() => {
    if (!isWorking) return;
    const again = setTimeout(read, POLL_INTERVAL);
    return () => clearTimeout(again);
  }, [found.value]);
  // The server may announce the setting before the work starts, but it answers the request after that.
  const turn = (event: Event) =>
    void changeSummaries({ ...settings, enabled: (event.target as HTMLInputElement).checked }).then(read);
  const items = found.value?.items ?? [];
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={settings.enabled} onChange={turn} />
        <span>
          {t("summaries.on")}
          <small>{t("summaries.onHint")}</small>
        </span>
      </label>
      {isUnread.value && (
        <EmptyState symbol="warning" title={t("recall.unread")}>
          <button type="button" class="primary" onClick={read}>
            {t("retry")}
          </button>
        </EmptyState>
      )}
      {found.value === null && !isUnread.value && <LoadingRows rows={2} />}
      {found.value?.problem && (
        <p class="aside" role="status">
          {icon("warning")}{" "}
          {t("summaries.problem", { why: modelFailureText(found.value.failure ?? found.value.problem) })}
        </p>
      )}
      {isWorking && !found.value?.problem && (
        <p class="aside" role="status">
          {t("summaries.working")}
        </p>
      )}
      {found.value !== null && settings.enabled && !isWorking && items.length === 0 && (
        <p class="aside">{t("summaries.none")}</p>
      )}
      {items.length > 0 && <List items={items} sentIds={sentIds.value} read={read} />}
    </>
  );
}

function List({ items, sentIds, read }: { items: Summary[]; sentIds: Set<Id>; read: () => unknown }) {
  const tops = nestChapters(items);
  const draftIds = useRef(formDraftKeys(DRAFT_PREFIX)).current;
  // The list stays open or folded as it was at first, so that it does not fold while the user reads it.
  const isOpen = useRef(tops.length <= MAX_OPEN_LIST || items.some(({ id }) => draftIds.includes(id))).current;
  return (
    <details class="section-fold" open={isOpen}>
      <summary>
        <h3>
          {t("summaries.title")} <small>{items.length}</small>
        </h3>
      </summary>
      <div>
        <p class="aside">
          {sentIds.size > 0
            ? t("summaries.toldOf", { n: items.filter(({ id }) => sentIds.has(id)).length })
            : t("summaries.toldNone")}
        </p>
        <ul>
          {tops.map((chapter) => (
            <SummaryItem key={chapter.summary.id} chapter={chapter} sentIds={sentIds} draftIds={draftIds} read={read} />
          ))}
        </ul>
      </div>
    </details>
  );
}

interface SummaryItemProps {
  chapter: Chapter;
  sentIds: Set<Id>;
  draftIds: Id[];
  read: () => unknown;
}

function SummaryItem({ chapter, sentIds, draftIds, read }: SummaryItemProps) {
  const { summary, parts } = chapter;
  const writing = useSignal(draftIds.includes(summary.id));
  const button = useRef<HTMLButtonElement | null>(null);
  const isOpen = useSignal(parts.some((part) => contains(part, (id) => draftIds.includes(id))));
  const name = t(summary.level > 1 ? "summaries.chapter" : "summaries.piece", { n: summary.nodeIds.length });
  const done = async (isSaved: boolean) => {
    writing.value = false;
    if (isSaved) await read();
    button.current?.focus();
  };
  const asking = useSignal(false);
  const first = useRef<HTMLButtonElement | null>(null);
  const keep = () => {
    asking.value = false;
    first.current?.focus();
  };
  const again = async () => {
    asking.value = false;
    if (await dropSummary(summary.id)) await read();
    first.current?.focus();
  };
  const marks = [
    summary.plugin && t("summaries.by", { plugin: summary.plugin }),
    summary.isStale && t("summaries.stale"),
    summary.isEdited && t("summaries.edited"),
  ]
    .filter(Boolean)
    .join(" · ");
  const turn = (event: Event) => (isOpen.value = (event.currentTarget as HTMLDetailsElement).open);
  return (
    <li class="fragment">
      <article aria-label={name}>
        <h4>
          {name}
          {sentIds.has(summary.id) && (
            <>
              {" "}
              <span class="chip on">{t("summaries.told")}</span>
            </>
          )}
        </h4>
        <Ends one={summary} />
        {marks && <p class="aside">{marks}</p>}
        {writing.value ? (
          <Correction one={summary} done={done} />
        ) : (
          <p class="long">{summary.content || t("summaries.empty")}</p>
        )}
        <div class="actions">
          {summary.firstId && (
            <button type="button" onClick={() => moveHeadTo(summary.firstId as string, false)}>
              {icon("eye")}
              <span>{t("summaries.first")}</span>
            </button>
          )}
          {summary.lastId && (
            <button type="button" onClick={() => moveHeadTo(summary.lastId as string, false)}>
              {icon("eye")}
              <span>{t("summaries.last")}</span>
            </button>
          )}
          {!writing.value && (
            <button type="button" ref={button} onClick={() => (writing.value = true)}>
              {icon("edit")}
              <span>{t("summaries.correct")}</span>
            </button>
          )}
          {!writing.value && (
            <button
              type="button"
              ref={first}
              aria-expanded={asking.value}
              onClick={() => (asking.value = !asking.peek())}
            >
              {icon(summary.plugin ? "shred" : "reroll")}
              <span>{t(summary.plugin ? "summaries.destroy" : "summaries.anew")}</span>
            </button>
          )}
        </div>
        {asking.value && !writing.value && (
          <Confirmation
            text={t(
              summary.plugin ? "summaries.destroyText" : summary.isEdited ? "summaries.anewOwn" : "summaries.anewText",
            )}
            confirmLabel={t("summaries.anewYes")}
            cancelLabel={t("recall.removeNo")}
            onConfirm={again}
            onCancel={keep}
          />
        )}
        {parts.length > 0 && (
          <details class="section-fold" open={isOpen.value} onToggle={turn}>
            <summary>{t("summaries.parts", { n: parts.length })}</summary>
            {isOpen.value && (
              <ul>
                {parts.map((part) => (
                  <SummaryItem key={part.summary.id} chapter={part} sentIds={sentIds} draftIds={draftIds} read={read} />
                ))}
              </ul>
            )}
          </details>
        )}
      </article>
    </li>
  );
}

/** Shows how the first and the last message of a summary begin. */
function Ends({ one: { firstId, lastId } }: { one: Summary }) {
  const ends = useSignal<string[]>([]);
  const ids = [...new Set([firstId, lastId])].filter((id) => id !== null);
  useLatestResult(
    () => Promise.all(ids.map(readMessageText)),
    (texts) => (ends.value = texts.map((text) => excerpt(plainText(text), MAX_QUOTE)).filter(Boolean)),
    [firstId, lastId],
  );
  const [first, last] = ends.value;
  return first && <p class="aside">{last ? t("summaries.from", { first, last }) : t("summaries.of", { first })}</p>;
}

/** Renders the form to correct a summary. Unsaved text survives a reload. */
function Correction({ one: { id, content }, done }: { one: Summary; done: (isSaved: boolean) => unknown }) {
  const draft = useFormDraft(DRAFT_PREFIX + id);
  const form = useRef<HTMLFormElement | null>(null);
  /** The text when the correction began. It detects changes by others, which must not be overwritten. */
  const start = useRef(content).current;
  useLayoutEffect(() => {
    if (draft && form.current) fillForm(form.current, draft);
  }, []);
  const text = () => formValues(form.current as HTMLFormElement).content?.replaceAll("\r\n", "\n") ?? "";
  const keep = () =>
    saveFormDraft(DRAFT_PREFIX + id, text() === start ? null : formValues(form.current as HTMLFormElement));
  /** The text that someone else saved in the meantime. */
  const theirs = useSignal<string | null>(null);
  const write = async (isSure: boolean) => {
    const saved = await correctSummary(id, text(), isSure ? null : start);
    theirs.value = saved && saved !== true ? saved.theirs : null;
    if (saved === true) await done(true);
  };
  const save = (event: Event) => {
    event.preventDefault();
    void write(false);
  };
  return (
    <form ref={form} onSubmit={save} onInput={keep}>
      <label>
        {t("summaries.text")}
        <textarea name="content" rows={5} defaultValue={start} ref={takeFocus} />
      </label>
      {theirs.value !== null && (
        <div class="theirs" role="alert">
          <p>{t("summaries.changed")}</p>
          <p class="long">{theirs.value || t("summaries.empty")}</p>
          <div class="actions start">
            <button type="button" onClick={() => write(true)}>
              {t("summaries.over")}
            </button>
          </div>
        </div>
      )}
      <div class="actions">
        <button type="submit" class="primary">
          {t("summaries.save")}
        </button>
        <button type="button" onClick={() => done(false)}>
          {t("cancel")}
        </button>
      </div>
    </form>
  );
}
