// "Try this text": which entries of a lorebook a text would activate, and why the others stay out.
import { h, useRef, useSignal } from "../../vendor/preact.js";
import { testLorebook } from "../actions/lore.ts";
import { t } from "../lib/i18n.ts";
import { LoreVerdicts } from "./lore-verdicts.tsx";
import type { LoreScan } from "./lore-verdicts.tsx";
import type { Id } from "../lib/wire.d.ts";

export function LoreTest({ id }: { id: Id }) {
  const field = useRef<HTMLTextAreaElement | null>(null);
  const scan = useSignal<LoreScan | null>(null);
  const test = async (event: Event) => {
    event.preventDefault();
    const text = field.current?.value ?? "";
    const result = await testLorebook(id, text);
    // An answer to an earlier text is out of date.
    if (result && text === field.current?.value) scan.value = result;
  };
  const type = () => {
    scan.value = null;
    // The dialog must not treat this text as unsaved input.
    if (field.current) field.current.defaultValue = field.current.value;
  };
  return (
    <details class="holds lore-rules">
      <summary>{t("lore.try")}</summary>
      <form onSubmit={test}>
        <label>
          {t("lore.tryText")}
          <textarea ref={field} rows={3} required onInput={type} />
        </label>
        <div class="actions start">
          <button type="submit">{t("lore.tryRun")}</button>
        </div>
        <div role="status">{scan.value && <LoreVerdicts scan={scan.value} />}</div>
      </form>
    </details>
  );
}
