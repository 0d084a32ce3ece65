// The workshop of those who write rules: a plugin, its files, what is wrong with them, and what they would do in the open story.
// Nothing is written before a file is saved. Loaded when first opened.
import { h, html, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { doneWithErrors } from "../actions/done-with.js";
import { check, readFile, readPlugin, readPlugins, readReference, saveFile } from "../actions/workshop.js";
import { addEnglish, t } from "../lib/i18n.js";
import words from "../lib/strings/en-workshop.js";
import { sentence } from "../lib/text.js";
import { begunAs, keepBegun } from "../model/begun.js";
import { tell } from "../model/page.js";
import { ApiError } from "../net/api.js";
import { Code } from "./code.js";
import { Fault } from "./fault.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";
import { Failed, useReading } from "./reading.js";
import { Sure } from "./sure.js";
import { About, hookWords } from "./workshop-about.js";
import { Replay } from "./workshop-replay.js";
import { Tests } from "./workshop-tests.js";
import { Try } from "./workshop-try.js";

/** @import { PluginChecked, PluginDetail, PluginInfo, ScriptError, Texts } from "../lib/wire.d.ts" */
/** @import { Place } from "./code.js" */

addEnglish(words);

/** So long nothing is typed before the text is checked, in milliseconds. */
const PAUSE = 700;
/** The names under which is kept what was begun. */
const BEGUN = "workshop.";
/** Of a plugin that cannot be read nobody knows the files; most have these. */
const USUAL = ["main.rhai", "plugin.toml", "state.schema.json"];

/** @param {{pluginId: string | null}} props */
export function Workshop({ pluginId }) {
  const found = useReading(readPlugins, "plugins");
  const wanted = useSignal(pluginId);
  const modal = (/** @type {any} */ inside) => h(Modal, { title: t("command.workshop"), class: "widest workshop" }, inside);
  if (found === null) return modal(h(Waiting, { rows: 4 }));
  if (found instanceof ApiError) return modal(h(Failed, { error: found }));
  // What can be changed comes first.
  const all = [...found].sort((one, two) => Number(isOwn(two)) - Number(isOwn(one)));
  const id = all.find((one) => one.id === wanted.value)?.id ?? all[0]?.id;
  if (id === undefined) return modal(h(Blank, { symbol: "plug", title: t("workshop.none"), hint: t("workshop.noneHint") }));
  const pick = (/** @type {Event} */ event) => (wanted.value = /** @type {HTMLSelectElement} */ (event.target).value);
  return modal(html`<p class="aside">${t("workshop.text")}</p>
    <label class="of-plugin">${t("workshop.plugin")}<select value=${id} onChange=${pick}>${all.map((one) => html`<option key=${one.id} value=${one.id} selected=${one.id === id}>${nameOf(one)}</option>`)}</select></label>
    ${h(Bench, { key: id, id })}`);
}

/** @param {PluginInfo} plugin */
const isOwn = (plugin) => /** @type {PluginDetail} */ (plugin).origin === "folder";

/** @param {PluginInfo} plugin */
const nameOf = (plugin) => [plugin.title || plugin.id, plugin.title && plugin.title.toLowerCase() !== plugin.id ? `(${plugin.id})` : "", plugin.isOk === false ? t("workshop.broken") : "", isOwn(plugin) ? "" : t("workshop.bundled")].filter(Boolean).join(" ");

/** @param {{id: string}} props */
function Bench({ id }) {
  /** Grows when the plugin is another one: a file of it was saved. */
  const age = useSignal(0);
  const last = useRef(/** @type {PluginDetail | null} */ (null));
  const found = useReading(() => readPlugin(id), `${id} ${age.value}`);
  if (found instanceof ApiError) return h(Failed, { error: found });
  if (found) last.current = found;
  return last.current ? h(Table, { plugin: last.current, renew: () => (age.value += 1) }) : h(Waiting, { rows: 6 });
}

/** @typedef {"about" | "try" | "tests" | "replay"} Side */
/** @type {Side[]} */
const SIDES = ["about", "try", "tests", "replay"];

/** @param {{plugin: PluginDetail, renew: () => void}} props */
function Table({ plugin, renew }) {
  const { id } = plugin;
  /** Those that are not as they are saved. It outlasts a reload. */
  const texts = useSignal(/** @type {Texts} */ (begunAs(BEGUN + id) ?? {}));
  const checked = useSignal(/** @type {PluginChecked | null} */ (null));
  const isChecking = useSignal(false);
  const side = useSignal(/** @type {Side} */ (SIDES[0] ?? "about"));
  const at = useSignal(/** @type {(Place & {path: string}) | null} */ (null));
  const put = (/** @type {Texts} */ next) => {
    texts.value = next;
    keepBegun(BEGUN + id, Object.keys(next).length ? next : null);
  };
  const look = async () => {
    const asked = texts.peek();
    isChecking.value = true;
    const answer = await check(id, asked);
    // Of what was typed meanwhile it says nothing.
    if (asked !== texts.peek()) return;
    isChecking.value = false;
    checked.value = answer ?? null;
  };
  useEffect(() => {
    if (checked.peek() === null) return void look();
    const later = setTimeout(look, PAUSE);
    return () => clearTimeout(later);
  }, [texts.value, plugin.codeHash]);
  const faults = checked.value ? [...(checked.value.error ? [checked.value.error] : []), ...checked.value.warnings] : [];
  const jump = (/** @type {ScriptError | {file?: string | null, line?: number | null, column?: number | null}} */ { file, line, column }) => {
    if (file) at.value = { path: file, line: line ?? 1, column: column ?? 0, n: (at.peek()?.n ?? 0) + 1 };
  };
  const hooks = checked.value?.isOk ? checked.value.hooks : (plugin.hooks ?? []);
  const turn = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    side.value = SIDES[(SIDES.indexOf(side.peek()) + step + SIDES.length) % SIDES.length] ?? "about";
    document.getElementById(`workshop-${side.peek()}`)?.focus();
  };
  return html`<div class="bench">
    <section class="bench-code" aria-label=${t("workshop.code")}>${h(Files, { plugin, texts: texts.value, put, faults, bad: checked.value?.error ?? null, at: at.value, renew })}
      ${h(Findings, { checked: checked.value, isChecking: isChecking.value, isChanged: Object.keys(texts.value).length > 0, faults, jump, look })}</section>
    <section class="bench-side"><div class="tabs" role="tablist" aria-label=${t("workshop.sides")} onKeyDown=${turn}>${SIDES.map((one) => html`<button key=${one} type="button" role="tab" id=${`workshop-${one}`} aria-selected=${side.value === one} aria-controls="workshop-side" tabindex=${side.value === one ? 0 : -1} onClick=${() => (side.value = one)}>${t(`workshop.${one}`)}</button>`)}</div>
      <div id="workshop-side" class="tabpanel" role="tabpanel" aria-labelledby=${`workshop-${side.value}`} tabindex="0">
        ${side.value === "about" && h(About, { plugin, texts: texts.value })}
        ${side.value === "try" && h(Try, { plugin, hooks, texts: texts.value, jump })}
        ${side.value === "tests" && h(Tests, { plugin, texts: texts.value, jump })}
        ${side.value === "replay" && h(Replay, { plugin, texts: texts.value, jump })}</div></section></div>`;
}

