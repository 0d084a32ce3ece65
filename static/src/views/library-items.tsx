// The menu items of a character or session on the first page. Loaded separately from the page.
import { Fragment, h } from "../../vendor/preact.js";
import { downloadCard } from "../actions/cards.ts";
import { removeCharacter } from "../actions/library.ts";
import { openExportDialog, exportSession } from "../actions/export.ts";
import { arrangeSession, showChatsOf } from "../actions/session-list.ts";
import { copySession } from "../actions/transfers.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import storyTexts from "../lib/strings/en-story.ts";
import words from "../lib/strings/en-cards.ts";
import versions from "../lib/strings/en-card-versions.ts";
import edits from "../lib/strings/en-edit.ts";
import sessionList from "../lib/strings/en-session-list.ts";
import { openDialog } from "../model/page.ts";
import { icon } from "./common.tsx";
import type { Character, Session } from "../lib/wire.d.ts";

addEnglish(words);
addEnglish(versions);
addEnglish(edits);
addEnglish(sessionList);
addEnglish(storyTexts);

const FORMATS = ["png", "json", "charx"] as const;

export const CharacterItems = ({ character }: { character: Character }) => (
  <>
    <button type="button" onClick={() => openDialog({ kind: "editCharacter", characterId: character.id })}>
      {icon("edit")}
      {t("character.edit")}
    </button>
    <button type="button" onClick={() => openDialog({ kind: "cardVersions", characterId: character.id })}>
      {icon("rewind")}
      {t("cardVersions.open")}
    </button>
    <button type="button" onClick={() => showChatsOf(character.id)}>
      {icon("chat")}
      {t("stories.chatsOf", { name: character.name })}
    </button>
    {FORMATS.map((form) => (
      <button type="button" onClick={() => downloadCard(character.id, form)}>
        {icon("download")}
        {t(`character.take.${form}`)}
      </button>
    ))}
    <button type="button" onClick={() => removeCharacter(character)}>
      {icon("trash")}
      {t("library.deleteCharacter")}
    </button>
  </>
);

export const SessionItems = ({ session, session: { id, title, isPinned } }: { session: Session }) => (
  <>
    <button type="button" onClick={() => arrangeSession(session, { isPinned: !isPinned })}>
      {icon("pin")}
      {t(isPinned ? "stories.unpin" : "stories.pin")}
    </button>
    <button type="button" onClick={() => openDialog({ kind: "arrangeSessions", ids: [id] })}>
      {icon("folder")}
      {t("stories.arrange")}
    </button>
    <button type="button" onClick={() => copySession({ id, title })}>
      {icon("copy")}
      {t("library.duplicate")}
    </button>
    <button type="button" onClick={() => openDialog({ kind: "usage", sid: id })}>
      {icon("chart")}
      {t("command.spent")}
    </button>
    <button type="button" onClick={() => exportSession(id)}>
      {icon("download")}
      {t("command.export")}
    </button>
    <button type="button" onClick={() => openExportDialog(id, title)}>
      {icon("download")}
      {t("command.exportAs")}
    </button>
  </>
);
