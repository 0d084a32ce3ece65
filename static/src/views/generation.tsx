// The generation parameters of the open story: response length, samplers and stop strings. An empty field leaves the value
// to the preset. Loaded when first opened.
import { h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { changeParams } from "../actions/generation.ts";
import { GENERATION_NUMBERS, otherParams, paramsFromForm, stopLines } from "../lib/generation-params.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-generation.ts";
import { saveFormDraft } from "../model/form-drafts.ts";
import { openDialog } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { fillForm, formValues, useFormDraft } from "./form-drafts.ts";
import { Modal } from "./common.tsx";
import type { Key } from "../lib/i18n.ts";

addEnglish(words);

export function Generation() {
  const params = session.value?.params ?? {};
  const key = `generation.${session.peek()?.id}`;
  const draft = useFormDraft(key);
  const form = useRef<HTMLFormElement | null>(null);
  const isMalformed = useSignal(false);
  const keep = () => {
    isMalformed.value = false;
    if (form.current) saveFormDraft(key, formValues(form.current));
  };
  useLayoutEffect(() => {
    if (draft && form.current) fillForm(form.current, draft);
  }, []);
  const save = async (event: Event) => {
    event.preventDefault();
    const typed = new FormData(event.target as HTMLFormElement);
    const next = paramsFromForm((name) => String(typed.get(name) ?? ""));
    isMalformed.value = next === null;
    if (next && (await changeParams(next))) openDialog(null);
  };
  const others = otherParams(params);
  return (
    <Modal title={t("command.generation")} class="wide lore" keeps>
      <form ref={form} onSubmit={save} onInput={keep}>
        <p class="aside">{t("generation.text")}</p>
        {draft && (
          <p class="aside" role="status">
            {t("lore.begunHere")}
          </p>
        )}
        <div class="pair">
          {GENERATION_NUMBERS.map(([name, least, most, step]) => (
            <label key={name}>
              {t(`generation.${name}` as Key)}
              <input
                name={name}
                type="number"
                min={least}
                max={most}
                step={step}
                placeholder={t("generation.preset")}
                defaultValue={params[name] === undefined || params[name] === null ? "" : String(params[name])}
              />
            </label>
          ))}
        </div>
        <label>
          {t("generation.stop")}
          <textarea name="stop" rows={2} defaultValue={stopLines(params)} />
          <small>{t("generation.stopHint")}</small>
        </label>
        <label>
          {t("generation.others")}
          <textarea
            name="others"
            rows={3}
            spellcheck={false}
            aria-invalid={isMalformed.value}
            defaultValue={Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : ""}
          />
          <small>{t("generation.othersHint")}</small>
        </label>
        {isMalformed.value && (
          <p class="bad" role="alert">
            {t("generation.malformed")}
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
