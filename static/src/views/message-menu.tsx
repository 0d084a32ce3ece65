// The menu of a message, for actions that are rarer than those of its buttons. Its items are loaded after the story.
import { h } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { Menu, lazyView } from "./common.tsx";
import type { ChatNode } from "../lib/wire.d.ts";

export const MAX_STARS = 5;

export const MessageItems = lazyView(() => import("./message-items.tsx").then((module) => module.MessageItems), 0);

/**
 * Renders the menu.
 * @param props `without`: commands that only make sense in the chat; `first`: more items, above the others
 */
export const MessageMenu = ({
  node,
  without = [],
  first = [],
}: {
  node: ChatNode;
  without?: string[];
  first?: string[];
}) => (
  <Menu label={t("command.menu")} symbol="more" class="more">
    <MessageItems node={node} without={without} first={first} />
  </Menu>
);

/** Shows the rating of a message as stars. */
export function Stars({ node }: { node: ChatNode }) {
  const has = node.metadata?.rating ?? 0;
  return has === 0 ? null : (
    <span class="given-stars" role="img" aria-label={t("rating.has", { n: has })} title={t("rating.has", { n: has })}>
      {"★".repeat(has)}
      <i>{"★".repeat(MAX_STARS - has)}</i>
    </span>
  );
}
