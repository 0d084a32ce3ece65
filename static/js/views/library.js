// The first page: what to do at the start, stories to go on with, characters, models.
import { h, html } from "../../vendor/preact.js";
import { ask, begin, favour, isReady, offered, readHosts, readLibrary, readMoreSessions } from "../actions/library.js";
import { wordsFor } from "../actions/failure.js";
import { navigate } from "../actions/travel.js";
import { ago, moment, t } from "../lib/i18n.js";
import { excerpt } from "../lib/excerpt.js";
import { favouritesFirst } from "../lib/shelf.js";
import { plain, sentence, withNames } from "../lib/text.js";
import { characterById, loading, models, moreSessions, sessions, spokenModels } from "../model/library.js";
import { dialog, keptAt, openDialog } from "../model/page.js";
import { Avatar, Blank, Menu, Waiting, icon, later } from "./parts.js";

/** @import { Character, ModelInfo, Session } from "../lib/wire.d.ts" */

const Transfers = later(() => import("./transfers.js").then((module) => module.Transfers), 0);
const Years = later(() => import("./transfers.js").then((module) => module.Years), 0);
const CharacterTools = later(() => import("./cards.js").then((module) => module.CharacterTools), 0);
const SessionTools = later(() => import("./cards.js").then((module) => module.SessionTools), 0);

const Characters = later(() => import("./characters.js").then((module) => module.Characters));
/** So many letters of its newest message tell a story from another. */
const PREVIEW = 100;
/** More characters than these are looked through, and not looked at all at once. */
const MANY = 24;

export function Library() {
  return html`<div class="library"><div class="library-inner">${h(Contents, {})}</div></div>`;
}

function Contents() {
  const state = loading.value;
  if (state.state === "failed") {
    const words = wordsFor(state.error);
    return h(Blank, { symbol: "warning", title: words.text, hint: words.hint, whole: true }, html`<button type="button" class="primary" onClick=${readLibrary}>${t("retry")}</button>`);
  }
  if (state.state !== "ready") return h(Waiting, { rows: 4 });
  const all = offered();
  const adventure = all.find(isReady);
  const others = favouritesFirst(all.filter((character) => character !== adventure));
  const first = sessions.value.length === 0;
  // Who has just come is offered a model beside the other ways to begin, and once.
  const offersModel = first && keptAt.value === null && models.value !== null && spokenModels.value.length === 0 && (models.value.problems ?? []).length === 0;
  return html`${first ? h(Welcome, { adventure }) : html`<h1 class="hidden">${t("command.library")}</h1>`}
    ${!first && h(Sessions, {})}
    <section aria-labelledby="begin"><h2 id="begin">${t(first ? "library.or" : "library.new")}</h2><ul class="cards">
      ${!first && adventure && html`<li>${h(CharacterCard, { character: adventure })}</li>`}
      ${others.length <= MANY && others.map((character) => html`<li key=${character.id}>${managed(character)}</li>`)}
      <li><button type="button" class="card new" onClick=${() => openDialog({ kind: "character" })}>${icon("plus")}<strong>${t("library.create")}</strong><span>${t("library.createHint")}</span></button></li>
      ${first && html`<li>${h(Years, {})}</li>`}${offersModel && html`<li><button type="button" class="card new" onClick=${() => openDialog({ kind: "connect", providerId: null, back: null })}>${icon("plug")}<strong>${t("models.title")}</strong><span>${t("models.short")}</span></button></li>`}
    </ul>${others.length > MANY && h(Characters, { all: others, card: managed })}</section>
    ${!offersModel && (keptAt.value === null || spokenModels.value.length > 0) && h(Models, {})}
    ${h(Transfers, {})}`;
}

/** @param {{adventure: Character | undefined}} props */
function Welcome({ adventure }) {
  return html`<section class="welcome"><h1>${t("welcome.title")}</h1><p class="lead">${t("welcome.lead")}</p>
    ${adventure && html`<div class="hero"><div class="glow" aria-hidden="true"></div><div>
      <h2>${adventure.name}</h2><p>${aboutOf(adventure)}</p>
      <button type="button" class="primary big" onClick=${() => begin(adventure)}>${icon("play")}<span>${t("welcome.play")}</span></button>
      <p class="small">${t("welcome.playHint")}</p></div></div>`}</section>`;
}

