// The generation parameters of the open story: response length, samplers and stop strings, in groups. An empty field
// leaves the value to the preset. Loaded when first opened.
import { h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { changeParams, readParameters } from "../actions/generation.ts";
import { fieldText, GENERATION_GROUPS, otherParams, paramsFromForm, stopLines } from "../lib/generation-params.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-generation.ts";
import presets from "../lib/strings/en-presets.ts";
import { saveFormDraft } from "../model/form-drafts.ts";
import { openDialog } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { fillForm, formValues, useFormDraft } from "./form-drafts.ts";
import { Field, parameterName } from "./generation-field.tsx";
import { Modal } from "./common.tsx";
import type { Key } from "../lib/i18n.ts";
import type { SessionParameters } from "../lib/wire.d.ts";

addEnglish(words);
addEnglish(presets);

export function Generation() {
  const params = session.value?.params ?? {};
  const key = `generation.${session.peek()?.id}`;
  const draft = useFormDraft(key);
  const form = useRef<HTMLFormElement | null>(null);
  /** The field that cannot be read. */
  const malformed = useSignal<string | null>(null);
  /** What the model server takes; null until it is known. */
  const known = useSignal<SessionParameters | null>(null);
  useEffect(() => void readParameters().then((found) => (known.value = found ?? null)), []);
  const keep = () => {
    malformed.value = null;
    if (form.current) saveFormDraft(key, formValues(form.current));
  };
  useLayoutEffect(() => {
    if (draft && form.current) fillForm(form.current, draft);
  }, []);
  const save = async (event: Event) => {
    event.preventDefault();
    const typed = new FormData(event.target as HTMLFormElement);
    const next = paramsFromForm((name) => String(typed.get(name) ?? ""));
    malformed.value = next.malformed ?? null;
    // A folded field is shown, so that its fault can be seen.
    if (next.malformed)
      form.current?.querySelector(`[name="${next.malformed}"]`)?.closest("details")?.setAttribute("open", "");
    if (next.params && (await changeParams(next.params))) openDialog(null);
  };
  const others = otherParams(params);
  const notTaken = new Set(known.value?.notTaken ?? []);
  const notSent = known.value?.notSent ?? [];
  const fields = (group: (typeof GENERATION_GROUPS)[number]) => (
    <div class="pair">
      {group.fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          params={params}
          isNotTaken={notTaken.has(field.name)}
          isMalformed={malformed.value === field.name}
        />
      ))}
    </div>
  );
  const isUsed = (group: (typeof GENERATION_GROUPS)[number]) =>
    group.fields.some((field) => fieldText(field, params) !== "" || Boolean(draft?.[field.name]));
  return (
    <Modal title={t("command.generation")} class="wide lore" keeps>
      <form ref={form} onSubmit={save} onInput={keep}>
        <p class="aside">{t("generation.text")}</p>
        {draft && (
          <p class="aside" role="status">
            {t("lore.begunHere")}
          </p>
        )}
        {notSent.length > 0 && (
          <p class="aside" role="status">
            {t("generation.notSent", { names: notSent.map(parameterName).join(", ") })}
          </p>
        )}
        {GENERATION_GROUPS.slice(0, 1).map(fields)}
        <label>
          {t("generation.stop")}
          <textarea name="stop" rows={2} defaultValue={stopLines(params)} />
          <small>{t("generation.stopHint")}</small>
        </label>
        {GENERATION_GROUPS.slice(1).map((group) => (
          <details key={group.id} open={isUsed(group)}>
            <summary>{t(`generation.group.${group.id}` as Key)}</summary>
            {fields(group)}
          </details>
        ))}
        <label>
          {t("generation.others")}
          <textarea
            name="others"
            rows={3}
            spellcheck={false}
            aria-invalid={malformed.value === "others"}
            defaultValue={Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : ""}
          />
          <small>{t("generation.othersHint")}</small>
        </label>
        {malformed.value && (
          <p class="bad" role="alert">
            {malformed.value === "others"
              ? t("generation.malformed")
              : t("generation.malformedField", { name: parameterName(malformed.value) })}
          </p>
        )}
        <div class="actions foot-actions">
          <button type="button" onClick={() => openDialog(null)}>
            {t("cancel")}
          </button>
          <button type="submit" class="primary">
            {t("save")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
