// The items of the page's menu while a story is open. They are loaded after the story, which can be shown without them.
import { Fragment, h } from "../../vendor/preact.js";
import { run } from "../actions/commands.ts";
import "../actions/connection-profiles.ts";
import "../actions/generation.ts";
import "../actions/hidden-values.ts";
import "../actions/lore.ts";
import "../actions/note.ts";
import "../actions/personas.ts";
import "../actions/presets.ts";
import "../actions/recall.ts";
import "../actions/session-list.ts";
import "../actions/session-plugins.ts";
import "../actions/export.ts";
import "../actions/transfers.ts";
import "../actions/workshop.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import storyTexts from "../lib/strings/en-story.ts";
import editsTexts from "../lib/strings/en-edit.ts";
import files from "../lib/strings/en-cards.ts";
import generation from "../lib/strings/en-generation.ts";
import lore from "../lib/strings/en-lore.ts";
import note from "../lib/strings/en-note.ts";
import presets from "../lib/strings/en-presets.ts";
import recall from "../lib/strings/en-recall.ts";
import rules from "../lib/strings/en-plugins.ts";
import sessionList from "../lib/strings/en-session-list.ts";
import workshop from "../lib/strings/en-workshop.ts";
import { showsHidden } from "../model/page.ts";
import { CommandButton, icon } from "./common.tsx";

addEnglish(files);
addEnglish(generation);
addEnglish(lore);
addEnglish(note);
addEnglish(presets);
addEnglish(recall);
addEnglish(rules);
addEnglish(sessionList);
addEnglish(workshop);
addEnglish(storyTexts);
addEnglish(editsTexts);

const ITEMS = [
  "session.undo",
  "session.redo",
  "page.tree",
  "session.branches",
  "session.stash",
  "session.chatsOf",
  "page.lore",
  "page.personas",
  "page.presets",
  "session.profile",
  "session.generation",
  "session.rules",
  "page.workshop",
  "session.note",
  "session.recall",
  "session.file",
  "session.export",
  "session.exportAs",
  "session.spent",
  "page.way",
  "session.linear",
  "session.tree",
];

export const SessionMenu = () => (
  <>
    <hr />
    {ITEMS.map((id) => (
      <CommandButton key={id} id={id} wide />
    ))}
    <button
      type="button"
      data-command="page.creator"
      aria-pressed={showsHidden.value}
      onClick={() => run("page.creator")}
    >
      {icon("check")}
      {t("command.creator")}
    </button>
  </>
);