/** What a look at the code found. @param {{checked: PluginChecked | null, isChecking: boolean, isChanged: boolean, faults: ScriptError[], jump: (fault: ScriptError) => void, look: () => unknown}} props */
function Findings({ checked, isChecking, isChanged, faults, jump, look }) {
  const said = isChecking ? t("workshop.checking") : !checked ? "" : faults.length > 0 ? t(checked.isOk ? "workshop.odd" : "workshop.bad", { n: faults.length }) : t(isChanged ? "workshop.goodUnsaved" : "workshop.good");
  return html`<div class="findings"><div class="actions start"><button type="button" onClick=${look}>${icon("check")}<span>${t("workshop.check")}</span></button><p role="status" class=${!isChecking && checked && !checked.isOk ? "bad" : "aside"}>${said}</p></div>
    ${faults.length > 0 && html`<ul aria-label=${t("workshop.faults")}>${faults.map((fault, i) => h(Fault, { key: i, fault, isBad: fault === checked?.error, jump }))}</ul>`}</div>`;
}

/** @param {{plugin: PluginDetail, texts: Texts, put: (next: Texts) => void, faults: ScriptError[], bad: ScriptError | null, at: (Place & {path: string}) | null, renew: () => void}} props */
function Files({ plugin, texts, put, faults, bad, at, renew }) {
  const { id } = plugin;
  const known = plugin.files?.length ? plugin.files : USUAL;
  const paths = [...new Set([...known, ...(plugin.error?.file ? [plugin.error.file] : []), ...Object.keys(texts), ...(at ? [at.path] : [])])].sort(inOrder);
  const open = useSignal(paths[0] ?? "main.rhai");
  const path = open.value;
  useLayoutEffect(() => {
    if (at) open.value = at.path;
  }, [at?.n]);
  const age = useSignal(0);
  const found = useReading(async () => ({ path, of: age.peek(), was: await readFile(id, path) }), `${path} ${age.value}`);
  const naming = useSignal(false);
  const add = (/** @type {Event} */ event) => {
    event.preventDefault();
    const name = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("path") ?? "").trim();
    if (!name) return;
    naming.value = false;
    if (!(name in texts) && !known.includes(name)) put({ ...texts, [name]: "" });
    open.value = name;
  };
  /** What was saved and is not read again yet. */
  const saved = useRef("");
  const was = found && !(found instanceof ApiError) && found.path === path ? (found.of < age.value ? saved.current : (found.was ?? "")) : null;
  const text = texts[path] ?? was;
  const told = useReading(readReference, "reference");
  const settings = (plugin.config ?? []).map(({ name }) => name);
  const knows = told && !(told instanceof ApiError) ? { reference: told, settings, values: Object.keys(plugin.schema?.properties ?? {}), words: hookWords } : null;
  const states = useRef(new Map());
  const saving = useRef(() => {});
  const change = (/** @type {string} */ of, /** @type {string} */ next) => {
    if (of === path) put(next === was ? without(texts, path) : { ...texts, [path]: next });
  };
  const pick = (/** @type {Event} */ event) => (open.value = /** @type {HTMLSelectElement} */ (event.target).value);
  const isOwn = plugin.origin === "folder";
  const own = faults.filter((fault) => fault.file === path && fault.line);
  const isClosed = found instanceof ApiError && found.code === "forbidden";
  return html`<div class="file-row"><label>${t("workshop.file")}<select value=${path} onChange=${pick}>${paths.map((one) => html`<option key=${one} value=${one} selected=${one === path}>${one in texts ? t("workshop.changedFile", { path: one }) : one}</option>`)}</select></label>
      ${isOwn && html`<button type="button" class="round" aria-label=${t("workshop.newFile")} title=${t("workshop.newFile")} aria-expanded=${naming.value} onClick=${() => (naming.value = !naming.peek())}>${icon("plus")}</button>`}</div>
    ${naming.value && html`<form class="file-row" onSubmit=${add}><label>${t("workshop.newPath")}<input name="path" required maxlength="120" placeholder="lib/words.rhai" autofocus /></label><button class="primary">${t("workshop.begin")}</button></form>`}
    ${!isOwn && html`<p class="aside">${t("workshop.insideHint")}</p>`}
    ${text !== null && (was !== null || path in texts) && !isClosed ? h(Code, { states: states.current, path, label: t("workshop.textOf", { path }), text, put: change, save: () => saving.current(), faults: own, bad, known: knows, at: at?.path === path ? at : null })
      : isClosed ? h(Blank, { symbol: "plug", title: t("workshop.notYours"), hint: t("workshop.notYoursHint") })
      : found instanceof ApiError ? h(Failed, { error: found }) : h(Waiting, { rows: 6 })}
    ${path in texts && was !== null && h(Unsaved, { key: path, saving, plugin, path, was, text: texts[path] ?? "", keep: () => put(texts), drop: () => put(without(texts, path)), renew: (of) => ((saved.current = of), (age.value += 1), put(without(texts, path)), renew()) })}`;
}

