// Parts of the page's frame that are shown as soon as a story is open. Its menu is loaded after the story.
import { h } from "../../vendor/preact.js";
import { canRun, run } from "../actions/commands.ts";
import "../actions/stash.ts";
import "../actions/tree-page.ts";
import { t } from "../lib/i18n.ts";
import { inTree } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { CommandButton, icon } from "./common.tsx";

/** The buttons of frequent commands in the header, if there is room. */
export const SessionButtons = () => (
  <span class="wide-only">
    <CommandButton id="session.undo" />
    <CommandButton id="session.redo" />
    <CommandButton id="page.tree" />
  </span>
);

/**
 * Renders the tab of the tree on narrow screens. A linear story has none. Until the story is loaded, the tab's column
 * stays reserved.
 */
export const TreeTab = () =>
  session.value === null ? (
    <span />
  ) : (
    canRun("page.tree") && (
      <button
        type="button"
        data-command="page.tree"
        aria-current={inTree.value ? "page" : undefined}
        aria-label={t("command.overview")}
        onClick={() => inTree.peek() || run("page.tree")}
      >
        {icon("tree")}
        <span>{t("tree.short")}</span>
      </button>
    )
  );
