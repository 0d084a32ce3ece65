// Presets: listed by kind, searched, viewed, edited, renamed, exported, deleted and imported. Loaded when first opened.
import { Fragment, h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { takeSamplers } from "../actions/generation.ts";
import { clearDialogErrors } from "../actions/dialog-errors.ts";
import {
  askForPresetScripts,
  importPreset,
  readPreset,
  readPresets,
  removePreset,
  renamePreset,
  downloadPreset,
  setSessionPreset,
} from "../actions/presets.ts";
import { filePicker } from "../lib/file-picker.ts";
import { addEnglish, ago, moment, t, optionalText } from "../lib/i18n.ts";
import cards from "../lib/strings/en-cards.ts";
import words from "../lib/strings/en-presets.ts";
import editWords from "../lib/strings/en-preset-edit.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import { session } from "../model/session-store.ts";
import { copyPreset } from "../actions/preset-edit.ts";
import { ModelPresetNote, useModelPreset } from "./model-preset.tsx";
import { JsonParts } from "./json.tsx";
import { EmptyState, Modal, LoadingRows, icon, lazyView } from "./common.tsx";
import { NotSent } from "./not-sent.tsx";
import { FileDropArea, NameForm } from "./list-parts.tsx";
import { ScriptForm, SessionScripts } from "./regex-scripts.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Id, Preset, PresetContent } from "../lib/wire.d.ts";

addEnglish(words);
addEnglish(cards);
addEnglish(editWords);

const PresetEditor = lazyView(() => import("./preset-editor.tsx").then((module) => module.PresetEditor));

/** The kinds of presets, in display order. */
const KINDS = [
  "openai",
  "textgen",
  "kobold",
  "novel",
  "instruct",
  "context",
  "sysprompt",
  "reasoning",
  "regex",
  "quickReplies",
  "group",
  "variables",
  "theme",
];

/** The kinds with samplers alone, which a story can take over. */
const SAMPLER_KINDS = new Set(["textgen", "kobold", "novel"]);

const kindName = (kind: string) => optionalText(`preset.kind.${kind}`) || kind;

/**
 * Renders the presets.
 * @param props the id of the preset that is opened at once
 */
export function Presets({ presetId }: { presetId: Id | null }) {
  const all = useSignal<Preset[] | null>(null);
  const isUnread = useSignal(false);
  const coming = useSignal(0);
  /** Imported files whose kind is not known yet. */
  const unsure = useSignal<File[]>([]);
  const read = async () => {
    isUnread.value = false;
    const found = await readPresets();
    if (found) all.value = found;
    isUnread.value = !found;
  };
  useEffect(() => void read(), []);
  const bring = async (files: File[], kind: string | undefined) => {
    clearDialogErrors();
    coming.value += 1;
    const known = new Set(all.peek()?.map(({ id }) => id));
    for (const file of files) {
      if ((await importPreset(file, kind, known)) === "unsure") unsure.value = [...unsure.peek(), file];
    }
    coming.value -= 1;
    await read();
  };
  const answered = (file: File, kind: string | null) => {
    unsure.value = unsure.peek().filter((one) => one !== file);
    if (kind) void bring([file], kind);
  };
  const choose = useRef(filePicker((files) => bring(files, undefined), { accept: ".json" })).current;
  const isWriting = useSignal(false);
  const written = async (isSaved: boolean) => {
    if (isSaved) await read();
    isWriting.value = false;
    first.current?.focus();
  };
  const first = useRef<HTMLButtonElement | null>(null);
  const drop = async (preset: Preset) => {
    // The pressed button disappears with its row.
    if (await removePreset(preset, read)) first.current?.focus();
  };
  /** The preset being edited, and the one edited before, to which the focus returns. */
  const editing = useSignal<Id | null>(null);
  const last = useSignal<Id | null>(null);
  const back = () => {
    last.value = editing.peek();
    editing.value = null;
    void read();
  };
  const open = (id: Id) => {
    editing.value = id;
    // The title shows the name in the list, so a list without this preset is read again.
    if (!all.peek()?.some((preset) => preset.id === id)) void read();
  };
  const keyFor = useRef(idempotencyKeys()).current;
  const begin = async () => {
    const result = await copyPreset("own", freeName(all.peek() ?? []), keyFor);
    if (result) open(result.id);
  };
  const list = all.value;
  const at = editing.value;
  const title = list?.find(({ id }) => id === at)?.name ?? t("command.presets");
  if (at)
    return (
      <Modal title={title} class="wide lore presets" keeps>
        <PresetEditor key={at} id={at} back={back} goTo={open} />
      </Modal>
    );
  return (
    <Modal title={t("command.presets")} class="wide lore presets" keeps>
      <FileDropArea text="preset.drop" onFiles={(files) => bring(files, undefined)}>
        <p class="aside">{t("preset.text")}</p>
        <div class="actions start">
          <button type="button" onClick={begin}>
            {icon("plus")}
            <span>{t("presetEdit.begin")}</span>
          </button>
          <button type="button" ref={first} onClick={choose}>
            {icon("upload")}
            <span>{t("preset.bring")}</span>
          </button>
          <button type="button" aria-expanded={isWriting.value} onClick={() => (isWriting.value = !isWriting.peek())}>
            {icon("edit")}
            <span>{t("script.new")}</span>
          </button>
        </div>
        {isWriting.value && <ScriptForm id={null} done={written} />}
        <SessionScripts />
        {coming.value > 0 && (
          <p class="aside" role="status">
            {t("preset.coming")}
          </p>
        )}
        {unsure.value.map((file) => (
          <TypeQuestion key={file} file={file} answer={(kind) => answered(file, kind)} />
        ))}
        {isUnread.value && (
          <EmptyState symbol="warning" title={t("preset.unread")}>
            <button type="button" class="primary" onClick={read}>
              {t("retry")}
            </button>
          </EmptyState>
        )}
        {list === null ? (
          !isUnread.value && <LoadingRows rows={3} />
        ) : list.length === 0 ? (
          <EmptyState symbol="preset" title={t("preset.empty")} hint={t("preset.emptyHint")} />
        ) : (
          <PresetList list={list} presetId={presetId} last={last.value} read={read} drop={drop} edit={open} />
        )}
      </FileDropArea>
    </Modal>
  );
}

function TypeQuestion({ file, answer }: { file: File; answer: (kind: string | null) => void }) {
  const keep = (event: Event) => {
    event.preventDefault();
    answer(String(new FormData(event.target as HTMLFormElement).get("kind")));
  };
  return (
    <form class="elsewhere unsure" onSubmit={keep}>
      <label>
        {t("preset.unsure", { name: file.name })}
        <select name="kind" ref={takeFocus}>
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {kindName(kind)}
            </option>
          ))}
        </select>
      </label>
      <div class="actions">
        <button type="button" onClick={() => answer(null)}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("preset.keep")}
        </button>
      </div>
    </form>
  );
}

