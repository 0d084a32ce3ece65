// What a preset says beside its prompts: samplers and room, the texts between, the models it is for.
import { h, html, useRef, useSignal } from "../../vendor/preact.js";
import { t, wordFor } from "../lib/i18n.js";
import { ownOf } from "../lib/preset.js";
import { brief } from "../lib/text.js";
import { icon } from "./parts.js";
import { takeFocus } from "./sure.js";

/** @import { ComponentChildren } from "../../vendor/preact.js" */
/** @import { PresetChange, WholePreset } from "../lib/wire.d.ts" */
/** @import { Editing } from "../actions/preset-edit.js" */

/** Numbers: the name, the least, the most, the step. @type {[string, number, number | null, string][]} */
const NUMBERS = [
  ["temperature", 0, 2, "any"],
  ["top_p", 0, 1, "any"],
  ["frequency_penalty", -2, 2, "any"],
  ["presence_penalty", -2, 2, "any"],
  ["seed", -1, null, "1"],
  ["openai_max_context", 1, null, "1"],
  ["openai_max_tokens", 1, null, "1"],
];
const TEXTS = ["impersonation_prompt", "continue_nudge_prompt", "new_chat_prompt", "new_example_chat_prompt", "send_if_empty", "assistant_prefill", "assistant_impersonation", "scenario_format", "personality_format", "wi_format"];
const NAMES = [-1, 0, 1, 2];
const SHARES = ["lore", "examples", "recalled", "history"];

const lines = (/** @type {FormDataEntryValue | null} */ typed) => [...new Set(String(typed ?? "").split("\n").map((line) => line.replace(/\r$/, "")).filter(Boolean))];
/** A line break inside of a stop string is written as \n. */
const shown = (/** @type {string} */ text) => text.replaceAll("\n", "\\n");
const meant = (/** @type {string} */ text) => text.replaceAll("\\n", "\n");
const words = (/** @type {string} */ key, /** @type {string} */ of = "field") => wordFor(`presetEdit.${of}.${key}`, { 0: "{0}" });

/** In one order, and nothing where none is said. @param {Record<string, number | null | undefined>} shares */
function sharesOf(shares) {
  const said = SHARES.filter((key) => shares[key] != null).map((key) => [key, shares[key]]);
  return said.length > 0 ? Object.fromEntries(said) : null;
}

/**
 * A form of some of what a preset says; only what was changed in it is sent.
 * @param {{edit: Editing, read: (typed: FormData) => Required<Pick<PresetChange, "fields" | "own">>, before: Required<Pick<PresetChange, "fields" | "own">>, label: string, children?: ComponentChildren}} props
 */
function Form({ edit, read, before, label, children }) {
  const start = useRef(before).current;
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const busy = useRef(false);
  const meanwhile = useSignal(/** @type {PresetChange | null} */ (null));
  const isKept = useSignal(false);
  /** What the preset says by now. */
  const now = useRef(before);
  now.current = before;
  /** What was typed otherwise than it was kept stands there as it was kept, once the page has drawn that. What was typed since then stays. */
  const settle = (/** @type {Required<Pick<PresetChange, "fields" | "own">>} */ sent) => {
    const fields = /** @type {HTMLInputElement[]} */ ([...(form.current?.querySelectorAll("input:not([type=checkbox]), textarea") ?? [])]);
    const typed = new Map(fields.map((field) => [field, field.value]));
    const drawn = () => {
      for (const [field, value] of typed) if (field.value === value) field.value = field.defaultValue;
      for (const of of /** @type {const} */ (["fields", "own"])) for (const key of Object.keys(sent[of])) start[of][key] = /** @type {Record<string, unknown>} */ (now.current[of])[key];
    };
    setTimeout(drawn);
  };
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy.current) return;
    const typed = read(new FormData(/** @type {HTMLFormElement} */ (form.current)));
    const others = (/** @type {Record<string, unknown>} */ mine, /** @type {Record<string, unknown>} */ was) => Object.fromEntries(Object.entries(mine).filter(([key, value]) => JSON.stringify(value ?? null) !== JSON.stringify(was[key] ?? null)));
    const [fields, own] = [others(typed.fields, start.fields), others(typed.own, start.own)];
    const change = { ...(Object.keys(fields).length > 0 && { fields }), ...(Object.keys(own).length > 0 && { own }) };
    if (Object.keys(change).length === 0) {
      settle({ fields, own });
      return void (isKept.value = true);
    }
    busy.current = true;
    const came = await edit.change(() => change);
    busy.current = false;
    isKept.value = came?.is === "written";
    if (came?.is === "written") settle({ fields, own });
    meanwhile.value = came?.is === "changed" ? came.now : null;
  };
  const again = () => ((meanwhile.value = null), form.current?.requestSubmit());
  return html`<form ref=${form} aria-label=${label} onSubmit=${save} onInput=${() => (isKept.value = false)}>${children}
    ${meanwhile.value && h(Meanwhile, { now: meanwhile.value, keepMine: again, takeTheirs: () => (edit.version.value += 1) })}
    <div class="actions"><span class="aside" role="status">${isKept.value ? t("presetEdit.kept") : ""}</span>${!meanwhile.value && html`<button class="primary">${t("save")}</button>`}</div></form>`;
}

