// What is in the menu of a message.
import { h, html } from "../../vendor/preact.js";
import { rate } from "../actions/arrange.js";
import { canRun } from "../actions/commands.js";
import "../actions/keep-lore.js";
import "../actions/move.js";
import "../actions/purge.js";
import "../actions/replies.js";
import "../actions/summarise.js";
import "../actions/takeout.js";
import { t } from "../lib/i18n.js";
import { MOST_STARS } from "./message-menu.js";
import { CommandButton, icon } from "./parts.js";

/** @import { ChatNode } from "../lib/wire.d.ts" */

const ITEMS = ["message.goOn", "message.otherModel", "message.setCurrent", "message.compare", "message.label", "message.mute", "message.unmute", "message.link", "message.exportAs", "message.keepLore", "message.choose", "message.summarise", "message.copyTo", "message.move"];

/** @param {{node: ChatNode, without: string[], first: string[]}} props */
export function Items({ node, without, first }) {
  return html`${canRun("message.rate", node) && html`${h(StarRow, { node })}<hr />`}
    ${first.length > 0 && html`${first.map((id) => h(CommandButton, { key: id, id, node, wide: true }))}<hr />`}
    ${ITEMS.filter((id) => !without.includes(id)).map((id) => h(CommandButton, { key: id, id, node, wide: true }))}
    ${canRun("message.prune", node) && html`<hr />${h(CommandButton, { id: "message.prune", node, wide: true })}${h(CommandButton, { id: "message.purge", node, wide: true })}`}`;
}

/** @param {{node: ChatNode}} props */
function StarRow({ node }) {
  const has = node.metadata?.rating ?? 0;
  return html`<div class="stars" role="group" aria-label=${t("rating.label")}>${Array.from({ length: MOST_STARS }, (_, i) => {
    const name = t(i + 1 === has ? "rating.takeBack" : "rating.stars", { n: i + 1 });
    return html`<button key=${i} type="button" class=${i < has ? "given" : ""} aria-pressed=${i + 1 === has} aria-label=${name} title=${name} onClick=${() => rate(node, i + 1)}>${icon("star")}</button>`;
  })}</div>`;
}
