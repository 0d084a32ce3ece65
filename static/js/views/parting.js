// What tells lines from each other that begin alike: where they part, and how old they are.
import { h, html, useSignal } from "../../vendor/preact.js";
import { readPartings } from "../actions/branches.js";
import { excerpt } from "../lib/excerpt.js";
import { ago, moment, t } from "../lib/i18n.js";
import { quoted } from "../lib/tags.js";
import { useLatest } from "./reading.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */

/** So many characters of a message name a place. */
const BEGINNING = 48;

/** @param {{node: ChatNode | null}} props the last message that two lines share; null: there is none, or nobody knows yet */
export function Parting({ node }) {
  if (node === null) return null;
  const text = excerpt(quoted(node.display ?? node.content), BEGINNING);
  return html`<span class="parting">${text ? t("branches.parted", { text }) : t("branches.fromStart")}</span>`;
}

/** @param {{nid: Id}} props the last node that two lines share */
export function PartingAt({ nid }) {
  const node = useSignal(/** @type {ChatNode | null} */ (null));
  useLatest(() => readPartings([nid]), (found) => (node.value = found.get(nid) ?? null), [nid]);
  return h(Parting, { node: node.value });
}

/** @param {{timestamp: string}} props */
export const Ago = ({ timestamp }) => html`<time datetime=${timestamp} title=${moment(timestamp)}>${ago(timestamp, Date.now())}</time>`;