/** What somebody else has written meanwhile, and what is to become of it. @param {{now: PresetChange, keepMine: () => void, takeTheirs: () => void}} props */
export function Meanwhile({ now, keepMine, takeTheirs }) {
  const all = [...Object.entries(now.fields ?? {}), ...Object.entries(now.own ?? {}), ...(now.prompts ?? []).flatMap((part) => (part ? Object.entries(part).filter(([key]) => key !== "identifier") : []))];
  return html`<div class="failure" role="alert">${icon("warning")}<div><p>${t("presetEdit.meanwhile")}</p>
    <div class="theirs" role="group" aria-label=${t("lore.theirs")} tabindex="0">${all.length === 0 ? html`<p class="aside">${t("presetEdit.goneHint")}</p>` : all.map(([key, value]) => html`<p key=${key} class="words"><small>${words(key) || words(key, "theirs") || key}</small> ${value === null ? t("presetEdit.unsaid") : typeof value === "string" ? value : brief(value)}</p>`)}</div>
    <div class="actions"><button type="button" onClick=${takeTheirs}>${t("lore.takeTheirs")}</button><button type="button" class="primary" ref=${takeFocus} onClick=${keepMine}>${t("lore.keepMine")}</button></div></div></div>`;
}

/** @param {{edit: Editing, preset: WholePreset}} props */
export function Sampling({ edit, preset }) {
  const all = preset.effective ?? {};
  const own = ownOf(preset);
  const naming = own["names"] === "asNeeded" ? "asNeeded" : String(all["names_behavior"] ?? 0);
  const form = own["form"] === "turns";
  const before = {
    fields: { ...Object.fromEntries(NUMBERS.map(([key]) => [key, all[key] ?? null])), names_behavior: all["names_behavior"] ?? 0, squash_system_messages: all["squash_system_messages"] === true },
    own: { names: own["names"] ?? null, form: own["form"] ?? null, stop: own["stop"] ?? null, shares: sharesOf(own["shares"] ?? {}) },
  };
  const read = (/** @type {FormData} */ typed) => {
    const number = (/** @type {string} */ key) => (String(typed.get(key) ?? "").trim() === "" ? null : Number(typed.get(key)));
    const stop = lines(typed.get("stop")).map(meant);
    const shares = sharesOf(Object.fromEntries(SHARES.map((key) => [key, number(`share-${key}`)])));
    const isAsNeeded = typed.get("names") === "asNeeded";
    return {
      fields: { ...Object.fromEntries(NUMBERS.map(([key]) => [key, number(key)])), names_behavior: isAsNeeded ? before.fields.names_behavior : Number(typed.get("names")), squash_system_messages: typed.has("squash") },
      own: { names: isAsNeeded ? "asNeeded" : null, form: typed.has("form") ? "turns" : null, stop: stop.length > 0 ? stop : null, shares },
    };
  };
  return h(Form, { edit, read, before, label: t("presetEdit.sampling") }, html`<p class="aside">${t("presetEdit.samplingText")}</p>
    <div class="pair">${NUMBERS.map(([key, least, most, step]) => html`<label key=${key}>${words(key)}<input type="number" name=${key} min=${least} max=${most} step=${step} placeholder=${t("presetEdit.unsaid")} defaultValue=${String(all[key] ?? "")} /></label>`)}</div>
    <fieldset><legend>${t("presetEdit.shares")}</legend><p class="aside">${t("presetEdit.sharesText")}</p><div class="pair">${SHARES.map((key) => html`<label key=${key}>${words(key, "share")}<input type="number" name=${`share-${key}`} min="0" max="100" step="1" placeholder=${t("presetEdit.unsaid")} defaultValue=${String(own["shares"]?.[key] ?? "")} /></label>`)}</div></fieldset>
    <label>${t("presetEdit.stop")}<textarea name="stop" rows="2" spellcheck="false" defaultValue=${(own["stop"] ?? []).map(shown).join("\n")}></textarea><small>${t("presetEdit.stopHint")}</small></label>
    <label>${t("presetEdit.naming")}<select name="names">${["asNeeded", ...NAMES.map(String)].map((value) => html`<option key=${value} value=${value} selected=${value === naming}>${words(value, "names")}</option>`)}</select></label>
    <label class="check"><input type="checkbox" name="form" defaultChecked=${form} /><span>${t("presetEdit.form")}<small>${t("presetEdit.formHint")}</small></span></label>
    <label class="check"><input type="checkbox" name="squash" defaultChecked=${all["squash_system_messages"] === true} /><span>${t("presetEdit.squash")}</span></label>`);
}