/** Returns a name that no preset has. */
function freeName(all: Preset[]) {
  const taken = new Set(all.map(({ name }) => name));
  const name = (n: number) => (n === 1 ? t("presetEdit.own") : `${t("presetEdit.own")} ${n}`);
  let n = 1;
  while (taken.has(name(n))) n += 1;
  return name(n);
}

interface PresetListProps {
  list: Preset[];
  presetId: Id | null;
  last: Id | null;
  read: () => unknown;
  drop: (preset: Preset) => unknown;
  edit: (id: Id) => void;
}

function PresetList({ list, presetId, last, read, drop, edit }: PresetListProps) {
  const query = useSignal("");
  const wanted = useSignal("");
  const words = query.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const found = list.filter(
    ({ kind, name }) =>
      (!wanted.value || kind === wanted.value) && words.every((word) => name.toLocaleLowerCase().includes(word)),
  );
  const kinds = KINDS.filter((kind) => list.some((preset) => preset.kind === kind));
  const seek = (event: Event) => {
    const field = event.target as HTMLInputElement;
    // A search text may be lost without a question.
    field.defaultValue = field.value;
    query.value = field.value;
  };
  const choose = (event: Event) => (wanted.value = (event.target as HTMLSelectElement).value);
  const held = useModelPreset(list);
  const row = (preset: Preset) => (
    <Row
      key={preset.id}
      preset={preset}
      heldBy={held?.id === preset.id ? held.model : null}
      isOpened={preset.id === presetId}
      isLast={preset.id === last}
      read={read}
      drop={() => drop(preset)}
      edit={() => edit(preset.id)}
    />
  );
  return (
    <>
      <search class="sieve">
        <div class="row">
          <input
            type="search"
            aria-label={t("preset.find")}
            placeholder={t("preset.find")}
            value={query.value}
            onInput={seek}
          />
          <select aria-label={t("preset.kind")} value={wanted.value} onChange={choose}>
            <option value="">{t("preset.all")}</option>
            {kinds.map((kind) => (
              <option key={kind} value={kind}>
                {kindName(kind)}
              </option>
            ))}
          </select>
        </div>
      </search>
      <p class="aside" role="status">
        {found.length === 0 ? t("preset.none") : t("preset.count", { n: found.length })}
      </p>
      {kinds.map((kind) => {
        const some = found.filter((preset) => preset.kind === kind);
        return (
          some.length > 0 && (
            <section key={kind} aria-label={kindName(kind)}>
              <h3>
                {kindName(kind)} <small>{some.length}</small>
              </h3>
              <ul>{some.map(row)}</ul>
            </section>
          )
        );
      })}
    </>
  );
}

