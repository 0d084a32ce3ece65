// The rules of a story: which plugins play, what they may do, how they are set. Loaded when first opened.
import { h, html, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { doneWithErrors } from "../actions/done-with.js";
import { readHosts } from "../actions/library.js";
import { keepRules, keepValuesBy, readRules, readSettings, withRefused } from "../actions/rules.js";
import { addEnglish, locale, said, t, wordFor } from "../lib/i18n.js";
import { titlesOf } from "../lib/judged.js";
import words from "../lib/strings/en-rules.js";
import { sentence } from "../lib/text.js";
import { models, spokenModels } from "../model/library.js";
import { openDialog, tell } from "../model/page.js";
import { session } from "../model/story.js";
import { ApiError } from "../net/api.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";
import { Failed, useReading } from "./reading.js";

/** @import { ConfigField, Json, PluginChoice, PluginDetail, PluginInfo } from "../lib/wire.d.ts" */

addEnglish(words);

export function Rules() {
  const age = useSignal(0);
  const found = useReading(readRules, `rules ${age.value}`);
  const modal = (/** @type {any} */ inside) => h(Modal, { title: t("command.rules"), class: "wide rules", keeps: true }, inside);
  if (found === null) return modal(h(Waiting, { rows: 4 }));
  if (found instanceof ApiError) return modal(h(Failed, { error: found }));
  return modal(h(Form, { key: age.value, ...found, again: () => (age.value += 1) }));
}

/** @param {{all: PluginInfo[], chosen: PluginChoice[], again: () => void}} props */
function Form({ all, chosen, again }) {
  const wanted = useRef(chosen);
  const isOther = useSignal(false);
  const busy = useRef(false);
  const teller = session.value?.model?.startsWith("plugin:") ? session.value.model.slice("plugin:".length) : null;
  // Those that tell a story of their own play in it alone.
  const isChosen = (/** @type {PluginInfo} */ one) => chosen.some(({ id }) => id === one.id);
  const offered = [...all.filter(isChosen), ...all.filter((one) => !isChosen(one) && !one.narrates && one.isOk !== false)];
  const gone = chosen.filter(({ id }) => !all.some((one) => one.id === id)).map(({ id }) => /** @type {PluginInfo} */ ({ id, isOk: false }));
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    doneWithErrors();
    const kept = await keepRules(withRefused(all, wanted.current), chosen);
    busy.current = false;
    isOther.value = kept === "changed";
    if (!Array.isArray(kept)) return;
    openDialog(null);
    const but = kept.map((one) => sentence(said(one))).join(" ");
    tell({ tone: "quiet", stays: but !== "", text: t("storyRules.kept"), hint: but });
  };
  if (offered.length + gone.length === 0) return h(Blank, { symbol: "dice", title: t("storyRules.none"), hint: t("storyRules.noneHint") });
  return html`<form onSubmit=${save}><p class="aside">${t("storyRules.text")}</p>
    ${h(Choices, { all: [...gone, ...offered], begin: chosen, teller, put: (next) => void (wanted.current = next) })}
    ${isOther.value && html`<p class="bad" role="alert">${t("storyRules.changed")} <button type="button" class="link" onClick=${again}>${t("storyRules.again")}</button></p>`}
    ${h(ValuesBy, {})}
    <div class="actions"><button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary">${t("save")}</button></div></form>`;
}

/** Who says what a reply changes; it holds at once. */
function ValuesBy() {
  useEffect(() => void (models.peek() ?? readHosts()), []);
  const now = session.value?.valuesModel ?? "";
  const names = [...new Set([now, ...spokenModels.value.map(({ id }) => id)])].filter(Boolean);
  // Its place is taken before the models are known: what grows above a button moves it away from under a finger.
  if (names.length === 0 && models.value !== null) return null;
  const choose = (/** @type {Event} */ event) => void keepValuesBy(/** @type {HTMLSelectElement} */ (event.target).value || null);
  return html`<label>${t("storyRules.valuesBy")}<select onChange=${choose}><option value="" selected=${now === ""}>${t("storyRules.valuesByTeller")}</option>
    ${names.map((name) => html`<option key=${name} value=${name} selected=${name === now}>${name}</option>`)}</select><small>${t("storyRules.valuesByHint")}</small></label>`;
}

