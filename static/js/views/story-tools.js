// What the frame of the page offers while a story is open, at once: its menu comes after the story.
import { h, html } from "../../vendor/preact.js";
import { canRun, run } from "../actions/commands.js";
import "../actions/stash.js";
import "../actions/tree-page.js";
import { t } from "../lib/i18n.js";
import { inTree } from "../model/page.js";
import { session } from "../model/story.js";
import { CommandButton, icon } from "./parts.js";

/** What is wanted so often that it has its place in the header, where there is room. */
export const StoryTools = () => html`<span class="wide-only">${h(CommandButton, { id: "session.undo" })}${h(CommandButton, { id: "session.redo" })}${h(CommandButton, { id: "page.tree" })}</span>`;

/** The tree in the bar of narrow screens. Where the story is one line only there is none; until that is known its column is kept. */
export const TreeTab = () => (session.value === null ? html`<span></span>` : canRun("page.tree") && html`<button type="button" data-command="page.tree" aria-current=${inTree.value ? "page" : null} aria-label=${t("command.overview")} onClick=${() => inTree.peek() || run("page.tree")}>${icon("tree")}<span>${t("tree.short")}</span></button>`);
