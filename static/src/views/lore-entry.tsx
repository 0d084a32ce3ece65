// The form for a lorebook entry. Its input survives a reload. It asks before it overwrites a change that was made
// elsewhere meanwhile.
import { Fragment, h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { addEntry, writeEntry } from "../actions/lore.ts";
import { t } from "../lib/i18n.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import { changedOptions, readOptions } from "../lib/lore-options.ts";
import { looksSame, readEntryDraft, saveEntryDraft } from "../model/lore.ts";
import { EntryFields, entryFromForm, entryTitle } from "./lore-entry-fields.tsx";
import { LoreOptions } from "./lore-options.tsx";
import { icon } from "./common.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Id, LoreEntry } from "../lib/wire.d.ts";
import type { EditableEntry } from "../model/lore.ts";

/** What happened to the entry during the edit. `now`: as stored elsewhere; `mine`: the own text before taking `now`. */
type EntryConflict = { is: "changed"; now: LoreEntry } | { is: "taken"; mine: EditableEntry } | { is: "gone" };

interface EntryFormProps {
  bookId: Id;
  entry: LoreEntry | null;
  onClose: (written: LoreEntry | null) => void;
}

export function EntryForm({ bookId, entry, onClose }: EntryFormProps) {
  const uid = entry ? String(entry.uid) : null;
  const draft = useRef(readEntryDraft(bookId, uid)).current;
  /** The stored entry when the edit began, or as the user last saw it. */
  const before = useRef(draft ? draft.before : entry);
  const start = useRef<Partial<LoreEntry>>(before.current ?? {}).current;
  const options = useSignal(readOptions(start));
  const secondary = useSignal(options.peek().keysecondary);
  const form = useRef<HTMLFormElement | null>(null);
  const keys = useSignal(start.key ?? []);
  const meanwhile = useSignal<EntryConflict | null>(null);
  const keyFor = useRef(idempotencyKeys()).current;
  const busy = useRef(false);
  const words = (): EditableEntry => {
    const typed = new FormData(form.current as HTMLFormElement);
    const wanted = { ...options.peek(), keysecondary: secondary.peek() };
    return {
      ...entryFromForm(typed, keys.peek()),
      ...changedOptions(before.current ?? {}, wanted),
      disable: !typed.has("on"),
      vectorized: typed.has("vectorized"),
    } as EditableEntry;
  };
  const keep = () => {
    const mine = words();
    const isSame = looksSame({ ...before.current, ...mine }, before.current ?? {});
    saveEntryDraft(bookId, uid, isSame ? null : { mine, before: before.current });
  };
  const fill = (from: Partial<LoreEntry>) => {
    const field = (name: string) => form.current?.elements.namedItem(name) as HTMLInputElement;
    field("comment").value = from.comment ?? "";
    field("content").value = from.content ?? "";
    field("constant").checked = from.constant === true;
    field("vectorized").checked = from.vectorized === true;
    field("on").checked = from.disable !== true;
    keys.value = from.key ?? [];
    options.value = readOptions({ ...before.current, ...from });
    secondary.value = options.peek().keysecondary;
    keep();
  };
  useLayoutEffect(() => (draft ? fill(draft.mine) : undefined), []);
  useLayoutEffect(() => keys.subscribe(keep), []);
  useLayoutEffect(() => secondary.subscribe(keep), []);
  // Unmounting deletes the draft, because the user has saved or cancelled. A reload keeps it: it does not run this.
  useLayoutEffect(() => () => saveEntryDraft(bookId, uid, null), []);
  const leave = (written: LoreEntry | null) => {
    saveEntryDraft(bookId, uid, null);
    onClose(written);
  };

  const write = async () => {
    const mine = words();
    if (!entry || meanwhile.peek()?.is === "gone") {
      const { uid: _, ...rest } = before.current ?? { uid: "" };
      return addEntry(bookId, { ...rest, ...mine, ...(!entry && { addMemo: mine.comment !== "" }) }, keyFor);
    }
    const result = await writeEntry(bookId, String(uid), mine, before.current ?? {});
    if (result?.is === "written") return result.entry;
    if (result) meanwhile.value = result.is === "changed" ? { is: "changed", now: result.entry } : { is: "gone" };
    return undefined;
  };
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    const written = await write();
    busy.current = false;
    if (written) leave(written);
  };
  const keepMine = (now: LoreEntry) => {
    before.current = now;
    meanwhile.value = null;
    form.current?.requestSubmit();
  };
  const takeTheirs = (now: LoreEntry) => {
    const mine = words();
    before.current = now;
    fill(now);
    meanwhile.value = { is: "taken", mine };
  };
  const backToMine = (mine: EditableEntry) => {
    fill(mine);
    meanwhile.value = null;
  };
  const at = meanwhile.value;
  return (
    <form ref={form} onSubmit={save} onInput={keep} onChange={keep}>
      {draft && (
        <p class="aside" role="status">
          {t("lore.begunHere")}
        </p>
      )}
      <EntryFields entry={start} keys={keys} />
      <label class="check">
        <input type="checkbox" name="vectorized" defaultChecked={start.vectorized === true} />
        <span>
          {t("lore.meaning")}
          <small>{t("lore.meaningHint")}</small>
        </span>
      </label>
      <label class="check">
        <input type="checkbox" name="on" defaultChecked={start.disable !== true} />
        <span>
          {t("lore.on")}
          <small>{t("lore.onHint")}</small>
        </span>
      </label>
      <details class="lore-options">
        <summary>{t("entry.more")}</summary>
        <LoreOptions
          options={options.value}
          set={(changed) => (options.value = { ...options.peek(), ...changed })}
          secondary={secondary}
          before={readOptions(before.current ?? {})}
          isFilterOff={start.selective === false && secondary.value.length > 0}
        />
      </details>
      {at?.is === "changed" && <ConflictNote now={at.now} keepMine={keepMine} takeTheirs={takeTheirs} />}
      {at?.is === "taken" && (
        <p class="aside" role="status">
          {t("lore.taken")}{" "}
          <button type="button" class="link" ref={takeFocus} onClick={() => backToMine(at.mine)}>
            {t("lore.backToMine")}
          </button>
        </p>
      )}
      {at?.is === "gone" && (
        <div class="failure" role="alert">
          {icon("warning")}
          <div>
            <p>{t("lore.gone")}</p>
            <p class="hint">{t("lore.goneHint")}</p>
          </div>
        </div>
      )}
      <div class="actions foot-actions">
        <button type="button" onClick={() => leave(null)}>
          {t("cancel")}
        </button>
        {at?.is !== "changed" && (
          <button type="submit" class="primary">
            {t(at?.is === "gone" ? "lore.saveNew" : "save")}
          </button>
        )}
      </div>
    </form>
  );
}

