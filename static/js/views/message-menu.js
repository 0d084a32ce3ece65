// The menu of a message: what is done with it more seldom than its buttons say. What is in it comes after the story.
import { h, html } from "../../vendor/preact.js";
import { t } from "../lib/i18n.js";
import { Menu, later } from "./parts.js";

/** @import { ChatNode } from "../lib/wire.d.ts" */

export const MOST_STARS = 5;

export const MessageItems = later(() => import("./message-items.js").then((module) => module.Items), 0);

/** @param {{node: ChatNode, without?: string[], first?: string[]}} props `without`: commands that only make sense in the chat; `first`: more of them, above the others */
export const MessageMenu = ({ node, without = [], first = [] }) =>
  h(Menu, { label: t("command.menu"), symbol: "more", class: "more" }, h(MessageItems, { node, without, first }));

/** The stars that a message has. @param {{node: ChatNode}} props */
export function Stars({ node }) {
  const has = node.metadata?.rating ?? 0;
  return has === 0 ? null : html`<span class="given-stars" role="img" aria-label=${t("rating.has", { n: has })} title=${t("rating.has", { n: has })}>${"★".repeat(has)}<i>${"★".repeat(MOST_STARS - has)}</i></span>`;
}
