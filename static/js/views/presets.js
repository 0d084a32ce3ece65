// Presets: by kind, found, looked into, edited, named, taken along, deleted, brought in. Loaded when first opened.
import { h, html, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { doneWithErrors } from "../actions/done-with.js";
import { bringPreset, readPreset, readPresets, removePreset, renamePreset, takePreset, usePreset } from "../actions/presets.js";
import { chooser } from "../lib/chooser.js";
import { addEnglish, ago, moment, t, wordFor } from "../lib/i18n.js";
import cards from "../lib/strings/en-cards.js";
import words from "../lib/strings/en-presets.js";
import editWords from "../lib/strings/en-preset-edit.js";
import { keyring } from "../lib/once.js";
import { session } from "../model/story.js";
import { copyPreset } from "../actions/preset-edit.js";
import { Held, useHeld } from "./held.js";
import { Parts } from "./json.js";
import { Blank, Modal, Waiting, icon, later } from "./parts.js";
import { DropPlace, NameForm } from "./shelf.js";
import { ScriptForm, StoryScripts } from "./scripts.js";
import { takeFocus } from "./sure.js";

/** @import { Id, Preset, WholePreset } from "../lib/wire.d.ts" */

addEnglish(words);
addEnglish(cards);
addEnglish(editWords);

const PresetEditor = later(() => import("./preset-editor.js").then((module) => module.PresetEditor));

/** In the order in which they are shown. */
const KINDS = ["openai", "textgen", "kobold", "novel", "instruct", "context", "sysprompt", "reasoning", "regex", "quickReplies", "group", "variables", "theme"];

/** @param {string} kind */
const kindName = (kind) => wordFor(`preset.kind.${kind}`) || kind;

/** @param {{presetId: Id | null}} props the one that is looked into at once */
export function Presets({ presetId }) {
  const all = useSignal(/** @type {Preset[] | null} */ (null));
  const isUnread = useSignal(false);
  const coming = useSignal(0);
  /** Files of which nobody knows yet what they are for. */
  const unsure = useSignal(/** @type {File[]} */ ([]));
  const read = async () => {
    isUnread.value = false;
    const found = await readPresets();
    if (found) all.value = found;
    isUnread.value = !found;
  };
  useEffect(() => void read(), []);
  const bring = async (/** @type {File[]} */ files, /** @type {string | undefined} */ kind) => {
    doneWithErrors();
    coming.value += 1;
    const known = new Set(all.peek()?.map(({ id }) => id));
    for (const file of files) {
      if ((await bringPreset(file, kind, known)) === "unsure") unsure.value = [...unsure.peek(), file];
    }
    coming.value -= 1;
    await read();
  };
  const answered = (/** @type {File} */ file, /** @type {string | null} */ kind) => {
    unsure.value = unsure.peek().filter((one) => one !== file);
    if (kind) void bring([file], kind);
  };
  const choose = useRef(chooser((files) => bring(files, undefined), { accept: ".json" })).current;
  const isWriting = useSignal(false);
  const written = async (/** @type {boolean} */ isSaved) => {
    if (isSaved) await read();
    isWriting.value = false;
    first.current?.focus();
  };
  const first = useRef(/** @type {HTMLElement | null} */ (null));
  const drop = async (/** @type {Preset} */ preset) => {
    // What was pressed goes with its row.
    if (await removePreset(preset, read)) first.current?.focus();
  };
  /** The one that is being edited, and the one that was, where the keyboard comes back to. */
  const editing = useSignal(/** @type {Id | null} */ (null));
  const last = useSignal(/** @type {Id | null} */ (null));
  const back = () => {
    last.value = editing.peek();
    editing.value = null;
    void read();
  };
  const open = (/** @type {Id} */ id) => {
    editing.value = id;
    // It is called what the list calls it.
    if (!all.peek()?.some((preset) => preset.id === id)) void read();
  };
  const keyFor = useRef(keyring()).current;
  const begin = async () => {
    const made = await copyPreset("own", freeName(all.peek() ?? []), keyFor);
    if (made) open(made.id);
  };
  const list = all.value;
  const at = editing.value;
  const title = list?.find(({ id }) => id === at)?.name ?? t("command.presets");
  if (at) return h(Modal, { title, class: "wide lore presets", keeps: true }, h(PresetEditor, { key: at, id: at, back, goTo: open }));
  return h(Modal, { title: t("command.presets"), class: "wide lore presets", keeps: true }, h(DropPlace, { text: "preset.drop", bring: (files) => bring(files, undefined) }, html`<p class="aside">${t("preset.text")}</p>
    <div class="actions start"><button type="button" onClick=${begin}>${icon("plus")}<span>${t("presetEdit.begin")}</span></button><button type="button" ref=${first} onClick=${choose}>${icon("upload")}<span>${t("preset.bring")}</span></button><button type="button" aria-expanded=${isWriting.value} onClick=${() => (isWriting.value = !isWriting.peek())}>${icon("edit")}<span>${t("script.new")}</span></button></div>
    ${isWriting.value && h(ScriptForm, { id: null, done: written })}${h(StoryScripts, {})}
    ${coming.value > 0 && html`<p class="aside" role="status">${t("preset.coming")}</p>`}
    ${unsure.value.map((file) => h(Unsure, { key: file, file, answer: (kind) => answered(file, kind) }))}
    ${isUnread.value && h(Blank, { symbol: "warning", title: t("preset.unread") }, html`<button type="button" class="primary" onClick=${read}>${t("retry")}</button>`)}
    ${list === null ? !isUnread.value && h(Waiting, { rows: 3 }) : list.length === 0 ? h(Blank, { symbol: "preset", title: t("preset.empty"), hint: t("preset.emptyHint") }) : h(Shelf, { list, presetId, last: last.value, read, drop, edit: open })}`));
}

/** @param {{file: File, answer: (kind: string | null) => void}} props */
function Unsure({ file, answer }) {
  const keep = (/** @type {Event} */ event) => {
    event.preventDefault();
    answer(String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("kind")));
  };
  return html`<form class="elsewhere unsure" onSubmit=${keep}><label>${t("preset.unsure", { name: file.name })}<select name="kind" ref=${takeFocus}>${KINDS.map((kind) => html`<option key=${kind} value=${kind}>${kindName(kind)}</option>`)}</select></label>
    <div class="actions"><button type="button" onClick=${() => answer(null)}>${t("cancel")}</button><button class="primary">${t("preset.keep")}</button></div></form>`;
}

