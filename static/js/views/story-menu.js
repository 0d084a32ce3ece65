// What the menu of the page offers while a story is open. It comes after the story, which is on screen without it.
import { h, html } from "../../vendor/preact.js";
import { run } from "../actions/commands.js";
import "../actions/creator.js";
import "../actions/lore.js";
import "../actions/note.js";
import "../actions/personas.js";
import "../actions/presets.js";
import "../actions/recall.js";
import "../actions/rules.js";
import "../actions/takeout.js";
import "../actions/transfers.js";
import "../actions/workshop.js";
import { addEnglish, t } from "../lib/i18n.js";
import files from "../lib/strings/en-cards.js";
import lore from "../lib/strings/en-lore.js";
import note from "../lib/strings/en-note.js";
import presets from "../lib/strings/en-presets.js";
import recall from "../lib/strings/en-recall.js";
import rules from "../lib/strings/en-rules.js";
import workshop from "../lib/strings/en-workshop.js";
import { seesAll } from "../model/page.js";
import { CommandButton, icon } from "./parts.js";

addEnglish(files);
addEnglish(lore);
addEnglish(note);
addEnglish(presets);
addEnglish(recall);
addEnglish(rules);
addEnglish(workshop);

const ITEMS = ["session.undo", "session.redo", "page.tree", "session.branches", "session.stash", "page.lore", "page.personas", "page.presets", "session.rules", "page.workshop", "session.note", "session.recall", "session.file", "session.export", "session.exportAs", "session.spent", "page.way", "session.linear", "session.tree"];

export const StoryMenu = () => html`<hr />${ITEMS.map((id) => h(CommandButton, { key: id, id, wide: true }))}
  <button type="button" data-command="page.creator" aria-pressed=${seesAll.value} onClick=${() => run("page.creator")}>${icon("check")}${t("command.creator")}</button>`;
