// The trash: deleted things and when they expire, to restore or to delete permanently. Loaded when first opened.
import { h, useEffect, useSignal } from "../../vendor/preact.js";
import { attempt } from "../actions/error-text.ts";
import { restore } from "../actions/library.ts";
import { destroy, readTrash } from "../actions/trash.ts";
import { ago, moment, t } from "../lib/i18n.ts";
import { notify } from "../model/page.ts";
import { EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import { Confirmation } from "./confirmation.tsx";
import type { TrashItem } from "../lib/wire.d.ts";

export function Trash() {
  const list = useSignal<TrashItem[] | null>(null);
  const next = useSignal<string | null>(null);
  const read = async () => {
    const page = await attempt(() => readTrash(next.peek() ?? undefined));
    if (!page) return;
    list.value = [...(list.peek() ?? []), ...page.items];
    next.value = page.next;
  };
  useEffect(() => void read(), []);
  const drop = (deletedItem: TrashItem) => (list.value = (list.peek() ?? []).filter((item) => item !== deletedItem));
  const items = list.value;
  return (
    <Modal title={t("command.trash")} class="wide">
      <div class="stash">
        <p class="aside">{t("trash.text")}</p>
        {items === null ? (
          <LoadingRows rows={3} />
        ) : items.length === 0 ? (
          <EmptyState symbol="trash" title={t("trash.empty")} />
        ) : (
          <ul>
            {items.map((item) => (
              <Row key={item.id} item={item} drop={() => drop(item)} />
            ))}
          </ul>
        )}
        {next.value && (
          <button type="button" onClick={read}>
            {t("stash.more")}
          </button>
        )}
      </div>
    </Modal>
  );
}

function Row({ item, drop }: { item: TrashItem; drop: () => void }) {
  const asking = useSignal(false);
  const back = async () => {
    if (!(await restore(item.id))) return;
    drop();
    notify({ tone: "quiet", text: t("notice.restored", { name: item.name }) });
  };
  const end = async () => {
    if (!(await destroy(item.id))) return;
    drop();
    notify({ tone: "quiet", text: t("notice.destroyed", { name: item.name }) });
  };
  const what = [t(`trash.${item.kind}`), item.nodes === null ? "" : t("stash.count", { n: item.nodes })]
    .filter(Boolean)
    .join(" · ");
  return (
    <li class="fragment">
      <article aria-label={item.name}>
        <h3>{item.name}</h3>
        <p class="aside">
          {what} ·{" "}
          <time datetime={item.trashedAt} title={moment(item.trashedAt)}>
            {ago(item.trashedAt, Date.now())}
          </time>{" "}
          · {t("trash.until", { when: moment(item.until) })}
        </p>
        <div class="actions">
          <button type="button" onClick={back}>
            {icon("undo")}
            <span>{t("command.restore")}</span>
          </button>
          <button type="button" aria-expanded={asking.value} onClick={() => (asking.value = !asking.peek())}>
            {icon("trash")}
            <span>{t("trash.destroy")}</span>
          </button>
        </div>
        {asking.value && (
          <Confirmation
            text={t("trash.destroySure", { name: item.name })}
            confirmLabel={t("trash.destroyYes")}
            cancelLabel={t("stash.keep")}
            onConfirm={end}
            onCancel={() => (asking.value = false)}
          />
        )}
      </article>
    </li>
  );
}
