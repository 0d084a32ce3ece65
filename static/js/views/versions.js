// The versions of a message side by side. Loaded when first asked for.
import { html, useEffect, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { readVersions, toVersion } from "../actions/travel.js";
import { putVersionsAway } from "../actions/way.js";
import { t } from "../lib/i18n.js";
import { quoted } from "../lib/tags.js";
import { plain } from "../lib/text.js";
import { familyOf, nodeOf } from "../model/story.js";
import { icon } from "./parts.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */

/** @param {{node: ChatNode}} props */
export function Versions({ node }) {
  const ids = familyOf(node).value;
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => void readVersions(node), [ids]);
  useLayoutEffect(() => {
    const card = /** @type {HTMLElement | null} */ (list.current?.querySelector("[aria-current]"));
    if (list.current && card) list.current.scrollLeft = card.offsetLeft - (list.current.clientWidth - card.offsetWidth) / 2;
  }, [node.id]);
  return html`<section class="fan" aria-label=${t("versions.title", { n: ids.length })}><header><h2>${t("versions.title", { n: ids.length })}</h2>
      <button type="button" class="round" aria-label=${t("versions.close")} title=${t("versions.close")} onClick=${() => putVersionsAway(node.id)}>${icon("close")}</button></header>
    <ol ref=${list}>${ids.map((id, i) => html`<li key=${id}><button type="button" class="option" aria-current=${id === node.id ? "true" : null} onClick=${() => id !== node.id && toVersion(node, id)}>
      <strong>${t("versions.option", { i: i + 1 })}</strong><span>${previewOf(id)}</span></button></li>`)}</ol></section>`;
}

/** @param {Id} id */
function previewOf(id) {
  const node = nodeOf(id);
  if (!node) return t("loading");
  if (node.status === "generating") return t("phase.waiting");
  return (node.role === "user" ? plain(node.content) : quoted(node.display ?? node.content)) || t(node.status === "error" ? "message.failed" : "stash.nameless");
}
