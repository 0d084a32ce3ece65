// The house rules of lore: how every lorebook of the reader is looked through.
import { h, html, useRef, useSignal } from "../../vendor/preact.js";
import { readRules, setRules } from "../actions/lore.js";
import { addEnglish, t } from "../lib/i18n.js";
import words from "../lib/strings/en-lore-rules.js";

/** @import { Key } from "../lib/i18n.js" */
/** @import { LoreRules } from "../lib/wire.d.ts" */

addEnglish(words);

/** The numbers, each with the most that it may be, where it stands, and its words. @type {{field: keyof LoreRules | `similar.${keyof LoreRules["similar"]}`, least?: number, most: number, label: Key, hint: Key}[]} */
const NUMBERS = [
  { field: "scanDepth", most: 1000, label: "rules.depth", hint: "rules.depthHint" },
  { field: "budgetPercent", most: 100, label: "rules.budget", hint: "rules.budgetHint" },
  { field: "budgetCap", most: 10_000_000, label: "rules.cap", hint: "rules.capHint" },
  { field: "minActivations", most: 1000, label: "rules.least", hint: "rules.leastHint" },
  { field: "minActivationsDepth", most: 1000, label: "rules.leastDepth", hint: "rules.leastDepthHint" },
  { field: "maxRecursionSteps", most: 1000, label: "rules.steps", hint: "rules.stepsHint" },
  { field: "similar.entries", most: 100, label: "rules.similar", hint: "rules.similarHint" },
  { field: "similar.messages", least: 1, most: 100, label: "rules.similarMessages", hint: "rules.similarMessagesHint" },
  { field: "similar.threshold", most: 100, label: "rules.similarLeast", hint: "rules.similarLeastHint" },
];

/** What is on or off. @type {{field: keyof LoreRules | "similar.all", label: Key, hint: Key}[]} */
const SWITCHES = [
  { field: "recursive", label: "rules.recursive", hint: "rules.recursiveHint" },
  { field: "includeNames", label: "rules.names", hint: "rules.namesHint" },
  { field: "matchWholeWords", label: "rules.whole", hint: "rules.wholeHint" },
  { field: "caseSensitive", label: "rules.case", hint: "rules.caseHint" },
  { field: "groupScoring", label: "rules.scoring", hint: "rules.scoringHint" },
  { field: "similar.all", label: "rules.all", hint: "rules.allHint" },
];

/** @type {{value: LoreRules["strategy"], label: Key}[]} */
const STRATEGIES = [
  { value: "characterFirst", label: "rules.characterFirst" },
  { value: "globalFirst", label: "rules.globalFirst" },
  { value: "evenly", label: "rules.evenly" },
];

export function Rules() {
  const rules = useSignal(/** @type {LoreRules | null} */ (null));
  const isKept = useSignal(false);
  const busy = useRef(false);
  const open = (/** @type {Event} */ event) => {
    const isOpen = /** @type {HTMLDetailsElement} */ (event.currentTarget).open;
    if (isOpen && rules.peek() === null) void readRules().then((came) => (rules.value = came ?? null));
  };
  /** What somebody else has set meanwhile, and what was to be set. */
  const other = useSignal(/** @type {{theirs: LoreRules, mine: Partial<LoreRules>} | null} */ (null));
  /** What is left out is as usual. */
  const keep = async (/** @type {Partial<LoreRules>} */ wanted, /** @type {boolean} */ isSure = false) => {
    if (busy.current) return;
    busy.current = true;
    const came = await setRules(wanted, isSure ? null : rules.peek());
    other.value = came && "theirs" in came ? { theirs: came.theirs, mine: wanted } : null;
    if (came && "kept" in came) rules.value = came.kept;
    isKept.value = came !== undefined && "kept" in came;
    busy.current = false;
  };
  const look = () => {
    if (other.peek()) rules.value = other.peek()?.theirs ?? null;
    other.value = null;
  };
  return html`<details class="holds lore-rules" onToggle=${open}><summary>${t("rules.title")}</summary>
    <p class="aside">${t("rules.text")}</p>${rules.value && h(Form, { rules: rules.value, keep, isKept: isKept.value, heard: () => (isKept.value = false) })}
    ${other.value && html`<div class="theirs" role="alert"><p>${t("rules.changed")}</p><div class="actions start"><button type="button" onClick=${look}>${t("rules.look")}</button><button type="button" onClick=${() => other.value && keep(other.value.mine, true)}>${t("rules.over")}</button></div></div>`}</details>`;
}

/** @param {LoreRules} rules @param {string} field */
function valueOf(rules, field) {
  const [name = "", inner] = field.split(".");
  const value = /** @type {Record<string, any>} */ (rules)[name];
  return inner ? value[inner] : value;
}

/** What stands in the form. @param {FormData} form @returns {Partial<LoreRules>} */
function rulesOf(form) {
  /** @type {Record<string, any>} */
  const rules = { similar: {}, strategy: form.get("strategy") };
  const put = (/** @type {string} */ field, /** @type {unknown} */ value) => {
    const [name = "", inner] = field.split(".");
    if (inner) rules[name][inner] = value;
    else rules[name] = value;
  };
  for (const { field } of NUMBERS) put(field, Number(form.get(field)));
  for (const { field } of SWITCHES) put(field, form.has(field));
  return rules;
}

/** @param {{rules: LoreRules, keep: (rules: Partial<LoreRules>) => void, isKept: boolean, heard: () => void}} props */
function Form({ rules, keep, isKept, heard }) {
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    keep(rulesOf(new FormData(/** @type {HTMLFormElement} */ (event.target))));
  };
  // The fields begin anew with what was kept; what says so stays where it is, in sight.
  return html`<form onSubmit=${save} onInput=${heard}><div class="rules-fields" key=${JSON.stringify(rules)}>
    ${NUMBERS.map(({ field, least = 0, most, label, hint }) => html`<label key=${field}>${t(label)}<input name=${field} type="number" required min=${least} max=${most} step=${field === "budgetPercent" ? "any" : 1} defaultValue=${String(valueOf(rules, field))} /><small>${t(hint)}</small></label>`)}
    <label>${t("rules.strategy")}<select name="strategy">${STRATEGIES.map(({ value, label }) => html`<option key=${value} value=${value} selected=${value === rules.strategy}>${t(label)}</option>`)}</select></label>
    ${SWITCHES.map(({ field, label, hint }) => html`<label key=${field} class="check"><input name=${field} type="checkbox" defaultChecked=${valueOf(rules, field) === true} /><span>${t(label)}<small>${t(hint)}</small></span></label>`)}</div>
    <div class="actions foot-actions"><span class="aside" role="status">${isKept ? t("rules.kept") : ""}</span><button type="button" onClick=${() => keep({})}>${t("rules.usual")}</button><button class="primary">${t("save")}</button></div></form>`;
}
