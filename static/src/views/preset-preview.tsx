// A preview of the prompt that the open story would send with a preset, rebuilt after each change.
import { Fragment, h, useSignal } from "../../vendor/preact.js";
import { previewPrompt } from "../actions/preset-edit.ts";
import { errorText } from "../actions/error-text.ts";
import { excerpt } from "../lib/excerpt.ts";
import { locale, t, optionalText } from "../lib/i18n.ts";
import { modelFailureText } from "../lib/model-failure.ts";
import { partsOf } from "../lib/preset.ts";
import { plainText, sentence } from "../lib/text.ts";
import { ApiError } from "../net/api.ts";
import { LoadingRows } from "./common.tsx";
import { useLatestResult } from "./use-query.tsx";
import { slotName } from "./prompt-part-names.ts";
import type { Trace, PresetContent } from "../lib/wire.d.ts";

/** Maximum number of characters of which an excerpt is made. */
const MAX_TEXT = 1000;

/** Returns what to do about a prompt that cannot be made. The server's own English names the settings of the preset. */
const hintOf = ({ code, hint }: NonNullable<Trace["error"]>) =>
  (locale.value !== "en" && optionalText(`failureHint.${code}`)) || sentence(hint ?? "");

export function Preview({ preset }: { preset: PresetContent }) {
  const known = useSignal<Trace | ApiError | null>(null);
  useLatestResult(
    () => previewPrompt(preset.id),
    (result) => result && (known.value = result),
    [preset.id, preset.updatedAt],
  );
  const found = known.value;
  if (!found) return <LoadingRows rows={4} />;
  if (found instanceof ApiError) {
    const { text, hint } = errorText(found);
    return (
      <p class="aside bad">
        {text} {hint}
      </p>
    );
  }
  const { messages = [], blueprint = [], tokens, error } = found;
  const left = blueprint.filter((block) => block.kept === false);
  return (
    <>
      <p class="aside">
        {t("presetEdit.previewText")}
        {tokens && (
          <>
            {" "}
            {tokens.by === "estimate" ? "≈ " : ""}
            {t("why.tokens", { n: tokens.count })}.
          </>
        )}
      </p>
      {error && (
        <p class="aside bad">
          {modelFailureText(error)} {hintOf(error)}
        </p>
      )}
      <ol class="preview">
        {messages.map((message, i) => (
          <li key={i}>
            <details>
              <summary>
                <span class="chip">{optionalText(`presetEdit.role.${message.role}`) || message.role}</span>{" "}
                {message.name ? (
                  <>
                    <b>{message.name}</b>{" "}
                  </>
                ) : (
                  ""
                )}
                {excerpt(plainText(message.content.slice(0, MAX_TEXT)), 140)}
              </summary>
              <pre tabindex={0}>{message.content}</pre>
            </details>
          </li>
        ))}
      </ol>
      {left.length > 0 && (
        <>
          <p>{t("presetEdit.left")}</p>
          <ul class="blocks">
            {left.map((block, i) => (
              <li key={i} class="dropped">
                <b>{slotName(block, partsOf(preset))}</b>{" "}
                <small>{optionalText(`why.left.${block.why}`) || block.why}</small>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