/** A name that no preset has. @param {Preset[]} all */
function freeName(all) {
  const taken = new Set(all.map(({ name }) => name));
  const name = (/** @type {number} */ n) => (n === 1 ? t("presetEdit.own") : `${t("presetEdit.own")} ${n}`);
  let n = 1;
  while (taken.has(name(n))) n += 1;
  return name(n);
}

/** @param {{list: Preset[], presetId: Id | null, last: Id | null, read: () => unknown, drop: (preset: Preset) => unknown, edit: (id: Id) => void}} props */
function Shelf({ list, presetId, last, read, drop, edit }) {
  const query = useSignal("");
  const wanted = useSignal("");
  const words = query.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const found = list.filter(({ kind, name }) => (!wanted.value || kind === wanted.value) && words.every((word) => name.toLocaleLowerCase().includes(word)));
  const kinds = KINDS.filter((kind) => list.some((preset) => preset.kind === kind));
  const seek = (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    // What is looked for is no text that could be lost.
    field.defaultValue = field.value;
    query.value = field.value;
  };
  const choose = (/** @type {Event} */ event) => (wanted.value = /** @type {HTMLSelectElement} */ (event.target).value);
  const held = useHeld(list);
  const row = (/** @type {Preset} */ preset) => h(Row, { key: preset.id, preset, heldBy: held?.id === preset.id ? held.model : null, isOpened: preset.id === presetId, isLast: preset.id === last, read, drop: () => drop(preset), edit: () => edit(preset.id) });
  return html`<search class="sieve"><div class="row"><input type="search" aria-label=${t("preset.find")} placeholder=${t("preset.find")} value=${query.value} onInput=${seek} />
      <select aria-label=${t("preset.kind")} value=${wanted.value} onChange=${choose}><option value="">${t("preset.all")}</option>${kinds.map((kind) => html`<option key=${kind} value=${kind}>${kindName(kind)}</option>`)}</select></div></search>
    <p class="aside" role="status">${found.length === 0 ? t("preset.none") : t("preset.count", { n: found.length })}</p>
    ${kinds.map((kind) => {
      const some = found.filter((preset) => preset.kind === kind);
      return some.length > 0 && html`<section key=${kind} aria-label=${kindName(kind)}><h3>${kindName(kind)} <small>${some.length}</small></h3><ul>${some.map(row)}</ul></section>`;
    })}`;
}