/** Rules first, then who it is, then the rest by name. @param {string} one @param {string} two */
const inOrder = (one, two) => weight(one) - weight(two) || one.localeCompare(two);
/** @param {string} path */
const weight = (path) => (path === "main.rhai" ? 0 : path === "plugin.toml" ? 1 : path.endsWith(".rhai") ? 2 : path.endsWith(".json") && !path.includes("/") ? 3 : 4);

/** @param {Texts} texts @param {string} path @returns {Texts} */
const without = (texts, path) => Object.fromEntries(Object.entries(texts).filter(([one]) => one !== path));

/** What can become of a text that is not saved. @param {{saving: {current: () => void}, plugin: PluginDetail, path: string, was: string, text: string, keep: () => void, drop: () => void, renew: (text: string) => void}} props */
function Unsaved({ saving, plugin, path, was, text, keep, drop, renew }) {
  const isOther = useSignal(false);
  const busy = useRef(false);
  const save = async (/** @type {boolean} */ isSure) => {
    if (busy.current) return;
    busy.current = true;
    doneWithErrors();
    const kept = await saveFile(plugin.id, path, text, isSure ? null : was);
    busy.current = false;
    isOther.value = kept === "changed";
    if (!kept || kept === "changed") return;
    renew(text);
    tell(kept.isInForce ? { tone: "quiet", text: t("workshop.saved", { path }) } : { tone: "error", text: t("workshop.savedBroken", { path }), hint: sentence(kept.error?.message) });
  };
  useLayoutEffect(() => {
    if (plugin.origin !== "folder") return;
    saving.current = () => void save(false);
    return () => (saving.current = () => {});
  });
  const back = () => {
    drop();
    tell({ tone: "quiet", text: t("workshop.dropped.text", { path }), act: { label: "command.undo", run: keep } });
  };
  return html`<div class="actions"><p class="aside">${t(plugin.origin === "folder" ? "workshop.unsaved" : "workshop.unsavedInside")}</p>
    <button type="button" onClick=${back}>${icon("undo")}<span>${t("workshop.back")}</span></button>
    ${plugin.origin === "folder" && html`<button type="button" class="primary" onClick=${() => save(false)}>${t("workshop.save")}</button>`}</div>
    ${isOther.value && h(Sure, { text: t("workshop.otherText", { path }), yes: t("workshop.otherYes"), no: t("workshop.otherNo"), act: () => save(true), keep: () => (isOther.value = false) })}`;
}
