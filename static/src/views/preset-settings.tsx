// The settings of a preset beside its prompts: samplers, context size, texts between prompts, and models.
import { h, useRef, useSignal } from "../../vendor/preact.js";
import { t, optionalText } from "../lib/i18n.ts";
import { ownOf } from "../lib/preset.ts";
import { compactJson } from "../lib/text.ts";
import { session } from "../model/session-store.ts";
import { icon } from "./common.tsx";
import { takeFocus } from "./confirmation.tsx";
import { NotSent } from "./not-sent.tsx";
import type { ComponentChildren } from "../../vendor/preact.js";
import type { PresetChange, PresetContent } from "../lib/wire.d.ts";
import type { PresetEditing } from "../actions/preset-edit.ts";

/** The number fields: name, minimum, maximum and step. */
const NUMBERS: [string, number, number | undefined, string][] = [
  ["temperature", 0, 2, "any"],
  ["top_p", 0, 1, "any"],
  ["top_k", 0, 100_000, "1"],
  ["min_p", 0, 1, "any"],
  ["top_a", 0, 1, "any"],
  ["typical_p", 0, 1, "any"],
  ["repetition_penalty", 0, 5, "any"],
  ["frequency_penalty", -2, 2, "any"],
  ["presence_penalty", -2, 2, "any"],
  ["seed", -1, undefined, "1"],
  ["openai_max_context", 1, undefined, "1"],
  ["openai_max_tokens", 1, undefined, "1"],
];
const TEXTS = [
  "impersonation_prompt",
  "continue_nudge_prompt",
  "new_chat_prompt",
  "new_example_chat_prompt",
  "send_if_empty",
  "assistant_prefill",
  "assistant_impersonation",
  "scenario_format",
  "personality_format",
  "wi_format",
];
const NAMES = [-1, 0, 1, 2];
const SHARES = ["lore", "examples", "recalled", "history"];

const lines = (typed: FormDataEntryValue | null) => [
  ...new Set(
    String(typed ?? "")
      .split("\n")
      .map((line) => line.replace(/\r$/, ""))
      .filter(Boolean),
  ),
];
/** Shows a line break inside a stop string as \n. */
const escapeBreaks = (text: string) => text.replaceAll("\n", "\\n");
const unescapeBreaks = (text: string) => text.replaceAll("\\n", "\n");
const words = (key: string, of: string = "field") => optionalText(`presetEdit.${of}.${key}`, { 0: "{0}" });

/** Returns the shares in a fixed order, or null if there are none. */
function sharesOf(shares: Record<string, number | null | undefined>) {
  const entries = SHARES.filter((key) => shares[key] != null).map((key) => [key, shares[key]]);
  return entries.length > 0 ? Object.fromEntries(entries) : null;
}

interface FormProps {
  edit: PresetEditing;
  read: (typed: FormData) => Required<Pick<PresetChange, "fields" | "own">>;
  before: Required<Pick<PresetChange, "fields" | "own">>;
  label: string;
  children?: ComponentChildren;
}