function Sessions() {
  const now = Date.now();
  return html`<section aria-labelledby="stories"><h2 id="stories">${t("library.continue")}</h2><ul class="sessions">
    ${sessions.value.map((session) => h(SessionRow, { key: session.id, session, now }))}</ul>
    ${moreSessions.value && html`<button type="button" onClick=${readMoreSessions}>${t("library.more")}</button>`}</section>`;
}

/** @param {{session: Session, now: number}} props */
function SessionRow({ session, now }) {
  const character = characterById(session.characterIds[0] ?? "");
  const path = `/s/${session.id}`;
  const open = (/** @type {MouseEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    navigate(path);
  };
  const counts = session.counts;
  return html`<li class="session"><a href=${path} onClick=${open}>${h(Avatar, { name: character?.name ?? session.title, src: character?.avatar })}
      <span class="session-text"><strong>${session.title}</strong>${session.preview && html`<span class="preview">${excerpt(plain(session.preview), PREVIEW)}</span>`}<small>${[
        character && character.name !== session.title ? character.name : "",
        counts && t("library.turns", { n: counts.turns }),
        counts && counts.branches > 1 ? t("library.branches", { n: counts.branches }) : "",
        sessions.value.some(({ id, title }) => id !== session.id && title === session.title) ? t("library.begun", { when: moment(session.createdAt) }) : "",
      ].filter(Boolean).map((part) => `${part} · `)}<time datetime=${session.updatedAt} title=${moment(session.updatedAt)}>${ago(session.updatedAt, now)}</time></small></span></a>
    ${h(Menu, { label: t("library.manage", { name: session.title }) }, html`<button type="button" onClick=${() => ask(session, "rename")}>${icon("edit")}${t("command.rename")}</button>
      ${h(SessionTools, { session })}
      <button type="button" onClick=${() => ask(session, "delete")}>${icon("trash")}${t("command.delete")}</button>`)}</li>`;
}

/** What a card says of itself. @param {Character} character */
const aboutOf = ({ name, description, scenario, creatorNotes }) => withNames(description || scenario || creatorNotes, { char: name, user: t("library.reader") });

/** A card with what can be done with it. @param {Character} character */
const managed = (character) =>
  html`${h(CharacterCard, { character })}<button type="button" class="round star" aria-pressed=${character.isFavourite === true} aria-label=${t("library.favourite", { name: character.name })} title=${t("library.favourite", { name: character.name })} onClick=${() => favour(character)}>${icon("star")}</button>${h(Menu, { label: t("library.manage", { name: character.name }) }, h(CharacterTools, { character }))}`;

/** @param {{character: Character}} props */
function CharacterCard({ character }) {
  const start = () => (isReady(character) ? begin(character) : openDialog({ kind: "start", characterId: character.id }));
  return html`<button type="button" class="card" onClick=${start}>${h(Avatar, { name: character.name, src: character.avatar ?? null })}
    <strong>${character.name}</strong><span>${aboutOf(character)}</span></button>`;
}

/** How a model is told of the tools of rules, where that is not its own way. @param {ModelInfo} model */
const toolsOf = ({ tools }) => (tools === "words" || tools === "none") && html` <small>${t(`models.tools.${tools}`)}</small>`;

export function Models() {
  const list = spokenModels.value;
  const problems = models.value?.problems ?? [];
  return html`<section aria-labelledby="models" class="models"><h2 id="models">${icon("plug")}${t("models.title")}</h2>
    ${models.value === null
      ? html`<p>${t("loading")}</p>`
      : list.length > 0
      ? html`<p>${t("models.have", { n: list.length })}</p><ul class="model-list">${list.slice(0, 12).map((model) => html`<li key=${model.id} class="chip">${model.id}${toolsOf(model)}</li>`)}</ul>`
      : html`<p>${t("models.none")}</p>`}
    ${problems.map(({ provider, message }) => html`<p key=${provider} class="problem">${icon("warning")}<span><b>${provider}</b> ${t("models.problem")} ${sentence(message)}</span></p>`)}
    <div class="actions start"><button type="button" class=${models.value !== null && list.length === 0 ? "primary" : ""} onClick=${() => openDialog({ kind: "connect", providerId: null, back: dialog.peek() })}>${icon("plug")}<span>${t("models.connect")}</span></button>
      <button type="button" onClick=${readHosts}>${icon("reroll")}<span>${t("models.again")}</span></button></div>
    ${models.value !== null && list.length === 0 && html`<p class="aside">${t("models.howSmall")}</p>`}</section>`;
}
