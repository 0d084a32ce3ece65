// One field of the generation settings, of any kind.
import { Fragment, h } from "../../vendor/preact.js";
import { fieldText } from "../lib/generation-params.ts";
import { optionalText, t } from "../lib/i18n.ts";
import type { GenerationField } from "../lib/generation-params.ts";
import type { Session } from "../lib/wire.d.ts";

/** Returns the name of a parameter in the player's words. */
export const parameterName = (name: string) => optionalText(`generation.${name}`) || name;

interface FieldProps {
  field: GenerationField;
  params: Session["params"];
  isNotTaken: boolean;
  isMalformed: boolean;
}

/** Renders a field. An empty one leaves the value to the preset. */
export function Field({ field, params, isNotTaken, isMalformed }: FieldProps) {
  const { name, kind, least, most, step, choices } = field;
  const text = fieldText(field, params);
  const hint = optionalText(`generation.hint.${kind}`);
  const notes = (
    <>
      {hint && <small>{hint}</small>}
      {isNotTaken && <small>{t("generation.notTaken")}</small>}
    </>
  );
  if (kind === "number")
    return (
      <label>
        {parameterName(name)}
        <input
          name={name}
          type="number"
          min={least}
          max={most}
          step={step ?? "any"}
          placeholder={t("generation.preset")}
          defaultValue={text}
        />
        {notes}
      </label>
    );
  if (kind === "flag" || kind === "choice")
    return (
      <label>
        {parameterName(name)}
        <select name={name}>
          <option value="" selected={text === ""}>
            {t("generation.preset")}
          </option>
          {(choices ?? ["true", "false"]).map((value) => (
            <option key={value} value={value} selected={value === text}>
              {optionalText(`generation.value.${value}`) || value}
            </option>
          ))}
        </select>
        {notes}
      </label>
    );
  return (
    <label>
      {parameterName(name)}
      <textarea name={name} rows={2} spellcheck={false} aria-invalid={isMalformed} defaultValue={text} />
      {notes}
    </label>
  );
}
