// What the header and the menu of the page offer while a story is open.
import { h, html } from "../../vendor/preact.js";
import { canRun, run } from "../actions/commands.js";
import "../actions/creator.js";
import "../actions/lore.js";
import "../actions/note.js";
import "../actions/personas.js";
import "../actions/presets.js";
import "../actions/recall.js";
import "../actions/rules.js";
import "../actions/takeout.js";
import "../actions/transfers.js";
import "../actions/tree-page.js";
import "../actions/workshop.js";
import { addEnglish, t } from "../lib/i18n.js";
import note from "../lib/strings/en-note.js";
import presets from "../lib/strings/en-presets.js";
import recall from "../lib/strings/en-recall.js";
import rules from "../lib/strings/en-rules.js";
import workshop from "../lib/strings/en-workshop.js";
import { inTree, seesAll } from "../model/page.js";
import { CommandButton, icon } from "./parts.js";

addEnglish(note);
addEnglish(presets);
addEnglish(recall);
addEnglish(rules);
addEnglish(workshop);

const ITEMS = ["session.undo", "session.redo", "page.tree", "session.branches", "session.stash", "page.lore", "page.personas", "page.presets", "session.rules", "page.workshop", "session.note", "session.recall", "session.file", "session.export", "session.exportAs", "session.spent", "page.way", "session.linear", "session.tree"];

export const StoryMenu = () => html`<hr />${ITEMS.map((id) => h(CommandButton, { key: id, id, wide: true }))}
  <button type="button" data-command="page.creator" aria-pressed=${seesAll.value} onClick=${() => run("page.creator")}>${icon("check")}${t("command.creator")}</button>`;

/** What is wanted so often that it has its place in the header, where there is room. */
export const StoryTools = () => html`<span class="wide-only">${h(CommandButton, { id: "session.undo" })}${h(CommandButton, { id: "session.redo" })}${h(CommandButton, { id: "page.tree" })}</span>`;

/** The tree in the bar of narrow screens. Where the story is one line only there is none. */
export const TreeTab = () =>
  canRun("page.tree") && html`<button type="button" data-command="page.tree" aria-current=${inTree.value ? "page" : null} aria-label=${t("command.overview")} onClick=${() => inTree.peek() || run("page.tree")}>${icon("tree")}<span>${t("tree.short")}</span></button>`;
