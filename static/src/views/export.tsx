// The choice of the format in which a story is exported. Loaded when first opened.
import { h } from "../../vendor/preact.js";
import { exportSession } from "../actions/export.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-cards.ts";
import { openDialog } from "../model/page.ts";
import { Modal, icon } from "./common.tsx";
import type { Dialog } from "../model/page.ts";
import type { ExportFormat } from "../net/transfers.ts";

addEnglish(words);

/** The formats for a single branch; the format `session` contains the whole tree. */
const BRANCH_FORMATS = ["sillytavern", "markdown", "html"] as const;

export function ExportDialog({ open: { sid, title, leaf } }: { open: Extract<Dialog, { kind: "export" }> }) {
  const forms: readonly ExportFormat[] = leaf ? BRANCH_FORMATS : ["session", ...BRANCH_FORMATS];
  const take = (event: SubmitEvent) => {
    event.preventDefault();
    const format = new FormData(event.target as HTMLFormElement).get("form") as ExportFormat;
    exportSession(sid, { format, ...(leaf && { leaf }) });
    openDialog(null);
  };
  return (
    <Modal title={t("takeout.title", { name: title })}>
      <form onSubmit={take}>
        <fieldset>
          <legend>{t(leaf ? "takeout.here" : "takeout.form")}</legend>
          {forms.map((form, n) => (
            <label key={form} class="check">
              <input type="radio" name="form" value={form} defaultChecked={n === 0} autofocus={n === 0} />
              <span>
                {t(`takeout.${form}`)}
                <small>{t(`takeout.${form}Hint`)}</small>
              </span>
            </label>
          ))}
        </fieldset>
        <div class="actions">
          <button type="button" onClick={() => openDialog(null)}>
            {t("cancel")}
          </button>
          <button type="submit" class="primary">
            {icon("download")}
            <span>{t("takeout.take")}</span>
          </button>
        </div>
      </form>
    </Modal>
  );
}