interface RowProps {
  preset: Preset;
  heldBy: string | null;
  isOpened: boolean;
  isLast: boolean;
  read: () => unknown;
  drop: () => unknown;
  edit: () => void;
}

function Row({ preset, heldBy, isOpened, isLast, read, drop, edit }: RowProps) {
  const { id, kind, name, file, models = [], regexScripts, updatedAt } = preset;
  const naming = useSignal(false);
  const looking = useSignal(isOpened);
  const rename = useRef<HTMLButtonElement | null>(null);
  const box = useRef<HTMLLIElement | null>(null);
  useLayoutEffect(() => {
    if (isOpened) box.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const done = () => {
    naming.value = false;
    rename.current?.focus();
  };
  const written = async (isSaved: boolean) => {
    if (isSaved) await read();
    done();
  };
  const save = async (next: string) => {
    if (next !== name && !(await renamePreset(id, next))) return;
    await read();
    done();
  };
  // Only this kind makes prompts.
  const mayServe = kind === "openai" && session.value !== null;
  const isScript = kind === "regex";
  const serves = session.value?.presetId === id;
  return (
    <li class="fragment" ref={box}>
      <article aria-label={name}>
        <h4>
          {name}
          {(serves || heldBy !== null) && (
            <>
              {" "}
              <span class="chip on">{t("preset.used")}</span>
            </>
          )}
        </h4>
        <p class="aside">
          {file && <>{file} · </>}
          <time datetime={updatedAt} title={moment(updatedAt)}>
            {ago(updatedAt, Date.now())}
          </time>
        </p>
        {models.length > 0 && <p class="aside">{t("presetEdit.for", { models: models.join(", ") })}</p>}
        {heldBy !== null && <ModelPresetNote model={heldBy} />}
        {regexScripts === false && (
          <p class="aside">
            {t("script.waits")}{" "}
            <button type="button" class="link" onClick={() => askForPresetScripts([id])}>
              {t("preset.scriptsLook")}
            </button>
          </p>
        )}
        <div class="actions">
          {mayServe && (
            <button type="button" aria-pressed={serves} onClick={() => setSessionPreset(serves ? null : id)}>
              {icon("play")}
              <span>{t(serves ? "preset.unuse" : "preset.use")}</span>
            </button>
          )}
          {SAMPLER_KINDS.has(kind) && session.value !== null && (
            <button type="button" onClick={() => takeSamplers(preset)}>
              {icon("play")}
              <span>{t("preset.takeSamplers")}</span>
            </button>
          )}
          {kind === "openai" && (
            <button type="button" ref={isLast ? takeFocus : null} onClick={edit}>
              {icon("edit")}
              <span>{t("presetEdit.edit")}</span>
            </button>
          )}
          <button
            type="button"
            ref={isOpened ? takeFocus : null}
            aria-expanded={looking.value}
            onClick={() => (looking.value = !looking.peek())}
          >
            {icon("eye")}
            <span>{t("preset.look")}</span>
          </button>
          <button
            type="button"
            ref={rename}
            aria-expanded={naming.value}
            onClick={() => (naming.value = !naming.peek())}
          >
            {icon("edit")}
            <span>{t(isScript ? "script.edit" : "preset.rename")}</span>
          </button>
          <button type="button" onClick={() => downloadPreset(id)}>
            {icon("download")}
            <span>{t("preset.take")}</span>
          </button>
          <button type="button" onClick={drop}>
            {icon("trash")}
            <span>{t("preset.delete")}</span>
          </button>
        </div>
        {naming.value &&
          (isScript ? <ScriptForm id={id} done={written} /> : <NameForm name={name} onSave={save} onClose={done} />)}
        {looking.value && <Contents id={id} kind={kind} close={() => (looking.value = false)} />}
      </article>
    </li>
  );
}

/** Shows all fields of a preset. */
function Contents({ id, kind, close }: { id: Id; kind: string; close: () => void }) {
  const whole = useSignal<PresetContent | null>(null);
  useEffect(() => void readPreset(id).then((found) => (found ? (whole.value = found) : close())), []);
  if (!whole.value) return <LoadingRows rows={2} />;
  const { body } = whole.value;
  return (
    <>
      {(kind === "openai" || SAMPLER_KINDS.has(kind)) && <NotSent key={session.value?.model} id={id} />}
      {Object.keys(body).length > 0 ? <JsonParts value={body} /> : <p class="aside">{t("preset.nothing")}</p>}
    </>
  );
}
