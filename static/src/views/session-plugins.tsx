// The rules of a story: its plugins, their permissions and their settings. Loaded when first opened.
import { Fragment, h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { clearDialogErrors } from "../actions/dialog-errors.ts";
import { readModelsAndPlugins } from "../actions/library.ts";
import {
  saveSessionPlugins,
  setValuesModel,
  readSessionPlugins,
  readPluginSettings,
  withRefusedPermissions,
} from "../actions/session-plugins.ts";
import { addEnglish, locale, t, optionalText } from "../lib/i18n.ts";
import { titlesOf } from "../lib/untrusted-text.ts";
import words from "../lib/strings/en-plugins.ts";
import { sentence } from "../lib/text.ts";
import { codedMessageText } from "../lib/coded-message.ts";
import { models, chatModels } from "../model/library.ts";
import { openDialog, notify } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { ApiError } from "../net/api.ts";
import { EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import { QueryError, useQuery } from "./use-query.tsx";
import type { ConfigField, Json, PluginChoice, PluginDetail, PluginInfo } from "../lib/wire.d.ts";
import type { ComponentChildren } from "../../vendor/preact.js";

addEnglish(words);

export function SessionPlugins() {
  const age = useSignal(0);
  const found = useQuery(readSessionPlugins, `rules ${age.value}`);
  const modal = (inside: ComponentChildren) => (
    <Modal title={t("command.rules")} class="wide rules" keeps>
      {inside}
    </Modal>
  );
  if (found === null) return modal(<LoadingRows rows={4} />);
  if (found instanceof ApiError) return modal(<QueryError error={found} />);
  return modal(<Form key={age.value} {...found} again={() => (age.value += 1)} />);
}

interface FormProps {
  all: PluginInfo[];
  chosen: PluginChoice[];
  again: () => void;
}

function Form({ all, chosen, again }: FormProps) {
  const wanted = useRef(chosen);
  const isOther = useSignal(false);
  const busy = useRef(false);
  const teller = session.value?.model?.startsWith("plugin:") ? session.value.model.slice("plugin:".length) : null;
  // A narrator plugin can only be part of the story that it tells.
  const isChosen = (one: PluginInfo) => chosen.some(({ id }) => id === one.id);
  const offered = [
    ...all.filter(isChosen),
    ...all.filter((one) => !isChosen(one) && !one.narrates && one.isOk !== false),
  ];
  const removed = chosen
    .filter(({ id }) => !all.some((one) => one.id === id))
    .map(({ id }) => ({ id, isOk: false }) as PluginInfo);
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    clearDialogErrors();
    const saved = await saveSessionPlugins(withRefusedPermissions(all, wanted.current), chosen);
    busy.current = false;
    isOther.value = saved === "changed";
    if (!Array.isArray(saved)) return;
    openDialog(null);
    const but = saved.map((one) => sentence(codedMessageText(one))).join(" ");
    notify({ tone: "quiet", stays: but !== "", text: t("storyRules.kept"), hint: but });
  };
  if (offered.length + removed.length === 0)
    return <EmptyState symbol="dice" title={t("storyRules.none")} hint={t("storyRules.noneHint")} />;
  return (
    <form onSubmit={save}>
      <p class="aside">{t("storyRules.text")}</p>
      <PluginChoices
        all={[...removed, ...offered]}
        begin={chosen}
        teller={teller}
        onChange={(next) => void (wanted.current = next)}
      />
      {isOther.value && (
        <p class="bad" role="alert">
          {t("storyRules.changed")}{" "}
          <button type="button" class="link" onClick={again}>
            {t("storyRules.again")}
          </button>
        </p>
      )}
      <ValuesModelChoice />
      <div class="actions">
        <button type="button" onClick={() => openDialog(null)}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}

/** Renders the choice of the values model; a change takes effect at once. */
function ValuesModelChoice() {
  useEffect(() => void (models.peek() ?? readModelsAndPlugins()), []);
  const now = session.value?.valuesModel ?? "";
  const names = [...new Set([now, ...chatModels.value.map(({ id }) => id)])].filter(Boolean);
  // Its place is reserved before the models are loaded. If content above a button grows, the button moves away from
  // under a finger.
  if (names.length === 0 && models.value !== null) return null;
  const choose = (event: Event) => void setValuesModel((event.target as HTMLSelectElement).value || null);
  return (
    <label>
      {t("storyRules.valuesBy")}
      <select onChange={choose}>
        <option value="" selected={now === ""}>
          {t("storyRules.valuesByTeller")}
        </option>
        {names.map((name) => (
          <option key={name} value={name} selected={name === now}>
            {name}
          </option>
        ))}
      </select>
      <small>{t("storyRules.valuesByHint")}</small>
    </label>
  );
}

interface PluginChoicesProps {
  all: PluginInfo[];
  begin: PluginChoice[];
  teller?: string | null;
  isStart?: boolean;
  onChange: (next: PluginChoice[]) => void;
}

/**
 * Renders a switch for each plugin, and below an enabled one its permissions and settings.
 * @param props `teller`: the plugin that tells the story and cannot be disabled; `isStart`: the story has not started
 * yet
 */
export function PluginChoices({ all, begin, teller = null, isStart = false, onChange }: PluginChoicesProps) {
  const chosen = useSignal(begin);
  const change = (next: PluginChoice) => {
    const others = chosen.peek();
    chosen.value = others.some(({ id }) => id === next.id)
      ? others.map((one) => (one.id === next.id ? next : one))
      : [...others, next];
    // Leaves out a disabled plugin if the story never had it. A plugin that is missing here is removed when it is
    // disabled.
    const isHere = (id: string) => all.some((one) => one.id === id && one.isOk !== false);
    onChange(
      chosen.peek().filter(({ id, enabled = true }) => enabled || (isHere(id) && begin.some((one) => one.id === id))),
    );
  };
  const titles = titlesOf(all);
  return (
    <ul class="choices">
      {all.map((info) => (
        <PluginSwitch
          key={info.id}
          info={{ ...info, title: titles.get(info.id) ?? info.id }}
          choice={chosen.value.find(({ id }) => id === info.id) ?? null}
          was={begin.find(({ id }) => id === info.id) ?? null}
          isTeller={info.id === teller}
          isStart={isStart}
          onChange={change}
        />
      ))}
    </ul>
  );
}

interface PluginSwitchProps {
  info: PluginInfo;
  choice: PluginChoice | null;
  was: PluginChoice | null;
  isTeller: boolean;
  isStart: boolean;
  onChange: (next: PluginChoice) => void;
}

function PluginSwitch({ info, choice, was, isTeller, isStart, onChange }: PluginSwitchProps) {
  const { id, title, description, permissions = [], isOk = true } = info;
  const isOn = choice !== null && choice.enabled !== false;
  const asked = permissions.map(({ name }) => name);
  const turn = (event: Event) => {
    const enabled = (event.target as HTMLInputElement).checked;
    // A newly enabled plugin gets all the permissions that it asks for. Earlier choices of the story apply again.
    onChange({ ...(choice ?? { id, config: {}, grants: asked }), enabled });
  };
  const isMissing = !isOk && was !== null;
  return (
    <li class="choice">
      <label class="check">
        <input type="checkbox" name="plugin" value={id} checked={isOn} disabled={isTeller} onChange={turn} />
        <span>
          {title || id}
          <small>{isMissing ? t("storyRules.missing") : isTeller ? t("storyRules.teller") : description}</small>
        </span>
      </label>
      {isOn && isOk && (
        <div class="choice-more">
          {asked.length > 0 && (
            <Grants
              permissions={permissions}
              granted={choice.grants ?? asked}
              was={was?.enabled === false ? null : (was?.grants ?? null)}
              onChange={(grants) => onChange({ ...choice, grants })}
            />
          )}
          <Settings
            id={id}
            config={choice.config ?? {}}
            isNew={isStart || was === null}
            onChange={(config) => onChange({ ...choice, config })}
          />
        </div>
      )}
    </li>
  );
}

interface GrantsProps {
  permissions: { name: string; words: string }[];
  granted: string[];
  was: string[] | null;
  onChange: (grants: string[]) => void;
}

/**
 * Renders the permissions of a plugin.
 * @param props `was`: what the story granted before
 */
function Grants({ permissions, granted, was, onChange }: GrantsProps) {
  const turn = (name: string) => (event: Event) =>
    onChange((event.target as HTMLInputElement).checked ? [...granted, name] : granted.filter((one) => one !== name));
  return (
    <fieldset>
      <legend>{t("storyRules.asks")}</legend>
      {permissions.map(({ name, words }) => (
        <label key={name} class="check">
          <input type="checkbox" checked={granted.includes(name)} onChange={turn(name)} />
          <span>
            {words}
            {was && !was.includes(name) && (
              <>
                {" "}
                <span class="chip on">{t("storyRules.notAllowed")}</span>
              </>
            )}
          </span>
        </label>
      ))}
      {granted.length < permissions.length && <p class="aside">{t("storyRules.without")}</p>}
    </fieldset>
  );
}

/** Returns whether a setting tells a plugin the user's language. */
const isLanguage = ({ name, choices = [] }: ConfigField) => name === "language" && choices.includes(locale.peek());

interface SettingsProps {
  id: string;
  config: { [key: string]: Json };
  isNew: boolean;
  onChange: (config: { [key: string]: Json }) => void;
}

function Settings({ id, config, isNew, onChange }: SettingsProps) {
  const found = useSignal<PluginDetail | null>(null);
  useEffect(() => void readPluginSettings(id).then((detail) => (found.value = detail)), [id]);
  const fields = found.value?.config ?? [];
  // Runs before the first paint, so that saving at once also saves the language.
  useLayoutEffect(() => {
    const asks = fields.some((field) => isLanguage(field) && field.default !== locale.peek());
    if (isNew && asks && config.language === undefined) onChange({ ...config, language: locale.peek() });
  }, [found.value]);
  if (fields.length === 0) return null;
  const set = (field: ConfigField, value: Json | undefined) => {
    const { [field.name]: _, ...others } = config;
    // A value equal to the plugin's default is not stored, so that it follows later versions of the plugin.
    onChange(
      value === undefined || JSON.stringify(value) === JSON.stringify(field.default)
        ? others
        : { ...others, [field.name]: value },
    );
  };
  return (
    <fieldset>
      <legend>{t("storyRules.settings")}</legend>
      {fields.map((field) => (
        <Setting
          key={field.name}
          field={field}
          value={config[field.name] ?? field.default}
          onChange={(value) => set(field, value)}
        />
      ))}
      {Object.keys(config).length > 0 && (
        <div class="actions start">
          <button type="button" onClick={() => onChange({})}>
            {icon("undo")}
            <span>{t("storyRules.defaults")}</span>
          </button>
        </div>
      )}
    </fieldset>
  );
}

/** Returns the name of a choice, translated if the page has a text for it. */
function choiceName(field: ConfigField, choice: string) {
  if (choice === "true" || choice === "false") return t(choice === "true" ? "yes" : "no");
  if (field.name === "language" && /^[a-z]{2,3}(-|$)/.test(choice))
    return new Intl.DisplayNames([choice], { type: "language" }).of(choice) ?? choice;
  return optionalText(`storyRules.choice.${choice}`) || choice;
}

interface SettingProps {
  field: ConfigField;
  value: Json;
  onChange: (value: Json | undefined) => void;
}

function Setting({ field, value, onChange }: SettingProps) {
  const { type, label, help, min, max, choices = [] } = field;
  const text = (event: Event) => (event.target as HTMLInputElement).value;
  const hint = help && <small>{help}</small>;
  switch (type) {
    case "boolean":
      return (
        <label class="check">
          <input
            type="checkbox"
            checked={value === true}
            onChange={(e: Event) => onChange((e.target as HTMLInputElement).checked)}
          />
          <span>
            {label}
            {hint}
          </span>
        </label>
      );
    case "integer":
    case "number": {
      const range = min !== undefined && max !== undefined ? t("storyRules.range", { min, max }) : "";
      return (
        <label>
          {label}
          <input
            type="number"
            required
            step={type === "integer" ? 1 : "any"}
            min={min}
            max={max}
            value={String(value)}
            onInput={(e: Event) =>
              Number.isFinite((e.target as HTMLInputElement).valueAsNumber) &&
              onChange((e.target as HTMLInputElement).valueAsNumber)
            }
          />
          <small>{[help, range].filter(Boolean).join(" ")}</small>
        </label>
      );
    }
    case "list":
      return (
        <label>
          {label}
          <textarea
            rows={2}
            value={Array.isArray(value) ? value.join("\n") : ""}
            onChange={(e: Event) =>
              onChange(
                text(e)
                  .split("\n")
                  .map((one) => one.trim())
                  .filter(Boolean),
              )
            }
          />
          <small>{[help, t("storyRules.list")].filter(Boolean).join(" ")}</small>
        </label>
      );
    default:
      return choices.length > 0 ? (
        <label>
          {label}
          <select value={String(value)} onChange={(e: Event) => onChange(text(e))}>
            {choices.map((one) => (
              <option key={one} value={one} selected={one === value}>
                {choiceName(field, one)}
              </option>
            ))}
          </select>
          {hint}
        </label>
      ) : (
        <label>
          {label}
          <input value={String(value)} maxlength={4096} onInput={(e: Event) => onChange(text(e))} />
          {hint}
        </label>
      );
  }
}