/**
 * Plugins with a switch each; under one that is on, what it may do and how it is set.
 * @param {{all: PluginInfo[], begin: PluginChoice[], teller?: string | null, isStart?: boolean, put: (next: PluginChoice[]) => void}} props `teller`: it tells the story, and is always on; `isStart`: the story does not play yet
 */
export function Choices({ all, begin, teller = null, isStart = false, put }) {
  const chosen = useSignal(begin);
  const change = (/** @type {PluginChoice} */ next) => {
    const others = chosen.peek();
    chosen.value = others.some(({ id }) => id === next.id) ? others.map((one) => (one.id === next.id ? next : one)) : [...others, next];
    // What was never on and is not on now is no matter of the story. What is not here any more goes when it is switched off.
    const isHere = (/** @type {string} */ id) => all.some((one) => one.id === id && one.isOk !== false);
    put(chosen.peek().filter(({ id, enabled = true }) => enabled || (isHere(id) && begin.some((one) => one.id === id))));
  };
  const titles = titlesOf(all);
  return html`<ul class="choices">${all.map((info) => h(Choice, { key: info.id, info: { ...info, title: titles.get(info.id) ?? info.id }, choice: chosen.value.find(({ id }) => id === info.id) ?? null, was: begin.find(({ id }) => id === info.id) ?? null, isTeller: info.id === teller, isStart, change }))}</ul>`;
}

/** @param {{info: PluginInfo, choice: PluginChoice | null, was: PluginChoice | null, isTeller: boolean, isStart: boolean, change: (next: PluginChoice) => void}} props */
function Choice({ info, choice, was, isTeller, isStart, change }) {
  const { id, title, description, permissions = [], isOk = true } = info;
  const isOn = choice !== null && choice.enabled !== false;
  const asked = permissions.map(({ name }) => name);
  const turn = (/** @type {Event} */ event) => {
    const enabled = /** @type {HTMLInputElement} */ (event.target).checked;
    // Who switches one on sees what it asks for, ticked; what the story said of it before holds again.
    change({ ...(choice ?? { id, config: {}, grants: asked }), enabled });
  };
  const isMissing = !isOk && was !== null;
  return html`<li class="choice"><label class="check"><input type="checkbox" name="plugin" value=${id} checked=${isOn} disabled=${isTeller} onChange=${turn} /><span>${title || id}<small>${isMissing ? t("storyRules.missing") : isTeller ? t("storyRules.teller") : description}</small></span></label>
    ${isOn && isOk && html`<div class="choice-more">${asked.length > 0 && h(Grants, { permissions, granted: choice.grants ?? asked, was: was?.enabled === false ? null : (was?.grants ?? null), put: (grants) => change({ ...choice, grants }) })}
      ${h(Settings, { id, config: choice.config ?? {}, isNew: isStart || was === null, put: (config) => change({ ...choice, config }) })}</div>`}</li>`;
}

/** @param {{permissions: {name: string, words: string}[], granted: string[], was: string[] | null, put: (grants: string[]) => void}} props `was`: what the story allowed while it played */
function Grants({ permissions, granted, was, put }) {
  const turn = (/** @type {string} */ name) => (/** @type {Event} */ event) =>
    put(/** @type {HTMLInputElement} */ (event.target).checked ? [...granted, name] : granted.filter((one) => one !== name));
  return html`<fieldset><legend>${t("storyRules.asks")}</legend>${permissions.map(
    ({ name, words }) => html`<label key=${name} class="check"><input type="checkbox" checked=${granted.includes(name)} onChange=${turn(name)} /><span>${words}${was && !was.includes(name) && html` <span class="chip on">${t("storyRules.notAllowed")}</span>`}</span></label>`,
  )}${granted.length < permissions.length && html`<p class="aside">${t("storyRules.without")}</p>`}</fieldset>`;
}

