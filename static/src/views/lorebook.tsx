// A lorebook: its entries can be searched, switched on and off, edited and removed.
import { Fragment, h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { changeEntry, readEntries, removeEntry, readEntriesQuietly } from "../actions/lore.ts";
import { excerpt } from "../lib/excerpt.ts";
import { t } from "../lib/i18n.ts";
import { onTabVisible } from "../lib/tab-visibility.ts";
import { plainText } from "../lib/text.ts";
import { entryDraftsIn, readEntryDraft, saveEntryDraft } from "../model/lore.ts";
import { entryTitle } from "./lore-entry-fields.tsx";
import { LoreLinks } from "./lore-links.tsx";
import { LoreTest } from "./lore-test.tsx";
import { EntryForm } from "./lore-entry.tsx";
import { EmptyState, LoadingRows, icon } from "./common.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Id, LoreEntry, Page } from "../lib/wire.d.ts";

/** Number of entries that are rendered at once. */
const PAGE = 50;
/** Maximum number of keys of an entry in the list. */
const MAX_KEYS = 8;
/** Maximum length of a text from which an excerpt is made, in UTF-16 code units. */
const MAX_TEXT = 2000;
const NEW = Symbol("a new entry");

export function LorebookEditor({ id, opened, back }: { id: Id; opened: string | null; back: () => void }) {
  const entries = useSignal<LoreEntry[]>([]);
  const reading = useSignal<"on" | "done" | "failed">("on");
  const editing = useSignal<string | typeof NEW | null>(opened);
  /** The entry that was edited last. It gets the focus in the list. */
  const last = useSignal<string | null>(null);
  const query = useSignal("");
  const most = useSignal(PAGE);
  const isHere = useRef(true);
  /** Number of changes made here. An answer to a request from before a change is outdated. */
  const changes = useRef(0);
  const read = () => {
    reading.value = "on";
    void readAll(readEntries, id, (page) => {
      if (isHere.current) entries.value = joined(entries.peek(), page.items);
      return isHere.current;
    }).then((isWhole) => (reading.value = isWhole ? "done" : "failed"));
  };
  /** Reads the entries again, because others may have changed the lorebook. */
  const lookAgain = () => {
    if (reading.peek() !== "done" || editing.peek() !== null) return;
    const all = [] as LoreEntry[];
    const asked = changes.current;
    void readAll(readEntriesQuietly, id, (page) => all.push(...page.items) >= 0 && isHere.current).then((isWhole) => {
      if (!isWhole || editing.peek() !== null) return;
      if (asked !== changes.current) return lookAgain();
      entries.value = all;
    });
  };
  useEffect(() => {
    read();
    const end = onTabVisible(lookAgain);
    return () => {
      end();
      isHere.current = false;
    };
  }, []);
  const put = (changed: LoreEntry) => {
    changes.current += 1;
    const known = entries.peek().some(({ uid }) => uid === changed.uid);
    entries.value = known
      ? entries.peek().map((entry) => (entry.uid === changed.uid ? changed : entry))
      : [...entries.peek(), changed];
  };
  const first = useRef<HTMLButtonElement | null>(null);
  const drop = async (entry: LoreEntry) => {
    if (!(await removeEntry(id, entry, entryTitle(entry), put))) return;
    changes.current += 1;
    entries.value = entries.peek().filter(({ uid }) => uid !== entry.uid);
    // The button with the focus disappears.
    first.current?.focus();
  };
  const at = editing.value;
  // Unsaved input can be continued even if its entry was removed.
  const open =
    at === NEW
      ? null
      : (entries.value.find(({ uid }) => String(uid) === at) ?? (at === null ? null : readEntryDraft(id, at)?.before));
  const done = (written: LoreEntry | null) => {
    if (written) put(written);
    last.value = written ? String(written.uid) : typeof at === "string" ? at : null;
    editing.value = null;
    lookAgain();
  };
  if (at === NEW || open)
    return <EntryForm key={String(at === NEW || at)} bookId={id} entry={open ?? null} onClose={done} />;
  if (reading.value === "on" && (entries.value.length === 0 || at !== null)) return <LoadingRows rows={4} />;
  const found = matching(entries.value, query.value);
  const shown = found.slice(0, Math.max(most.value, found.findIndex(({ uid }) => String(uid) === last.value) + 1));
  const seek = (event: Event) => {
    const field = event.target as HTMLInputElement;
    // The dialog must not treat a search text as unsaved input.
    field.defaultValue = field.value;
    query.value = field.value;
    most.value = PAGE;
  };
  return (
    <div class="stash">
      <div class="actions start">
        <button type="button" ref={last.value === null ? takeFocus : null} onClick={back}>
          {icon("back")}
          <span>{t("lore.back")}</span>
        </button>
        <button type="button" ref={first} onClick={() => (editing.value = NEW)}>
          {icon("plus")}
          <span>{t("lore.add")}</span>
        </button>
      </div>
      <LoreLinks id={id} />
      <LoreTest id={id} />
      <Unsaved id={id} goOn={(uid) => (editing.value = uid ?? NEW)} />
      {entries.value.length > 0 && (
        <div class="search-field">
          {icon("search")}
          <input
            type="search"
            aria-label={t("lore.search")}
            placeholder={t("lore.search")}
            value={query.value}
            onInput={seek}
          />
        </div>
      )}
      <p class="aside" role="status">
        {reading.value === "on"
          ? t("loading")
          : query.value.trim()
            ? t("lore.found", { found: found.length, n: entries.value.length })
            : t("lore.entries", { n: entries.value.length })}
      </p>
      {reading.value === "failed" && (
        <EmptyState symbol="warning" title={t("lore.unread")}>
          <button type="button" class="primary" onClick={read}>
            {t("retry")}
          </button>
        </EmptyState>
      )}
      {reading.value === "done" && found.length === 0 && (
        <EmptyState symbol="lore" title={t(entries.value.length ? "lore.none" : "lore.noEntries")} />
      )}
      <ul>
        {shown.map((entry) => (
          <Row
            key={String(entry.uid)}
            bookId={id}
            entry={entry}
            isLast={String(entry.uid) === last.value}
            put={put}
            edit={() => (editing.value = String(entry.uid))}
            drop={() => drop(entry)}
          />
        ))}
      </ul>
      {shown.length < found.length && (
        <button type="button" onClick={() => (most.value = shown.length + PAGE)}>
          {t("lore.more")}
        </button>
      )}
    </div>
  );
}

/** The unsaved drafts of this lorebook from before a reload of the page. */
function Unsaved({ id, goOn }: { id: Id; goOn: (uid: string | null) => void }) {
  const draftIds = useSignal(entryDraftsIn(id));
  const drop = (uid: string | null) => {
    saveEntryDraft(id, uid, null);
    draftIds.value = entryDraftsIn(id);
  };
  return (
    <>
      {draftIds.value.map((uid) => {
        const { mine } = readEntryDraft(id, uid) ?? {};
        const name =
          mine && (mine.comment || mine.content)
            ? excerpt(plainText(mine.comment || mine.content.slice(0, MAX_TEXT)), 60)
            : t("lore.add");
        return (
          <div key={uid ?? ""} class="elsewhere" role="group" aria-label={t("lore.begun")}>
            <p class="aside">
              {t("lore.begun")} <q>{name}</q>
            </p>
            <button type="button" onClick={() => goOn(uid)}>
              {t("typed.keep")}
            </button>
            <button
              type="button"
              class="round small"
              aria-label={t("typed.drop")}
              title={t("typed.drop")}
              onClick={() => drop(uid)}
            >
              {icon("close")}
            </button>
          </div>
        );
      })}
    </>
  );
}

/**
 * Reads all entries, page by page, until `onPage` returns false.
 * @returns whether all pages were read
 */
async function readAll(
  ask: typeof readEntriesQuietly,
  id: Id,
  onPage: (page: Page<LoreEntry>) => boolean,
): Promise<boolean> {
  for (let next = undefined as string | null | undefined; next !== null; ) {
    const page = await ask(id, next);
    if (!page || !onPage(page)) return false;
    next = page.next;
  }
  return true;
}

/** Appends a page without the entries that are known already, such as those added during the reading. */
function joined(known: LoreEntry[], more: LoreEntry[]) {
  const uids = new Set(known.map(({ uid }) => uid));
  return [...known, ...more.filter(({ uid }) => !uids.has(uid))];
}

function matching(entries: LoreEntry[], query: string) {
  const words = query.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries;
  return entries.filter((entry) => {
    const text = [entry.comment, ...(entry.key ?? []), ...(entry.keysecondary ?? []), entry.content]
      .join("\n")
      .toLocaleLowerCase();
    return words.every((word) => text.includes(word));
  });
}

interface RowProps {
  bookId: Id;
  entry: LoreEntry;
  isLast: boolean;
  put: (entry: LoreEntry) => void;
  edit: () => void;
  drop: () => void;
}

function Row({ bookId, entry, isLast, put, edit, drop }: RowProps) {
  const name = entryTitle(entry);
  const keys = entry.key ?? [];
  const turn = async (event: Event) => {
    const box = event.target as HTMLInputElement;
    const changed = await changeEntry(bookId, entry, { disable: !box.checked });
    if (changed) put(changed);
    else box.checked = entry.disable !== true;
  };
  return (
    <li class="fragment">
      <article class={entry.disable ? "off" : ""} aria-label={name}>
        <h3>{name}</h3>
        {(entry.constant || entry.vectorized || keys.length > 0) && (
          <p class="chips">
            {entry.constant && <span class="chip on">{t("lore.always")}</span>}
            {entry.vectorized && <span class="chip on">{t("lore.meaning")}</span>}
            {keys.slice(0, MAX_KEYS).map((key) => (
              <span key={key} class="chip">
                {excerpt(key, 40)}
              </span>
            ))}
            {keys.length > MAX_KEYS && <small>{t("lore.moreKeys", { n: keys.length - MAX_KEYS })}</small>}
          </p>
        )}
        <p class="aside">{excerpt(plainText((entry.content ?? "").slice(0, MAX_TEXT)), 240)}</p>
        <div class="actions">
          <label class="check">
            <input
              type="checkbox"
              checked={entry.disable !== true}
              aria-label={t("lore.isOn", { name })}
              onChange={turn}
            />
            <span>{t("lore.on")}</span>
          </label>
          <button type="button" ref={isLast ? takeFocus : null} aria-label={t("lore.edit", { name })} onClick={edit}>
            {icon("edit")}
            <span>{t("command.edit")}</span>
          </button>
          <button type="button" aria-label={t("lore.remove", { name })} onClick={drop}>
            {icon("trash")}
            <span>{t("lore.delete")}</span>
          </button>
        </div>
      </article>
    </li>
  );
}
