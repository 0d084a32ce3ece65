// The settings page. Loaded with its first use.
import { h, html, useEffect, useSignal } from "../../vendor/preact.js";
import { commandsOf } from "../actions/commands.js";
import { speakIn } from "../actions/page.js";
import { chooseDefault, readHealth, readProviders, tryKnown } from "../actions/providers.js";
import { LOCALES, addEnglish, locale, t, wordFor } from "../lib/i18n.js";
import { spelled } from "../lib/keys.js";
import words from "../lib/strings/en-settings.js";
import story from "../lib/strings/en-story.js";
import { sentence } from "../lib/text.js";
import { models } from "../model/library.js";
import { openDialog, setTheme, theme } from "../model/page.js";
import { providers } from "../model/providers.js";
import { Result } from "./connect.js";
import { Devices } from "./devices.js";
import { Blank, CommandButton, Waiting, icon } from "./parts.js";

/** @import { ComponentType } from "../../vendor/preact.js" */
/** @import { Key, Locale } from "../lib/i18n.js" */
/** @import { Provider, TrialResult } from "../lib/wire.d.ts" */
/** @import { Theme } from "../model/page.js" */

addEnglish(words);
addEnglish(story);

/** The sections in their order; another one is another line. @type {{id: string, title: Key, view: ComponentType<{}>}[]} */
const SECTIONS = [
  { id: "models", title: "settings.models", view: Servers },
  { id: "devices", title: "devices.title", view: Devices },
  { id: "looks", title: "settings.looks", view: Looks },
  { id: "presets", title: "settings.presets", view: Prompts },
  { id: "keys", title: "settings.keys", view: KeyList },
  { id: "about", title: "settings.about", view: About },
];

export function Settings() {
  const go = (/** @type {string} */ id) => {
    const heading = document.getElementById(`settings-${id}`);
    heading?.scrollIntoView();
    heading?.focus({ preventScroll: true });
  };
  return html`<div class="library"><div class="library-inner settings"><h1>${t("settings.title")}</h1>
    <nav aria-label=${t("settings.sections")}>${SECTIONS.map(({ id, title }) => html`<button type="button" key=${id} onClick=${() => go(id)}>${t(title)}</button>`)}</nav>
    ${SECTIONS.map(({ id, title, view }) => html`<section key=${id} aria-labelledby=${`settings-${id}`}><h2 id=${`settings-${id}`} tabindex="-1">${t(title)}</h2>${h(view, {})}</section>`)}</div></div>`;
}

// Models

function Servers() {
  useEffect(() => void readProviders(), []);
  const all = providers.value;
  if (all === null) return h(Waiting, { rows: 3 });
  return html`${all.items.length === 0 ? h(Blank, { symbol: "plug", title: t("settings.none"), hint: t("models.short") }) : html`<ul class="servers">${all.items.map((server) => h(Server, { key: server.id, server }))}</ul>`}
    <div class="actions start">${h(CommandButton, { id: "page.connect", wide: true, class: all.items.length === 0 ? "primary" : "" })}</div>
    ${all.items.some(({ origin }) => origin === "config") && html`<p class="aside">${t("settings.ofFileHint")}</p>`}
    ${h(DefaultModel, {})}`;
}

