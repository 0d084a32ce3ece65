// The question before something is thrown away for good: what would go, what stays, what is out of reach. Loaded when first asked.
import { h, html, useEffect, useSignal } from "../../vendor/preact.js";
import { lossesOf, purge } from "../actions/purge.js";
import { t } from "../lib/i18n.js";
import { excerpt } from "../lib/excerpt.js";
import { plain } from "../lib/text.js";
import { openDialog } from "../model/page.js";
import { peekNode, purges } from "../model/story.js";
import { Modal, Waiting, icon } from "./parts.js";
import { takeFocus } from "./sure.js";

/** @import { Id, Losses, Piece } from "../lib/wire.d.ts" */

/** @param {{nid: Id}} props */
export function PurgeMessage({ nid }) {
  const close = () => openDialog(null);
  void purges.value;
  const words = excerpt(plain(peekNode(nid)?.content ?? ""));
  return h(Modal, { title: t("command.purge") }, html`${words && html`<q>${words}</q>`}${h(Purge, { piece: { nodeId: nid }, keep: close })}`);
}

/** Two steps: one says that it is meant, the other does it. @param {{piece: Piece, keep: () => unknown}} props */
export function Purge({ piece, keep }) {
  const told = useSignal(/** @type {{losses: Losses, op: number} | null} */ (null));
  const isMeant = useSignal(false);
  const ask = async () => {
    told.value = null;
    isMeant.value = false;
    const found = await lossesOf(piece);
    if (found) told.value = found;
    else keep();
  };
  useEffect(() => void ask(), []);
  const known = told.value;
  if (known === null) return h(Waiting, { rows: 2 });
  const { nodes, branches, keptFragments } = known.losses;
  const act = async () => {
    // Where the story has changed meanwhile, so may have what would go.
    if (isMeant.peek() && !(await purge(piece, known.op))) await ask();
  };
  return html`<div class="grave" role="group" aria-label=${t("command.purge")}>${icon("warning")}<div>
    <p>${t("purge.nodes", { n: nodes })}</p>
    ${branches > 1 && html`<p>${t("purge.branches", { n: branches })}</p>`}${keptFragments > 0 && html`<p>${t("purge.kept", { n: keptFragments })}</p>`}
    <p>${t("purge.forGood")}</p><p class="aside">${t("purge.beyond")}</p></div>
    <label class="check"><input type="checkbox" checked=${isMeant.value} onChange=${() => (isMeant.value = !isMeant.peek())} /><span>${t("purge.meant")}</span></label>
    <div class="actions"><button type="button" ref=${takeFocus} onClick=${keep}>${t("stash.keep")}</button>
      <button type="button" class="primary danger" disabled=${!isMeant.value} onClick=${act}>${t("command.purge")}</button></div></div>`;
}