interface ConflictNoteProps {
  now: LoreEntry;
  keepMine: (now: LoreEntry) => void;
  takeTheirs: (now: LoreEntry) => void;
}

/** The entry as changed elsewhere meanwhile, and the choice between the two versions. */
const ConflictNote = ({ now, keepMine, takeTheirs }: ConflictNoteProps) => (
  <div class="failure" role="alert">
    {icon("warning")}
    <div>
      <p>{t("lore.changed")}</p>
      <div class="theirs" role="group" aria-label={t("lore.theirs")} tabindex={0}>
        <p>
          <strong>{entryTitle(now)}</strong>
          {now.disable && (
            <>
              {" "}
              <span class="chip">{t("lore.isOff")}</span>
            </>
          )}
          {now.constant && (
            <>
              {" "}
              <span class="chip on">{t("lore.always")}</span>
            </>
          )}
        </p>
        {(now.key ?? []).length > 0 && (
          <p class="aside">
            {t("lore.keys")}: {(now.key ?? []).join(", ")}
          </p>
        )}
        <p class="words">{now.content}</p>
      </div>
      <div class="actions">
        <button type="button" onClick={() => takeTheirs(now)}>
          {t("lore.takeTheirs")}
        </button>
        <button type="button" class="primary" ref={takeFocus} onClick={() => keepMine(now)}>
          {t("lore.keepMine")}
        </button>
      </div>
    </div>
  </div>
);
