// What a plugin says of itself: what it may do, what it listens to, what can be set.
import { h, html } from "../../vendor/preact.js";
import { readFile } from "../actions/workshop.js";
import { t, wordFor } from "../lib/i18n.js";
import { rulesOf } from "../lib/manifest.js";
import { brief } from "../lib/text.js";
import { Parts } from "./json.js";
import { useReading } from "./reading.js";

/** @import { ConfigField, PluginDetail, Texts } from "../lib/wire.d.ts" */

/** Where the rules without code stand. */
const MANIFEST = "plugin.toml";

/** @param {{plugin: PluginDetail, texts: Texts}} props */
export function About({ plugin, texts }) {
  const saved = useReading(() => readFile(plugin.id, MANIFEST), `${plugin.id} ${plugin.codeHash}`);
  const rules = rulesOf(texts[MANIFEST] ?? (typeof saved === "string" ? saved : ""));
  const { description, version, manifest, permissions = [], hooks = [], config = [], schema, codeHash } = plugin;
  const facts = [
    [t("workshop.version"), version],
    [t("workshop.authors"), manifest?.authors?.join(", ")],
    [t("workshop.license"), manifest?.license],
    [t("workshop.root"), manifest?.state?.root],
    [t("workshop.requires"), Object.entries(manifest?.requires ?? {}).map(([id, needed]) => `${id} ${needed}`).join(", ")],
    [t("workshop.hash"), codeHash?.slice(0, 12)],
  ].filter(([, value]) => value);
  const commands = manifest?.commands ?? [];
  const tools = manifest?.tools ?? [];
  return html`<div class="about">${description && html`<p>${description}</p>`}
    <dl>${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${name === t("workshop.root") || name === t("workshop.hash") ? html`<code>${value}</code>` : value}</dd></div>`)}</dl>
    ${h(Listed, { title: t("workshop.may"), items: permissions.map(({ name, words }) => [name, words]), none: t("workshop.mayNothing") })}
    ${h(Listed, { title: t("workshop.hooks"), items: hooks.map((hook) => [hook, hookWords(hook)]), none: t("workshop.noHooks") })}
    ${tools.length > 0 && h(Listed, { title: t("workshop.tools"), items: tools.map((tool) => [tool.name, tool.description]) })}
    ${commands.length > 0 && h(Listed, { title: t("workshop.commands"), items: commands.map((one) => [`/${one.name}${one.args ? ` ${one.args}` : ""}`, one.help]) })}
    ${config.length > 0 && h(Listed, { title: t("workshop.settings"), items: config.map((field) => [field.name, settingWords(field)]) })}
    ${rules.length > 0 ? h(Listed, { title: t("workshop.rules"), items: rules.map((rule) => [rule.name || "–", rule.when]) }) : html`<p class="aside">${t("workshop.rulesHint")}</p>`}
    ${schema && html`<details><summary>${t("workshop.schema")}</summary>${h(Parts, { value: schema })}</details>`}</div>`;
}

/** When a hook runs, in words. @param {string} hook */
export const hookWords = (hook) => wordFor(`workshop.hook.${hook}`);

/** @param {ConfigField} field */
function settingWords({ label, type, min, max, choices = [], default: begins }) {
  const range = choices.length > 0 ? choices.join(", ") : [min, max].some((end) => end !== undefined) ? `${min ?? ""} – ${max ?? ""}` : "";
  return `${label} (${[wordFor(`workshop.type.${type}`) || type, range, t("workshop.default", { value: brief(begins) })].filter(Boolean).join("; ")})`;
}

/** @param {{title: string, items: string[][], none?: string}} props */
const Listed = ({ title, items, none = "" }) =>
  html`<section><h3>${title}</h3>${items.length === 0 ? html`<p class="aside">${none}</p>` : html`<ul>${items.map(([name, words], i) => html`<li key=${i}><code>${name}</code> ${words}</li>`)}</ul>`}</section>`;
