// The parameters of a preset that the model server of the open story does not take.
import { h, useEffect, useSignal } from "../../vendor/preact.js";
import { readParameters } from "../actions/generation.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-generation.ts";
import { parameterName } from "./generation-field.tsx";
import type { Id, SessionParameters } from "../lib/wire.d.ts";

addEnglish(words);

/** Names the parameters of a preset that the model server of the open story does not take. */
export function NotSent({ id }: { id: Id }) {
  const found = useSignal<SessionParameters | null>(null);
  useEffect(() => void readParameters(id).then((answer) => (found.value = answer ?? null)), []);
  const names = found.value?.notSent ?? [];
  if (names.length === 0) return null;
  return (
    <p class="aside" role="status">
      {t("preset.notSent", { model: found.value?.model ?? "", names: names.map(parameterName).join(", ") })}
    </p>
  );
}