/** @param {{preset: Preset, heldBy: string | null, isOpened: boolean, isLast: boolean, read: () => unknown, drop: () => unknown, edit: () => void}} props */
function Row({ preset: { id, kind, name, file, models = [], updatedAt }, heldBy, isOpened, isLast, read, drop, edit }) {
  const naming = useSignal(false);
  const looking = useSignal(isOpened);
  const rename = useRef(/** @type {HTMLElement | null} */ (null));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (isOpened) box.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const done = () => {
    naming.value = false;
    rename.current?.focus();
  };
  const written = async (/** @type {boolean} */ isSaved) => {
    if (isSaved) await read();
    done();
  };
  const save = async (/** @type {string} */ next) => {
    if (next !== name && !(await renamePreset(id, next))) return;
    await read();
    done();
  };
  // Only these make prompts.
  const mayServe = kind === "openai" && session.value !== null;
  const isScript = kind === "regex";
  const serves = session.value?.presetId === id;
  return html`<li class="fragment" ref=${box}><article aria-label=${name}><h4>${name}${(serves || heldBy !== null) && html` <span class="chip on">${t("preset.used")}</span>`}</h4>
    <p class="aside">${file && html`${file} · `}<time datetime=${updatedAt} title=${moment(updatedAt)}>${ago(updatedAt, Date.now())}</time></p>${models.length > 0 && html`<p class="aside">${t("presetEdit.for", { models: models.join(", ") })}</p>`}${heldBy !== null && h(Held, { model: heldBy })}
    <div class="actions">${mayServe && html`<button type="button" aria-pressed=${serves} onClick=${() => usePreset(serves ? null : id)}>${icon("play")}<span>${t(serves ? "preset.unuse" : "preset.use")}</span></button>`}${kind === "openai" && html`<button type="button" ref=${isLast ? takeFocus : null} onClick=${edit}>${icon("edit")}<span>${t("presetEdit.edit")}</span></button>`}<button type="button" ref=${isOpened ? takeFocus : null} aria-expanded=${looking.value} onClick=${() => (looking.value = !looking.peek())}>${icon("eye")}<span>${t("preset.look")}</span></button>
      <button type="button" ref=${rename} aria-expanded=${naming.value} onClick=${() => (naming.value = !naming.peek())}>${icon("edit")}<span>${t(isScript ? "script.edit" : "preset.rename")}</span></button>
      <button type="button" onClick=${() => takePreset(id)}>${icon("download")}<span>${t("preset.take")}</span></button>
      <button type="button" onClick=${drop}>${icon("trash")}<span>${t("preset.delete")}</span></button></div>
    ${naming.value && (isScript ? h(ScriptForm, { id, done: written }) : h(NameForm, { name, save, done }))}${looking.value && h(Contents, { id, close: () => (looking.value = false) })}</article></li>`;
}

/** All that one says. @param {{id: Id, close: () => void}} props */
function Contents({ id, close }) {
  const whole = useSignal(/** @type {WholePreset | null} */ (null));
  useEffect(() => void readPreset(id).then((found) => (found ? (whole.value = found) : close())), []);
  if (!whole.value) return h(Waiting, { rows: 2 });
  const { body } = whole.value;
  return Object.keys(body).length > 0 ? h(Parts, { value: body }) : html`<p class="aside">${t("preset.nothing")}</p>`;
}
