// The first page: first steps, sessions, characters and models.
import { Fragment, h } from "../../vendor/preact.js";
import {
  openSessionDialog,
  startSession,
  toggleFavourite,
  isReadyToPlay,
  offeredCharacters,
  readModelsAndPlugins,
  readLibrary,
  readMoreSessions,
} from "../actions/library.ts";
import { errorText } from "../actions/error-text.ts";
import { navigate } from "../actions/navigation.ts";
import { ago, moment, t } from "../lib/i18n.ts";
import { excerpt } from "../lib/excerpt.ts";
import { favouritesFirst } from "../lib/character-list.ts";
import { plainText, withNames } from "../lib/text.ts";
import { characterById, loading, models, moreSessions, sessions, chatModels } from "../model/library.ts";
import { dialog, offlineCopyAt, openDialog } from "../model/page.ts";
import { TOOLS_FROM, isFiltered, selectedSessions, sessionFilter } from "../model/session-list.ts";
import { Avatar, EmptyState, Menu, LoadingRows, icon, lazyView } from "./common.tsx";
import type { Character, ModelInfo, Session } from "../lib/wire.d.ts";

const ModelProblems = lazyView(() => import("./model-problems.tsx").then((module) => module.ModelProblems), 0);
const Transfers = lazyView(() => import("./transfers.tsx").then((module) => module.Transfers), 0);
const ImportHistoryButton = lazyView(() => import("./transfers.tsx").then((module) => module.ImportHistoryButton), 0);
const CharacterTools = lazyView(() => import("./library-items.tsx").then((module) => module.CharacterItems), 0);
const SessionTools = lazyView(() => import("./library-items.tsx").then((module) => module.SessionItems), 0);

const sessionList = () => import("./session-list.tsx");
const SessionListTools = lazyView(
  () => sessionList().then((module) => module.SessionListTools),
  // The room of the tools, so that the list does not move when they arrive.
  () => (sessions.value.length >= TOOLS_FROM ? <div class="stories-tools coming" /> : null),
);
const SessionFolders = lazyView(() => sessionList().then((module) => module.SessionFolders), 0);
const SessionCheckBox = lazyView(() => sessionList().then((module) => module.SessionCheckBox), 0);
const Characters = lazyView(() => import("./characters.tsx").then((module) => module.Characters));
/** Length of the preview of a session's newest message, in characters. */
const PREVIEW_LENGTH = 100;
/** Maximum number of characters that are all shown at once. More of them get the list with search. */
const SEARCH_FROM = 24;

export function Library() {
  return (
    <div class="library">
      <div class="library-inner">
        <Contents />
      </div>
    </div>
  );
}

function Contents() {
  const state = loading.value;
  if (state.state === "failed") {
    const words = errorText(state.error);
    return (
      <EmptyState symbol="warning" title={words.text} hint={words.hint} whole>
        <button type="button" class="primary" onClick={readLibrary}>
          {t("retry")}
        </button>
      </EmptyState>
    );
  }
  if (state.state !== "ready") return <LoadingRows rows={4} />;
  const all = offeredCharacters();
  const adventure = all.find(isReadyToPlay);
  const others = favouritesFirst(all.filter((character) => character !== adventure));
  const first = sessions.value.length === 0 && !isFiltered(sessionFilter.value);
  // A new user gets the offer to connect a model beside the other ways to begin, and not a second time below.
  const offersModel =
    first &&
    offlineCopyAt.value === null &&
    models.value !== null &&
    chatModels.value.length === 0 &&
    (models.value.problems ?? []).length === 0;
  // Before the models are read, a new user's place for the offer is unknown: it would move under the pointer.
  const placeUnknown = first && models.value === null;
  const showsModels = !offersModel && !placeUnknown && (offlineCopyAt.value === null || chatModels.value.length > 0);
  return (
    <>
      {first ? <Welcome adventure={adventure} /> : <h1 class="hidden">{t("command.library")}</h1>}
      {!first && <Sessions />}
      <section aria-labelledby="begin">
        <h2 id="begin">{t(first ? "library.or" : "library.new")}</h2>
        <ul class="cards">
          {!first && adventure && (
            <li>
              <CharacterCard character={adventure} />
            </li>
          )}
          {others.length <= SEARCH_FROM &&
            others.map((character) => <li key={character.id}>{withTools(character)}</li>)}
          <li>
            <button type="button" class="card new" onClick={() => openDialog({ kind: "character" })}>
              {icon("plus")}
              <strong>{t("library.create")}</strong>
              <span>{t("library.createHint")}</span>
            </button>
          </li>
          {first && (
            <li>
              <ImportHistoryButton />
            </li>
          )}
          {offersModel && (
            <li>
              <button
                type="button"
                class="card new"
                onClick={() => openDialog({ kind: "connect", providerId: null, back: null })}
              >
                {icon("plug")}
                <strong>{t("models.title")}</strong>
                <span>{t("models.short")}</span>
              </button>
            </li>
          )}
        </ul>
        {others.length > SEARCH_FROM && <Characters all={others} card={withTools} />}
      </section>
      {showsModels && <Models />}
      <Transfers />
    </>
  );
}

function Welcome({ adventure }: { adventure: Character | undefined }) {
  return (
    <section class="welcome">
      <h1>{t("welcome.title")}</h1>
      <p class="lead">{t("welcome.lead")}</p>
      {adventure && (
        <div class="hero">
          <div class="glow" aria-hidden="true" />
          <div>
            <h2>{adventure.name}</h2>
            <p>{aboutOf(adventure)}</p>
            <button type="button" class="primary big" onClick={() => startSession(adventure)}>
              {icon("play")}
              <span>{t("welcome.play")}</span>
            </button>
            <p class="small">{t("welcome.playHint")}</p>
          </div>
        </div>
      )}
    </section>
  );
}

