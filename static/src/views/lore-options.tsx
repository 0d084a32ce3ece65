// The options of a lore entry, in the order and words of SillyTavern: insertion, optional filter, scan, recursion, group,
// timed effects, and filters.
import { Fragment, h } from "../../vendor/preact.js";
import { addEnglish, t } from "../lib/i18n.ts";
import { MATCH_SOURCES, POSITION_DEPTH, POSITION_OUTLET, TRIGGERS } from "../lib/lore-options.ts";
import words from "../lib/strings/en-lore-options.ts";
import { KeywordField } from "./keyword-field.tsx";
import type { ComponentChildren, Signal } from "../../vendor/preact.js";
import type { Key } from "../lib/i18n.ts";
import type { LoreEntryOptions } from "../lib/wire.d.ts";

addEnglish(words);

interface OptionProps {
  options: LoreEntryOptions;
  /** The stored options. The dialog asks before it loses fields that differ from them. */
  before: LoreEntryOptions;
  set: (changed: Partial<LoreEntryOptions>) => void;
}

/** The fields of the options whose values have the type `T`. */
type FieldOf<T> = { [K in keyof LoreEntryOptions]: LoreEntryOptions[K] extends T ? K : never }[keyof LoreEntryOptions];

const LOGIC = [0, 3, 1, 2];
const POSITIONS = [0, 1, 5, 6, 2, 3, POSITION_DEPTH, POSITION_OUTLET];
const ROLES = [0, 1, 2];

interface LoreOptionsProps extends OptionProps {
  secondary: Signal<string[]>;
  /** Whether the stored secondary keys are switched off. */
  isFilterOff: boolean;
}

export function LoreOptions({ options, before, set, secondary, isFilterOff }: LoreOptionsProps) {
  const props = { options, before, set };
  return (
    <>
      <Section title="entry.insertion">
        <div class="pair">
          <ChoiceField {...props} field="position" values={POSITIONS} label="entry.position" />
          {options.position === POSITION_DEPTH && (
            <>
              <NumberField
                {...props}
                field="depth"
                least={0}
                most={10_000}
                label="entry.depth"
                hint="entry.depthHint"
              />
              <ChoiceField {...props} field="role" values={ROLES} label="entry.role" />
            </>
          )}
          {options.position === POSITION_OUTLET && (
            <TextField {...props} field="outletName" label="entry.outletName" hint="entry.outletNameHint" />
          )}
          <NumberField {...props} field="order" least={-1e9} most={1e9} label="entry.order" hint="entry.orderHint" />
          <NumberField {...props} field="probability" least={0} most={100} label="entry.probability" />
        </div>
        <FlagField {...props} field="ignoreBudget" label="entry.ignoreBudget" hint="entry.ignoreBudgetHint" />
      </Section>
      <Section title="entry.filter">
        {isFilterOff && <p class="aside">{t("entry.filterOff")}</p>}
        <ChoiceField {...props} field="selectiveLogic" values={LOGIC} label="entry.logic" />
        <KeywordField
          keys={secondary}
          before={before.keysecondary}
          legend="entry.secondary"
          hint="entry.secondaryHint"
        />
      </Section>
      <Section title="entry.scan">
        <div class="pair">
          <NumberField
            {...props}
            field="scanDepth"
            least={0}
            most={1000}
            label="entry.scanDepth"
            empty="entry.global"
          />
          <GlobalField {...props} field="caseSensitive" label="entry.caseSensitive" />
          <GlobalField {...props} field="matchWholeWords" label="entry.matchWholeWords" />
        </div>
        <fieldset>
          <legend>{t("entry.sources")}</legend>
          {MATCH_SOURCES.map((field) => (
            <FlagField {...props} key={field} field={field} label={`entry.${field}`} />
          ))}
        </fieldset>
      </Section>
      <Section title="entry.recursion">
        <FlagField
          {...props}
          field="excludeRecursion"
          label="entry.excludeRecursion"
          hint="entry.excludeRecursionHint"
        />
        <FlagField
          {...props}
          field="preventRecursion"
          label="entry.preventRecursion"
          hint="entry.preventRecursionHint"
        />
        <NumberField
          {...props}
          field="delayUntilRecursion"
          least={0}
          most={1000}
          label="entry.delayUntilRecursion"
          hint="entry.delayUntilRecursionHint"
        />
      </Section>
      <Section title="entry.groups">
        <div class="pair">
          <TextField {...props} field="group" label="entry.group" hint="entry.groupHint" />
          <NumberField {...props} field="groupWeight" least={1} most={1e6} label="entry.groupWeight" />
          <GlobalField {...props} field="useGroupScoring" label="entry.useGroupScoring" />
        </div>
        <FlagField {...props} field="groupOverride" label="entry.groupOverride" hint="entry.groupOverrideHint" />
      </Section>
      <Section title="entry.timers">
        <div class="pair">
          {(["sticky", "cooldown", "delay"] as const).map((field) => (
            <NumberField
              {...props}
              key={field}
              field={field}
              least={0}
              most={100_000}
              label={`entry.${field}`}
              hint={`entry.${field}Hint`}
              empty="entry.none"
            />
          ))}
        </div>
      </Section>
      <Section title="entry.filters">
        <CharacterFilterFields {...props} />
        <fieldset>
          <legend>{t("entry.triggers")}</legend>
          <p class="aside">{t("entry.triggersHint")}</p>
          {TRIGGERS.map((trigger) => (
            <TriggerField {...props} key={trigger} trigger={trigger} />
          ))}
        </fieldset>
        <TextField {...props} field="when" label="entry.when" hint="entry.whenHint" />
        <TextField {...props} field="automationId" label="entry.automationId" hint="entry.automationIdHint" />
      </Section>
    </>
  );
}

