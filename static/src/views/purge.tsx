// The confirmation before a permanent deletion: what is deleted, what stays, and what cannot be reached. Loaded when
// first opened.
import { h, useEffect, useSignal } from "../../vendor/preact.js";
import { readPurgeLosses, purge } from "../actions/purge.ts";
import { t } from "../lib/i18n.ts";
import { excerpt } from "../lib/excerpt.ts";
import { plainText } from "../lib/text.ts";
import { openDialog } from "../model/page.ts";
import { peekNode, purgeCount } from "../model/session-store.ts";
import { Modal, LoadingRows, icon } from "./common.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Id, PurgeLosses, MoveSource } from "../lib/wire.d.ts";

export function PurgeMessage({ nid }: { nid: Id }) {
  const close = () => openDialog(null);
  void purgeCount.value;
  const words = excerpt(plainText(peekNode(nid)?.content ?? ""));
  return (
    <Modal title={t("command.purge")}>
      {words && <q>{words}</q>}
      <Purge piece={{ nodeId: nid }} keep={close} />
    </Modal>
  );
}

/** Asks in two steps: the checkbox confirms, then the button deletes. */
export function Purge({ piece, keep }: { piece: MoveSource; keep: () => unknown }) {
  const told = useSignal<{ losses: PurgeLosses; op: number } | null>(null);
  const isMeant = useSignal(false);
  const ask = async () => {
    told.value = null;
    isMeant.value = false;
    const found = await readPurgeLosses(piece);
    if (found) told.value = found;
    else keep();
  };
  useEffect(() => void ask(), []);
  const known = told.value;
  if (known === null) return <LoadingRows rows={2} />;
  const { nodes, branches, keptFragments } = known.losses;
  const act = async () => {
    // If the story has changed in the meantime, the losses can differ and are asked for again.
    if (isMeant.peek() && !(await purge(piece, known.op))) await ask();
  };
  return (
    <div class="grave" role="group" aria-label={t("command.purge")}>
      {icon("warning")}
      <div>
        <p>{t("purge.nodes", { n: nodes })}</p>
        {branches > 1 && <p>{t("purge.branches", { n: branches })}</p>}
        {keptFragments > 0 && <p>{t("purge.kept", { n: keptFragments })}</p>}
        <p>{t("purge.forGood")}</p>
        <p class="aside">{t("purge.beyond")}</p>
      </div>
      <label class="check">
        <input type="checkbox" checked={isMeant.value} onChange={() => (isMeant.value = !isMeant.peek())} />
        <span>{t("purge.meant")}</span>
      </label>
      <div class="actions">
        <button type="button" ref={takeFocus} onClick={keep}>
          {t("stash.keep")}
        </button>
        <button type="button" class="primary danger" disabled={!isMeant.value} onClick={act}>
          {t("command.purge")}
        </button>
      </div>
    </div>
  );
}
