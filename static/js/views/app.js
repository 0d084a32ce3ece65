// The frame: header, the panes, the bar of narrow screens, notices, dialogs.
import { h, html } from "../../vendor/preact.js";
import { run } from "../actions/commands.js";
import { speakIn } from "../actions/page.js";
import { navigate } from "../actions/travel.js";
import { LOCALES, ago, locale, t } from "../lib/i18n.js";
import { notFetched } from "../lib/modules.js";
import { dialog, door, inTree, keptAt, opened, pane, route, setTheme, showPane, spoken, theme, tintsSpeech, worldBeside } from "../model/page.js";
import { loading, online, session } from "../model/story.js";
import { Library } from "./library.js";
import { CommandButton, Menu, Notices, icon, later } from "./parts.js";

/** @import { Key, Locale } from "../lib/i18n.js" */
/** @import { Theme } from "../model/page.js" */

// The first page weighs little; the story and its Markdown follow while the reader looks at it.
const story = () => import("./story.js");
const dialogs = () => import("./dialogs.js");
const Story = later(() => story().then((module) => module.Story), 6);
const Settings = later(() => import("./settings.js").then((module) => module.Settings), 6);
const Door = later(() => import("./door.js").then((module) => module.Door), 0);
const StoryMenu = later(() => import("./story-menu.js").then((module) => module.StoryMenu), 0);
const StoryTools = later(() => story().then((module) => module.StoryTools), 0);
/** Its column in the bar is there before it: no other tab moves away under a finger. */
const TreeTab = later(() => story().then((module) => module.TreeTab), () => html`<span></span>`);
const OpenDialog = later(() => dialogs().then((module) => module.OpenDialog), 0);

/** Loads what the next click needs, as far as it is not there. @returns {Promise<boolean>} whether all of it is there now */
export async function loadAhead() {
  const parts = await Promise.all([story().then(({ bringRest }) => bringRest(), notFetched), StoryMenu.bring(), OpenDialog.bring()]);
  return !parts.flat().includes(null);
}

export function App() {
  if (door.value) return h(Door, door.value);
  const inStory = route.value.page === "story";
  const isWhole = inStory && loading.value.state !== "failed";
  const look = `app ${inStory ? "in-story" : "in-library"} ${inTree.value ? "in-tree" : ""} ${worldBeside.value && isWhole ? "world-beside" : ""} pane-${isWhole ? pane.value : "chat"}`;
  return html`<div class=${look}>${h(Header, {})}
    ${h(Offline, {})}
    ${h(Notices, { inDialog: false })}
    <main>${inStory ? h(Story, {}) : route.value.page === "settings" ? h(Settings, {}) : h(Library, {})}</main>
    ${h(BottomBar, {})}${dialog.value && h(OpenDialog, { key: opened, open: dialog.value })}
    <p class="hidden" aria-live="polite">${spoken.value}</p></div>`;
}

/** What is on screen is what was kept of it, or the line of a story was lost. */
function Offline() {
  const isLost = route.value.page === "story" && !online.value && loading.value.state === "ready";
  const at = keptAt.value;
  if (at === null && !isLost) return null;
  return html`<p class="offline" role="status">${icon("warning")}${at === null ? t("offline") : t(route.value.page === "story" ? "offline.kept" : "offline.keptPage", { when: ago(at, Date.now()) })}</p>`;
}

function Header() {
  const inStory = route.value.page === "story";
  const home = (/** @type {Event} */ event) => (event.preventDefault(), navigate("/"));
  return html`<header class="topbar">
    <a class="brand" href="/" onClick=${home} aria-label=${`Clotho, ${t("command.library")}`}><span class="thread" aria-hidden="true"></span><span>Clotho</span></a>
    ${inStory && session.value ? html`<h1 class="title">${session.value.title}</h1>` : html`<span class="title"></span>`}
    <button type="button" class="search-button" onClick=${() => run("page.search")} aria-label=${t("command.search")}>${icon("search")}<span>${t("search.short")}</span><kbd>/</kbd></button>
    ${inStory && session.value && html`${h(StoryTools, {})}<span class="wide-only">${h(CommandButton, { id: "page.world" })}</span>`}
    ${h(Menu, { label: t("menu") }, h(MenuItems, {}))}</header>`;
}

function MenuItems() {
  const inStory = route.value.page === "story" && session.value !== null;
  const choice = (/** @type {boolean} */ on, /** @type {string} */ label, /** @type {() => unknown} */ act) =>
    html`<button type="button" aria-pressed=${on} onClick=${act}>${icon("check")}${label}</button>`;
  return html`${inStory && html`${h(CommandButton, { id: "session.model", wide: true })}${h(CommandButton, { id: "session.rename", wide: true })}${h(CommandButton, { id: "session.delete", wide: true })}${h(StoryMenu, {})}<hr />`}
    ${/** @type {Locale[]} */ (Object.keys(LOCALES)).map((l) => choice(locale.value === l, LOCALES[l], () => speakIn(l)))}<hr />
    ${/** @type {Theme[]} */ (["auto", "light", "dark"]).map((look) => choice(theme.value === look, t(/** @type {Key} */ (`theme.${look}`)), () => setTheme(look)))}${choice(tintsSpeech.value, t("command.speech"), () => run("page.speech"))}<hr />
    ${h(CommandButton, { id: "page.settings", wide: true })}${h(CommandButton, { id: "page.palette", wide: true })}`;
}

/** Narrow screens show one pane at a time; swiping belongs to siblings. */
function BottomBar() {
  const inStory = route.value.page === "story" && loading.value.state !== "failed";
  const tab = (/** @type {boolean} */ on, /** @type {string} */ symbol, /** @type {string} */ label, /** @type {() => unknown} */ act) =>
    html`<button type="button" aria-current=${on ? "page" : null} onClick=${act}>${icon(symbol)}<span>${label}</span></button>`;
  const show = (/** @type {"chat" | "world"} */ which) => {
    if (inTree.peek()) run("page.tree");
    showPane(which);
  };
  return html`<nav class="bottom" aria-label=${t("panes")}>
    ${tab(route.value.page === "library", "book", t("command.library"), () => navigate("/"))}
    ${inStory && tab(pane.value === "chat" && !inTree.value, "chat", t("pane.chat"), () => show("chat"))}
    ${inStory && tab(pane.value === "world" && !inTree.value, "world", t("world.title"), () => show("world"))}
    ${inStory && h(TreeTab, {})}
    ${tab(dialog.value?.kind === "search", "search", t("search.short"), () => run("page.search"))}</nav>`;
}