/** @param {{edit: Editing, preset: WholePreset}} props */
export function Texts({ edit, preset }) {
  const all = preset.effective ?? {};
  const text = (/** @type {string} */ key) => String(all[key] ?? "").replaceAll("\r\n", "\n");
  const before = { fields: { ...Object.fromEntries(TEXTS.map((key) => [key, text(key)])), continue_prefill: all["continue_prefill"] === true }, own: {} };
  const read = (/** @type {FormData} */ typed) => ({ fields: { ...Object.fromEntries(TEXTS.map((key) => [key, String(typed.get(key) ?? "").replaceAll("\r\n", "\n")])), continue_prefill: typed.has("continue_prefill") }, own: {} });
  return h(Form, { edit, read, before, label: t("presetEdit.texts") }, html`<p class="aside">${t("presetEdit.textsText")}</p>
    ${TEXTS.map((key) => html`<label key=${key}>${words(key)}<textarea name=${key} rows="2" spellcheck="false" defaultValue=${text(key)}></textarea></label>`)}
    <label class="check"><input type="checkbox" name="continue_prefill" defaultChecked=${all["continue_prefill"] === true} /><span>${t("presetEdit.continuePrefill")}<small>${t("presetEdit.continuePrefillHint")}</small></span></label>`);
}

/** @param {{edit: Editing, preset: WholePreset}} props */
export function Models({ edit, preset }) {
  const before = { fields: {}, own: { models: ownOf(preset)["models"] ?? null } };
  const read = (/** @type {FormData} */ typed) => {
    const models = lines(typed.get("models")).map((line) => line.trim()).filter(Boolean);
    return { fields: {}, own: { models: models.length > 0 ? models : null } };
  };
  return h(Form, { edit, read, before, label: t("presetEdit.models") }, html`<label>${t("presetEdit.modelsField")}<textarea name="models" rows="3" spellcheck="false" defaultValue=${(before.own.models ?? []).join("\n")}></textarea><small>${t("presetEdit.modelsHint")}</small></label>`);
}
