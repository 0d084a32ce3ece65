// What the frame of the page offers while a story is open, at once: its menu comes after the story.
import { h } from "../../vendor/preact.js";
import { canRun, run } from "../actions/commands.ts";
import "../actions/stash.ts";
import "../actions/tree-page.ts";
import { t } from "../lib/i18n.ts";
import { inTree } from "../model/page.ts";
import { session } from "../model/story.ts";
import { CommandButton, icon } from "./parts.tsx";

/** What is wanted so often that it has its place in the header, where there is room. */
export const StoryTools = () => (
  <span class="wide-only">
    <CommandButton id="session.undo" />
    <CommandButton id="session.redo" />
    <CommandButton id="page.tree" />
  </span>
);

/**
 * The tree in the bar of narrow screens. Where the story is one line only there is none; until that is known its column
 * is kept.
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
