// The global lore settings: how all lorebooks of the user are scanned.
import { h, useRef, useSignal } from "../../vendor/preact.js";
import { readLoreSettings, setLoreSettings } from "../actions/lore.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-lore-settings.ts";
import type { Key } from "../lib/i18n.ts";
import type { WorldInfoSettings } from "../lib/wire.d.ts";

addEnglish(words);

/** The number fields with their range and texts. `least` = 0 if missing. */
const NUMBERS: {
  field: keyof WorldInfoSettings | `similar.${keyof WorldInfoSettings["similar"]}`;
  least?: number;
  most: number;
  label: Key;
  hint: Key;
}[] = [
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

/** The switches. */
const SWITCHES: { field: keyof WorldInfoSettings | "similar.all"; label: Key; hint: Key }[] = [
  { field: "recursive", label: "rules.recursive", hint: "rules.recursiveHint" },
  { field: "includeNames", label: "rules.names", hint: "rules.namesHint" },
  { field: "matchWholeWords", label: "rules.whole", hint: "rules.wholeHint" },
  { field: "caseSensitive", label: "rules.case", hint: "rules.caseHint" },
  { field: "groupScoring", label: "rules.scoring", hint: "rules.scoringHint" },
  { field: "similar.all", label: "rules.all", hint: "rules.allHint" },
];

const STRATEGIES: { value: WorldInfoSettings["strategy"]; label: Key }[] = [
  { value: "characterFirst", label: "rules.characterFirst" },
  { value: "globalFirst", label: "rules.globalFirst" },
  { value: "evenly", label: "rules.evenly" },
];

export function LoreSettings() {
  /** The settings that the fields begin with; `version` counts how often the fields were made anew. */
  const shown = useSignal<{ rules: WorldInfoSettings; version: number } | null>(null);
  /** What the server has, as far as the page knows. */
  const saved = useRef<WorldInfoSettings | null>(null);
  const isKept = useSignal(false);
  /** Whether a field was changed since the last save began. An answer does not overwrite such fields. */
  const isEdited = useRef(false);
  const saves = useRef(Promise.resolve());
  const show = (rules: WorldInfoSettings) => {
    saved.current = rules;
    if (!isEdited.current) shown.value = { rules, version: (shown.peek()?.version ?? 0) + 1 };
  };
  const open = (event: Event) => {
    const isOpen = (event.currentTarget as HTMLDetailsElement).open;
    if (isOpen && shown.peek() === null) void readLoreSettings().then((result) => result && show(result));
  };
  /** A conflict: the settings that were saved elsewhere meanwhile, and the ones to be saved here. */
  const other = useSignal<{ theirs: WorldInfoSettings; mine: Partial<WorldInfoSettings> } | null>(null);
  /** Saves the settings. A missing field gets its default. `isSure`: also if they were changed elsewhere. */
  const save = async (wanted: Partial<WorldInfoSettings>, isSure: boolean) => {
    const result = await setLoreSettings(wanted, isSure ? null : saved.current);
    other.value = result && "theirs" in result ? { theirs: result.theirs, mine: wanted } : null;
    isKept.value = result !== undefined && "kept" in result && !isEdited.current;
    if (result && "kept" in result) show(result.kept);
  };
  /** Saves after the saves that still run. */
  const keep = (wanted: Partial<WorldInfoSettings>, isSure: boolean = false) => {
    isEdited.current = false;
    saves.current = saves.current.then(() => save(wanted, isSure));
  };
  const look = () => {
    isEdited.current = false;
    const theirs = other.peek()?.theirs;
    if (theirs) show(theirs);
    other.value = null;
  };
  const edit = () => {
    isEdited.current = true;
    isKept.value = false;
  };
  return (
    <details class="holds lore-rules" onToggle={open}>
      <summary>{t("rules.title")}</summary>
      <p class="aside">{t("rules.text")}</p>
      {shown.value && <Form {...shown.value} keep={keep} isKept={isKept.value} edit={edit} />}
      {other.value && (
        <div class="theirs" role="alert">
          <p>{t("rules.changed")}</p>
          <div class="actions start">
            <button type="button" onClick={look}>
              {t("rules.look")}
            </button>
            <button type="button" onClick={() => other.value && keep(other.value.mine, true)}>
              {t("rules.over")}
            </button>
          </div>
        </div>
      )}
    </details>
  );
}

function valueIn(rules: WorldInfoSettings, field: string) {
  const [name = "", inner] = field.split(".");
  const value = { ...rules }[name as keyof WorldInfoSettings];
  return inner ? (value as WorldInfoSettings["similar"])[inner as keyof WorldInfoSettings["similar"]] : value;
}

/** Returns the settings in the form. */
function settingsFromForm(form: FormData): Partial<WorldInfoSettings> {
  const similar: Record<string, unknown> = {};
  const rules: Record<string, unknown> = { similar, strategy: form.get("strategy") };
  const put = (field: string, value: unknown) => {
    const [name = "", inner] = field.split(".");
    if (inner) similar[inner] = value;
    else rules[name] = value;
  };
  for (const { field } of NUMBERS) put(field, Number(form.get(field)));
  for (const { field } of SWITCHES) put(field, form.has(field));
  return rules;
}

interface FormProps {
  rules: WorldInfoSettings;
  version: number;
  keep: (rules: Partial<WorldInfoSettings>) => void;
  isKept: boolean;
  edit: () => void;
}

function Form({ rules, version, keep, isKept, edit }: FormProps) {
  const save = (event: Event) => {
    event.preventDefault();
    keep(settingsFromForm(new FormData(event.target as HTMLFormElement)));
  };
  // The key creates the fields again with the saved values. The status line is outside, so that it stays in view.
  return (
    <form onSubmit={save} onInput={edit}>
      <div class="rules-fields" key={version}>
        {NUMBERS.map(({ field, least = 0, most, label, hint }) => (
          <label key={field}>
            {t(label)}
            <input
              name={field}
              type="number"
              required
              min={least}
              max={most}
              step={field === "budgetPercent" ? "any" : 1}
              defaultValue={String(valueIn(rules, field))}
            />
            <small>{t(hint)}</small>
          </label>
        ))}
        <label>
          {t("rules.strategy")}
          <select name="strategy">
            {STRATEGIES.map(({ value, label }) => (
              <option key={value} value={value} selected={value === rules.strategy}>
                {t(label)}
              </option>
            ))}
          </select>
        </label>
        {SWITCHES.map(({ field, label, hint }) => (
          <label key={field} class="check">
            <input name={field} type="checkbox" defaultChecked={valueIn(rules, field) === true} />
            <span>
              {t(label)}
              <small>{t(hint)}</small>
            </span>
          </label>
        ))}
      </div>
      <div class="actions foot-actions">
        <span class="aside" role="status">
          {isKept ? t("rules.kept") : ""}
        </span>
        <button type="button" onClick={() => keep({})}>
          {t("rules.usual")}
        </button>
        <button type="submit" class="primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}