const Section = ({ title, children }: { title: Key; children: ComponentChildren }) => (
  <details class="section-fold">
    <summary>{t(title)}</summary>
    <div>{children}</div>
  </details>
);

interface FieldProps<K extends keyof LoreEntryOptions> extends OptionProps {
  field: K;
  label: Key;
  hint?: Key;
}

interface NumberFieldProps extends FieldProps<FieldOf<number | null>> {
  least: number;
  most: number;
  /** What an empty field means. Without it, an empty field gets its number back. */
  empty?: Key;
}

/** A number. A field that is left with something else shows the number again, so that no closed part holds an error. */
function NumberField({ options, before, set, field, label, hint, least, most, empty }: NumberFieldProps) {
  const shown = options[field] ?? "";
  const type = (event: Event) => {
    const { value } = event.target as HTMLInputElement;
    const number = Number(value);
    if (value === "") empty && set({ [field]: null });
    else if (number >= least && number <= most) set({ [field]: Math.round(number) });
  };
  const leave = (event: Event) => {
    (event.target as HTMLInputElement).value = String(shown);
  };
  return (
    <label>
      {t(label)}
      <input
        type="number"
        name={field}
        min={least}
        max={most}
        step={1}
        placeholder={empty && t(empty)}
        defaultValue={String(before[field] ?? "")}
        value={shown}
        onInput={type}
        onBlur={leave}
      />
      {hint && <small>{t(hint)}</small>}
    </label>
  );
}

const TextField = ({ options, before, set, field, label, hint }: FieldProps<FieldOf<string>>) => (
  <label>
    {t(label)}
    <input
      name={field}
      defaultValue={before[field]}
      value={options[field]}
      onInput={(event: Event) => set({ [field]: (event.target as HTMLInputElement).value })}
    />
    {hint && <small>{t(hint)}</small>}
  </label>
);

const FlagField = ({ options, set, field, label, hint }: FieldProps<FieldOf<boolean>>) => (
  <label class="check">
    <input
      type="checkbox"
      name={field}
      checked={options[field]}
      onChange={(event: Event) => set({ [field]: (event.target as HTMLInputElement).checked })}
    />
    <span>
      {t(label)}
      {hint && <small>{t(hint)}</small>}
    </span>
  </label>
);

interface ChoiceFieldProps extends FieldProps<"position" | "role" | "selectiveLogic"> {
  values: number[];
}

const ChoiceField = ({ options, set, field, label, values }: ChoiceFieldProps) => (
  <label>
    {t(label)}
    <select
      name={field}
      value={String(options[field])}
      onChange={(event: Event) => set({ [field]: Number((event.target as HTMLSelectElement).value) })}
    >
      {values.map((value) => (
        <option key={value} value={String(value)} selected={value === options[field]}>
          {t(`entry.${field}.${value}` as Key)}
        </option>
      ))}
    </select>
  </label>
);

/** A setting that can also be that of all lorebooks. */
const GlobalField = ({
  options,
  set,
  field,
  label,
}: FieldProps<"caseSensitive" | "matchWholeWords" | "useGroupScoring">) => {
  const values: { value: boolean | null; name: Key }[] = [
    { value: null, name: "entry.global" },
    { value: true, name: "entry.yes" },
    { value: false, name: "entry.no" },
  ];
  const choose = (event: Event) => {
    const name = (event.target as HTMLSelectElement).value;
    set({ [field]: values.find((one) => one.name === name)?.value ?? null });
  };
  return (
    <label>
      {t(label)}
      <select name={field} onChange={choose}>
        {values.map(({ value, name }) => (
          <option key={name} value={name} selected={value === options[field]}>
            {t(name)}
          </option>
        ))}
      </select>
    </label>
  );
};

/** Names or tags, separated by commas. */
const listOf = (text: string) =>
  text
    .split(/[,，、]/)
    .map((one) => one.trim())
    .filter(Boolean);

function CharacterFilterFields({ options, before, set }: OptionProps) {
  const filter = options.characterFilter;
  const put = (changed: Partial<typeof filter>) => set({ characterFilter: { ...filter, ...changed } });
  const field = (name: "names" | "tags") => (
    <label>
      {t(`entry.${name}`)}
      <input
        name={`filter-${name}`}
        defaultValue={before.characterFilter[name].join(", ")}
        value={filter[name].join(", ")}
        onChange={(event: Event) => put({ [name]: listOf((event.target as HTMLInputElement).value) })}
      />
      <small>{t("entry.listHint")}</small>
    </label>
  );
  return (
    <>
      <div class="pair">
        {field("names")}
        {field("tags")}
      </div>
      <label class="check">
        <input
          type="checkbox"
          name="filter-exclude"
          checked={filter.isExclude}
          onChange={(event: Event) => put({ isExclude: (event.target as HTMLInputElement).checked })}
        />
        <span>
          {t("entry.exclude")}
          <small>{t("entry.excludeHint")}</small>
        </span>
      </label>
    </>
  );
}

function TriggerField({ options, set, trigger }: OptionProps & { trigger: (typeof TRIGGERS)[number] }) {
  const toggle = (event: Event) => {
    const others = options.triggers.filter((one) => one !== trigger);
    set({ triggers: (event.target as HTMLInputElement).checked ? [...others, trigger] : others });
  };
  return (
    <label class="check">
      <input
        type="checkbox"
        name={`trigger-${trigger}`}
        checked={options.triggers.includes(trigger)}
        onChange={toggle}
      />
      <span>{t(`entry.trigger.${trigger}`)}</span>
    </label>
  );
}