/** Renders a form for some settings of a preset. It sends only the changed fields. */
function Form({ edit, read, before, label, children }: FormProps) {
  const start = useRef(before).current;
  const form = useRef<HTMLFormElement | null>(null);
  const busy = useRef(false);
  const isWanted = useRef(false);
  const meanwhile = useSignal<PresetChange | null>(null);
  const isKept = useSignal(false);
  /** The current values of the preset. */
  const now = useRef(before);
  now.current = before;
  /**
   * Shows the saved values where they differ from the typed ones, after the page has rendered them. Text typed since
   * then stays.
   */
  const settle = (sent: Required<Pick<PresetChange, "fields" | "own">>) => {
    const fields = [
      ...(form.current?.querySelectorAll("input:not([type=checkbox]), textarea") ?? []),
    ] as HTMLInputElement[];
    const typed = new Map(fields.map((field) => [field, field.value]));
    const drawn = () => {
      for (const [field, value] of typed) if (field.value === value) field.value = field.defaultValue;
      for (const of of ["fields", "own"] as const)
        for (const key of Object.keys(sent[of])) start[of][key] = (now.current[of] as Record<string, unknown>)[key];
    };
    return new Promise<void>((done) => setTimeout(() => done(drawn())));
  };
  const write = async () => {
    const typed = read(new FormData(form.current as HTMLFormElement));
    const others = (mine: Record<string, unknown>, was: Record<string, unknown>) =>
      Object.fromEntries(
        Object.entries(mine).filter(
          ([key, value]) => JSON.stringify(value ?? null) !== JSON.stringify(was[key] ?? null),
        ),
      );
    const [fields, own] = [others(typed.fields, start.fields), others(typed.own, start.own)];
    const change = { ...(Object.keys(fields).length > 0 && { fields }), ...(Object.keys(own).length > 0 && { own }) };
    if (Object.keys(change).length === 0) {
      await settle({ fields, own });
      return void (isKept.value = true);
    }
    const result = await edit.change(() => change);
    isKept.value = result?.is === "written";
    if (result?.is === "written") await settle({ fields, own });
    meanwhile.value = result?.is === "changed" ? result.now : null;
  };
  /** Saves. A click while a save runs saves once more afterwards, because the form may have changed. */
  const save = async (event: Event) => {
    event.preventDefault();
    isWanted.current = true;
    if (busy.current) return;
    busy.current = true;
    while (isWanted.current) {
      isWanted.current = false;
      await write();
    }
    busy.current = false;
  };
  const again = () => ((meanwhile.value = null), form.current?.requestSubmit());
  return (
    <form ref={form} aria-label={label} onSubmit={save} onInput={() => (isKept.value = false)}>
      {children}
      {meanwhile.value && (
        <ConflictNote now={meanwhile.value} keepMine={again} takeTheirs={() => (edit.version.value += 1)} />
      )}
      <div class="actions">
        <span class="aside" role="status">
          {isKept.value ? t("presetEdit.kept") : ""}
        </span>
        {!meanwhile.value && (
          <button type="submit" class="primary">
            {t("save")}
          </button>
        )}
      </div>
    </form>
  );
}

interface ConflictNoteProps {
  now: PresetChange;
  keepMine: () => void;
  takeTheirs: () => void;
}

/** Shows what someone else changed in the meantime, and lets the user choose. */
export function ConflictNote({ now, keepMine, takeTheirs }: ConflictNoteProps) {
  const all = [
    ...Object.entries(now.fields ?? {}),
    ...Object.entries(now.own ?? {}),
    ...(now.prompts ?? []).flatMap((part) =>
      part ? Object.entries(part).filter(([key]) => key !== "identifier") : [],
    ),
  ];
  return (
    <div class="failure" role="alert">
      {icon("warning")}
      <div>
        <p>{t("presetEdit.meanwhile")}</p>
        <div class="theirs" role="group" aria-label={t("lore.theirs")} tabindex={0}>
          {all.length === 0 ? (
            <p class="aside">{t("presetEdit.goneHint")}</p>
          ) : (
            all.map(([key, value]) => (
              <p key={key} class="words">
                <small>{words(key) || words(key, "theirs") || key}</small>{" "}
                {value === null ? t("presetEdit.unsaid") : typeof value === "string" ? value : compactJson(value)}
              </p>
            ))
          )}
        </div>
        <div class="actions">
          <button type="button" onClick={takeTheirs}>
            {t("lore.takeTheirs")}
          </button>
          <button type="button" class="primary" ref={takeFocus} onClick={keepMine}>
            {t("lore.keepMine")}
          </button>
        </div>
      </div>
    </div>
  );
}

