// The question whether the open story uses imported lorebooks, personas and presets. Loaded when first opened.
import { h, useSignal } from "../../vendor/preact.js";
import { useImported } from "../actions/use-imported.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-cards.ts";
import { openDialog } from "../model/page.ts";
import { Modal, icon } from "./common.tsx";
import type { Id } from "../lib/wire.d.ts";
import type { UsableItem } from "../model/dialog.d.ts";

addEnglish(words);

const KINDS = { book: "use.book", persona: "use.persona", preset: "use.preset" } as const;

export function UseImported({ sid, items }: { sid: Id; items: UsableItem[] }) {
  return (
    <Modal title={t("use.title")}>
      <div class="stash">
        <p class="aside">{t("use.text")}</p>
        <ul>
          {items.map((item) => (
            <Item key={item.id} sid={sid} item={item} />
          ))}
        </ul>
        <div class="actions">
          <button type="button" onClick={() => openDialog(null)}>
            {t("use.done")}
          </button>
        </div>
      </div>
    </Modal>
  );
}

function Item({ sid, item }: { sid: Id; item: UsableItem }) {
  const isUsed = useSignal(false);
  const isBusy = useSignal(false);
  const choose = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    isUsed.value = await useImported(sid, item);
    isBusy.value = false;
  };
  return (
    <li class="fragment">
      <article aria-label={item.name}>
        <h3>{item.name}</h3>
        <p class="aside">{t(KINDS[item.what])}</p>
        <div class="actions">
          {isUsed.value ? (
            <span class="chip on" role="status">
              {t("persona.played")}
            </span>
          ) : (
            <button type="button" class="primary" onClick={choose}>
              {icon("play")}
              <span>{t("persona.play")}</span>
            </button>
          )}
        </div>
      </article>
    </li>
  );
}