/** @param {{server: Provider}} props */
function Server({ server }) {
  const { id, kind, baseUrl, hasKey, origin, unusable } = server;
  const seen = useSignal(/** @type {TrialResult | null} */ (null));
  const isTrying = useSignal(false);
  const own = (models.value?.items ?? []).filter((model) => model.provider === id).map((model) => model.name ?? model.id);
  const test = async () => {
    if (isTrying.peek()) return;
    isTrying.value = true;
    seen.value = (await tryKnown(id, own[0] ?? null)) ?? null;
    isTrying.value = false;
  };
  const button = (/** @type {Key} */ label, /** @type {string} */ symbol, /** @type {() => void} */ act) =>
    html`<button type="button" class="round" aria-label=${t(label, { name: id })} title=${t(label, { name: id })} onClick=${act}>${icon(symbol)}</button>`;
  return html`<li class="server"><article aria-label=${id}><div><h3>${id} <span class="chip">${kind}</span>${hasKey && html` <span class="chip">${t("settings.hasKey")}</span>`}${origin === "config" && html` <span class="chip">${t("settings.ofFile")}</span>`}</h3>
      <p class="aside">${baseUrl}</p></div>
    <div class="actions">${button("settings.test", "play", () => void test())}${origin === "connected" && button("settings.edit", "edit", () => openDialog({ kind: "connect", providerId: id, back: null }))}
      ${origin === "connected" && button("settings.remove", "trash", () => openDialog({ kind: "forget", providerId: id }))}</div>
    ${unusable && html`<p class="problem">${icon("warning")}<span>${sentence(unusable)}</span></p>`}
    <div role="status" class="tried">${isTrying.value ? t("connect.testing") : seen.value && h(Result, { seen: seen.value })}</div></article></li>`;
}

function DefaultModel() {
  const all = providers.value;
  const list = (models.value?.items ?? []).filter((model) => !model.unusable).map((model) => model.id);
  const chosen = all?.isChosen ? all.defaultModel : "";
  const names = [...new Set([chosen, ...list].filter(Boolean))];
  return html`<label>${t("settings.default")}<select name="default" value=${chosen} onChange=${(/** @type {Event} */ event) => void chooseDefault(/** @type {HTMLSelectElement} */ (event.target).value || null)}>
    <option value="">${t("settings.defaultOfFile")}${all && !all.isChosen ? `: ${all.defaultModel}` : ""}</option>${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`;
}

// Appearance, prompts, keys

function Looks() {
  const choice = (/** @type {boolean} */ on, /** @type {string} */ label, /** @type {() => unknown} */ act) => html`<button type="button" aria-pressed=${on} onClick=${act}>${label}</button>`;
  return html`<div role="group" class="choice" aria-label=${t("settings.theme")}>${/** @type {Theme[]} */ (["auto", "light", "dark"]).map((look) => choice(theme.value === look, t(/** @type {Key} */ (`theme.${look}`)), () => setTheme(look)))}</div>
    <div role="group" class="choice" aria-label=${t("settings.language")}>${/** @type {Locale[]} */ (Object.keys(LOCALES)).map((one) => choice(locale.value === one, LOCALES[one], () => speakIn(one)))}</div>`;
}

function Prompts() {
  return html`<p class="aside">${t("settings.presetsText")}</p><div class="actions start"><button type="button" onClick=${() => openDialog({ kind: "presets", presetId: null })}>${icon("preset")}<span>${t("settings.presets")}</span></button></div>`;
}

function KeyList() {
  const all = [...commandsOf("page"), ...commandsOf("message")].filter(({ keys }) => keys?.length);
  return html`<p class="aside">${t("settings.keysText")}</p><dl class="keys">${all.map(({ id, label, keys = [] }) => html`<div key=${id}><dt>${t(label)}</dt><dd>${keys.map((key) => html`<kbd key=${key}>${spelled(key)}</kbd> `)}</dd></div>`)}</dl>
    <div class="actions start">${h(CommandButton, { id: "page.palette", wide: true })}</div>`;
}

// About

function About() {
  const health = useSignal(/** @type {Awaited<ReturnType<typeof readHealth>> | null} */ (null));
  useEffect(() => void readHealth().then((told) => (health.value = told ?? null)), []);
  const told = health.value;
  if (!told) return h(Waiting, { rows: 2 });
  const parts = Object.entries(told.parts ?? {}).filter(([name]) => wordFor(`settings.part.${name}`));
  return html`<p>${t("settings.version", { version: told.version })}</p>
    ${parts.length > 0 && html`<dl class="keys">${parts.map(([name, is]) => html`<div key=${name}><dt>${wordFor(`settings.part.${name}`)}</dt><dd>${is === "ok" ? t("settings.works") : sentence(String(is))}</dd></div>`)}</dl>`}
    <p>${t("settings.backup")}</p><pre tabindex="0"><code>clotho backup clotho-copy.db\nclotho doctor</code></pre>`;
}
