// A run of messages that follow each other: its first and its last are chosen, the rest is between them.
import { h, html } from "../../vendor/preact.js";
import { excerpt } from "../lib/excerpt.js";
import { clock, t } from "../lib/i18n.js";
import { quoted } from "../lib/tags.js";
import { nameOf } from "../tree/speaker.js";
import { ReadOnly } from "./message.js";
import { icon } from "./parts.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */

/** So many characters of a message stand in a list of them. */
const BEGINNING = 60;

/** Messages that say the same differ by their number and their time. @param {ChatNode} node @param {number} i */
const titleOf = (node, i) => `${i + 1}. ${nameOf(node)}, ${clock(node.timestamp)}: ${excerpt(quoted(node.display ?? node.content), BEGINNING)}`;

/** The messages from the first to the last of a run. @param {ChatNode[]} nodes @param {Id} first @param {Id} last */
export function runOf(nodes, first, last) {
  const place = (/** @type {Id} */ id) => nodes.findIndex((node) => node.id === id);
  return nodes.slice(Math.max(0, place(first)), place(last) + 1);
}

/** @param {{nodes: ChatNode[], first: Id, last: Id, put: (first: Id, last: Id) => void}} props */
export function RunChooser({ nodes, first, last, put }) {
  const at = (/** @type {Id} */ id) => nodes.findIndex((node) => node.id === id);
  const run = runOf(nodes, first, last);
  const choice = (/** @type {"first" | "last"} */ which, /** @type {Id} */ now) =>
    html`<label>${t(`run.${which}`)}<select value=${now} onChange=${(/** @type {Event} */ event) => turn(which, /** @type {HTMLSelectElement} */ (event.target).value)}>${nodes.map((node, i) => html`<option key=${node.id} value=${node.id} selected=${node.id === now}>${titleOf(node, i)}</option>`)}</select></label>`;
  const turn = (/** @type {"first" | "last"} */ which, /** @type {Id} */ id) =>
    which === "first" ? put(id, at(last) < at(id) ? id : last) : put(at(id) < at(first) ? id : first, id);
  return html`<div class="run">${choice("first", first)}${choice("last", last)}</div>
    <details><summary>${t("stash.count", { n: run.length })}</summary><ol class="contents">${run.map((node) => h(Text, { key: node.id, node }))}</ol></details>`;
}

/** A message that is only read. @param {{node: ChatNode}} props */
export const Text = ({ node }) =>
  html`<li class=${node.isEnabled === false ? "disabled" : ""}><b>${nameOf(node)}</b>${node.isEnabled === false && html` <small>${icon("eyeOff")}${t("message.leftOut")}</small>`}${h(ReadOnly, { node })}</li>`;