/** The setting by which a plugin is told the reader's language. @param {ConfigField} field */
const isLanguage = ({ name, choices = [] }) => name === "language" && choices.includes(locale.peek());

/** @param {{id: string, config: {[key: string]: Json}, isNew: boolean, put: (config: {[key: string]: Json}) => void}} props */
function Settings({ id, config, isNew, put }) {
  const found = useSignal(/** @type {PluginDetail | null} */ (null));
  useEffect(() => void readSettings(id).then((detail) => (found.value = detail)), [id]);
  const fields = found.value?.config ?? [];
  // Before it is painted: who saves at once saves the language too.
  useLayoutEffect(() => {
    const asks = fields.some((field) => isLanguage(field) && field.default !== locale.peek());
    if (isNew && asks && config["language"] === undefined) put({ ...config, language: locale.peek() });
  }, [found.value]);
  if (fields.length === 0) return null;
  const set = (/** @type {ConfigField} */ field, /** @type {Json | undefined} */ value) => {
    const { [field.name]: _, ...others } = config;
    // What is as the plugin has it anyway is not said, so that it goes along with the plugin.
    put(value === undefined || JSON.stringify(value) === JSON.stringify(field.default) ? others : { ...others, [field.name]: value });
  };
  return html`<fieldset><legend>${t("storyRules.settings")}</legend>${fields.map((field) => h(Setting, { key: field.name, field, value: config[field.name] ?? field.default, set: (value) => set(field, value) }))}
    ${Object.keys(config).length > 0 && html`<div class="actions start"><button type="button" onClick=${() => put({})}>${icon("undo")}<span>${t("storyRules.defaults")}</span></button></div>`}</fieldset>`;
}

/** A choice in words, where the page has some. @param {ConfigField} field @param {string} choice */
function choiceName(field, choice) {
  if (choice === "true" || choice === "false") return t(choice === "true" ? "yes" : "no");
  if (field.name === "language" && /^[a-z]{2,3}(-|$)/.test(choice)) return new Intl.DisplayNames([choice], { type: "language" }).of(choice) ?? choice;
  return wordFor(`storyRules.choice.${choice}`) || choice;
}

/** @param {{field: ConfigField, value: Json, set: (value: Json | undefined) => void}} props */
function Setting({ field, value, set }) {
  const { type, label, help, min, max, choices = [] } = field;
  const text = (/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.target).value;
  const hint = help && html`<small>${help}</small>`;
  switch (type) {
    case "boolean":
      return html`<label class="check"><input type="checkbox" checked=${value === true} onChange=${(/** @type {Event} */ e) => set(/** @type {HTMLInputElement} */ (e.target).checked)} /><span>${label}${hint}</span></label>`;
    case "integer":
    case "number": {
      const range = min !== undefined && max !== undefined ? t("storyRules.range", { min, max }) : "";
      return html`<label>${label}<input type="number" required step=${type === "integer" ? 1 : "any"} min=${min} max=${max} value=${String(value)} onInput=${(/** @type {Event} */ e) => Number.isFinite(/** @type {HTMLInputElement} */ (e.target).valueAsNumber) && set(/** @type {HTMLInputElement} */ (e.target).valueAsNumber)} /><small>${[help, range].filter(Boolean).join(" ")}</small></label>`;
    }
    case "list":
      return html`<label>${label}<textarea rows="2" value=${Array.isArray(value) ? value.join("\n") : ""} onChange=${(/** @type {Event} */ e) => set(text(e).split("\n").map((one) => one.trim()).filter(Boolean))}></textarea><small>${[help, t("storyRules.list")].filter(Boolean).join(" ")}</small></label>`;
    default:
      return choices.length > 0
        ? html`<label>${label}<select value=${String(value)} onChange=${(/** @type {Event} */ e) => set(text(e))}>${choices.map((one) => html`<option key=${one} value=${one} selected=${one === value}>${choiceName(field, one)}</option>`)}</select>${hint}</label>`
        : html`<label>${label}<input value=${String(value)} maxlength="4096" onInput=${(/** @type {Event} */ e) => set(text(e))} />${hint}</label>`;
  }
}
