// The confirmation before a model server is removed. Loaded when first opened.
import { h } from "../../vendor/preact.js";
import { removeServer } from "../actions/providers.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-settings.ts";
import { openDialog } from "../model/page.ts";
import { Modal } from "./common.tsx";

addEnglish(words);

export function RemoveServer({ id }: { id: string }) {
  const yes = (event: Event) => {
    event.preventDefault();
    openDialog(null);
    void removeServer(id);
  };
  return (
    <Modal title={t("settings.remove", { name: id })}>
      <form onSubmit={yes}>
        <p>{t("settings.removeText", { name: id })}</p>
        <div class="actions">
          <button type="button" autofocus onClick={() => openDialog(null)}>
            {t("cancel")}
          </button>
          <button type="submit" class="primary danger">
            {t("settings.removeYes")}
          </button>
        </div>
      </form>
    </Modal>
  );
}