export function Sampling({ edit, preset }: { edit: PresetEditing; preset: PresetContent }) {
  const all = preset.effective ?? {};
  const own = ownOf(preset);
  const naming = own.names === "asNeeded" ? "asNeeded" : String(all.names_behavior ?? 0);
  const form = own.form === "turns";
  const before = {
    fields: {
      ...Object.fromEntries(NUMBERS.map(([key]) => [key, all[key] ?? null])),
      names_behavior: all.names_behavior ?? 0,
      squash_system_messages: all.squash_system_messages === true,
    },
    own: {
      names: own.names ?? null,
      form: own.form ?? null,
      stop: own.stop ?? null,
      shares: sharesOf(own.shares ?? {}),
    },
  };
  const read = (typed: FormData) => {
    const number = (key: string) => (String(typed.get(key) ?? "").trim() === "" ? null : Number(typed.get(key)));
    const stop = lines(typed.get("stop")).map(unescapeBreaks);
    const shares = sharesOf(Object.fromEntries(SHARES.map((key) => [key, number(`share-${key}`)])));
    const isAsNeeded = typed.get("names") === "asNeeded";
    return {
      fields: {
        ...Object.fromEntries(NUMBERS.map(([key]) => [key, number(key)])),
        names_behavior: isAsNeeded ? before.fields.names_behavior : Number(typed.get("names")),
        squash_system_messages: typed.has("squash"),
      },
      own: {
        names: isAsNeeded ? "asNeeded" : null,
        form: typed.has("form") ? "turns" : null,
        stop: stop.length > 0 ? stop : null,
        shares,
      },
    };
  };
  return (
    <Form edit={edit} read={read} before={before} label={t("presetEdit.sampling")}>
      <p class="aside">{t("presetEdit.samplingText")}</p>
      {session.value && <NotSent key={`${session.value.model} ${preset.updatedAt}`} id={preset.id} />}
      <div class="pair">
        {NUMBERS.map(([key, least, most, step]) => (
          <label key={key}>
            {words(key)}
            <input
              type="number"
              name={key}
              min={least}
              max={most}
              step={step}
              placeholder={t("presetEdit.unsaid")}
              defaultValue={String(all[key] ?? "")}
            />
          </label>
        ))}
      </div>
      <fieldset>
        <legend>{t("presetEdit.shares")}</legend>
        <p class="aside">{t("presetEdit.sharesText")}</p>
        <div class="pair">
          {SHARES.map((key) => (
            <label key={key}>
              {words(key, "share")}
              <input
                type="number"
                name={`share-${key}`}
                min="0"
                max="100"
                step="1"
                placeholder={t("presetEdit.unsaid")}
                defaultValue={String(own.shares?.[key] ?? "")}
              />
            </label>
          ))}
        </div>
      </fieldset>
      <label>
        {t("presetEdit.stop")}
        <textarea
          name="stop"
          rows={2}
          spellcheck={false}
          defaultValue={(own.stop ?? []).map(escapeBreaks).join("\n")}
        />
        <small>{t("presetEdit.stopHint")}</small>
      </label>
      <label>
        {t("presetEdit.naming")}
        <select name="names">
          {["asNeeded", ...NAMES.map(String)].map((value) => (
            <option key={value} value={value} selected={value === naming}>
              {words(value, "names")}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" name="form" defaultChecked={form} />
        <span>
          {t("presetEdit.form")}
          <small>{t("presetEdit.formHint")}</small>
        </span>
      </label>
      <label class="check">
        <input type="checkbox" name="squash" defaultChecked={all.squash_system_messages === true} />
        <span>{t("presetEdit.squash")}</span>
      </label>
    </Form>
  );
}

export function Texts({ edit, preset }: { edit: PresetEditing; preset: PresetContent }) {
  const all = preset.effective ?? {};
  const text = (key: string) => String(all[key] ?? "").replaceAll("\r\n", "\n");
  const before = {
    fields: {
      ...Object.fromEntries(TEXTS.map((key) => [key, text(key)])),
      continue_prefill: all.continue_prefill === true,
    },
    own: {},
  };
  const read = (typed: FormData) => ({
    fields: {
      ...Object.fromEntries(TEXTS.map((key) => [key, String(typed.get(key) ?? "").replaceAll("\r\n", "\n")])),
      continue_prefill: typed.has("continue_prefill"),
    },
    own: {},
  });
  return (
    <Form edit={edit} read={read} before={before} label={t("presetEdit.texts")}>
      <p class="aside">{t("presetEdit.textsText")}</p>
      {TEXTS.map((key) => (
        <label key={key}>
          {words(key)}
          <textarea name={key} rows={2} spellcheck={false} defaultValue={text(key)} />
        </label>
      ))}
      <label class="check">
        <input type="checkbox" name="continue_prefill" defaultChecked={all.continue_prefill === true} />
        <span>
          {t("presetEdit.continuePrefill")}
          <small>{t("presetEdit.continuePrefillHint")}</small>
        </span>
      </label>
    </Form>
  );
}

export function Models({ edit, preset }: { edit: PresetEditing; preset: PresetContent }) {
  const before = { fields: {}, own: { models: ownOf(preset).models ?? null } };
  const read = (typed: FormData) => {
    const models = lines(typed.get("models"))
      .map((line) => line.trim())
      .filter(Boolean);
    return { fields: {}, own: { models: models.length > 0 ? models : null } };
  };
  return (
    <Form edit={edit} read={read} before={before} label={t("presetEdit.models")}>
      <label>
        {t("presetEdit.modelsField")}
        <textarea name="models" rows={3} spellcheck={false} defaultValue={(before.own.models ?? []).join("\n")} />
        <small>{t("presetEdit.modelsHint")}</small>
      </label>
    </Form>
  );
}