function Sessions() {
  const all = sessions.value;
  const folders = isFiltered(sessionFilter.value) ? [] : [...new Set(all.flatMap(({ folder }) => folder ?? []))];
  const outside = folders.length > 0 ? all.filter(({ folder }) => !folder) : all;
  return (
    <section aria-labelledby="stories">
      <h2 id="stories">{t("library.continue")}</h2>
      <SessionListTools />
      {outside.length > 0 && <SessionRows list={outside} />}
      {!isFiltered(sessionFilter.value) && <SessionFolders rows={SessionRows} />}
      {moreSessions.value && (
        <button type="button" onClick={readMoreSessions}>
          {t("library.more")}
        </button>
      )}
    </section>
  );
}

function SessionRows({ list }: { list: Session[] }) {
  const now = Date.now();
  return (
    <ul class="sessions">
      {list.map((session) => (
        <SessionRow key={session.id} session={session} now={now} />
      ))}
    </ul>
  );
}

function SessionRow({ session, now }: { session: Session; now: number }) {
  const character = characterById(session.characterIds[0] ?? "");
  const path = `/s/${session.id}`;
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    navigate(path);
  };
  const counts = session.counts;
  const selected = selectedSessions.value;
  return (
    <li class={`session ${selected?.has(session.id) ? "selected" : ""}`}>
      {selected && <SessionCheckBox session={session} />}
      <a href={path} onClick={open}>
        <Avatar name={character?.name ?? session.title} src={character?.avatar} />
        <span class="session-text">
          <strong title={session.title}>
            {session.isPinned && icon("pin")}
            {session.title}
          </strong>
          {session.preview && <span class="preview">{excerpt(plainText(session.preview), PREVIEW_LENGTH)}</span>}
          <small>
            {[
              character && character.name !== session.title ? character.name : "",
              counts && t("library.turns", { n: counts.turns }),
              counts && counts.branches > 1 ? t("library.branches", { n: counts.branches }) : "",
              sessions.value.some(({ id, title }) => id !== session.id && title === session.title)
                ? t("library.begun", { when: moment(session.createdAt) })
                : "",
              isFiltered(sessionFilter.value) ? (session.folder ?? "") : "",
              ...(session.tags ?? []).map((tag) => `#${tag}`),
            ]
              .filter(Boolean)
              .map((part) => `${part} · `)}
            <time datetime={session.updatedAt} title={moment(session.updatedAt)}>
              {ago(session.updatedAt, now)}
            </time>
          </small>
        </span>
      </a>
      <Menu label={t("library.manage", { name: session.title })}>
        <button type="button" onClick={() => openSessionDialog(session, "rename")}>
          {icon("edit")}
          {t("command.rename")}
        </button>
        <SessionTools session={session} />
        <button type="button" onClick={() => openSessionDialog(session, "delete")}>
          {icon("trash")}
          {t("command.delete")}
        </button>
      </Menu>
    </li>
  );
}

/** Returns the description of a card. */
const aboutOf = ({ name, description, scenario, creatorNotes }: Character) =>
  withNames(description || scenario || creatorNotes, { char: name, user: t("library.reader") });

/** Returns a card with its buttons. */
const withTools = (character: Character) => (
  <>
    <CharacterCard character={character} />
    <button
      type="button"
      class="round star"
      aria-pressed={character.isFavourite === true}
      aria-label={t("library.favourite", { name: character.name })}
      title={t("library.favourite", { name: character.name })}
      onClick={() => toggleFavourite(character)}
    >
      {icon("star")}
    </button>
    <Menu label={t("library.manage", { name: character.name })}>
      <CharacterTools character={character} />
    </Menu>
  </>
);

function CharacterCard({ character }: { character: Character }) {
  const start = () =>
    isReadyToPlay(character) ? startSession(character) : openDialog({ kind: "start", characterId: character.id });
  return (
    <button type="button" class="card" onClick={start}>
      <Avatar name={character.name} src={character.avatar ?? null} />
      <strong>{character.name}</strong>
      <span>{aboutOf(character)}</span>
    </button>
  );
}

/** Returns how a model gets the tools of plugins, if it has no native tool calls. */
const toolsOf = ({ tools }: ModelInfo) =>
  (tools === "words" || tools === "none") && (
    <>
      {" "}
      <small>{t(`models.tools.${tools}`)}</small>
    </>
  );

export function Models() {
  const list = chatModels.value;
  const problems = models.value?.problems ?? [];
  return (
    <section aria-labelledby="models" class="models">
      <h2 id="models">
        {icon("plug")}
        {t("models.title")}
      </h2>
      {models.value === null ? (
        <p>{t("loading")}</p>
      ) : list.length > 0 ? (
        <>
          <p>{t("models.have", { n: list.length })}</p>
          <ul class="model-list">
            {list.slice(0, 12).map((model) => (
              <li key={model.id} class="chip">
                {model.id}
                {toolsOf(model)}
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p>{t("models.none")}</p>
      )}
      {problems.length > 0 && <ModelProblems />}
      <div class="actions start">
        <button
          type="button"
          class={models.value !== null && list.length === 0 ? "primary" : ""}
          onClick={() => openDialog({ kind: "connect", providerId: null, back: dialog.peek() })}
        >
          {icon("plug")}
          <span>{t("models.connect")}</span>
        </button>
        <button type="button" onClick={readModelsAndPlugins}>
          {icon("reroll")}
          <span>{t("models.again")}</span>
        </button>
      </div>
      {models.value !== null && list.length === 0 && <p class="aside">{t("models.howSmall")}</p>}
    </section>
  );
}
