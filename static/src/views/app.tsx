// The frame of the page: header, panes, tab bar of narrow screens, notices and dialogs.
import { Fragment, h } from "../../vendor/preact.js";
import { run } from "../actions/commands.ts";
import { setLanguage } from "../actions/page.ts";
import { navigate } from "../actions/navigation.ts";
import { LOCALES, ago, locale, t } from "../lib/i18n.ts";
import { ignoreFetchFailure } from "../lib/modules.ts";
import {
  dialog,
  pairingPrompt,
  inTree,
  offlineCopyAt,
  dialogCount,
  pane,
  route,
  setTheme,
  showPane,
  announcement,
  theme,
  tintsSpeech,
  isWorldOpen,
} from "../model/page.ts";
import { loading, online, session } from "../model/session-store.ts";
import { Library } from "./library.tsx";
import { CommandButton, Menu, Notices, icon, lazyView } from "./common.tsx";
import type { Key, Locale } from "../lib/i18n.ts";
import type { Theme } from "../model/page.ts";

// The first page stays small: the story view and its Markdown code are loaded while the user looks at the page.
const story = () => import("./session-page.tsx");
const dialogs = () => import("./dialogs.tsx");
const SessionPage = lazyView(() => story().then((module) => module.SessionPage), 6);
const Settings = lazyView(() => import("./settings.tsx").then((module) => module.Settings), 6);
const PairingPage = lazyView(() => import("./pairing.tsx").then((module) => module.PairingPage), 0);
const SessionMenu = lazyView(() => import("./session-menu.tsx").then((module) => module.SessionMenu), 0);
const SessionButtons = lazyView(() => story().then((module) => module.SessionButtons), 0);
/** The tree tab. Its placeholder keeps the column in the bar, so that no other tab moves under a finger. */
const TreeTab = lazyView(
  () => story().then((module) => module.TreeTab),
  () => <span />,
);
const OpenDialog = lazyView(() => dialogs().then((module) => module.OpenDialog), 0);

/**
 * Loads the modules that the next click needs, if they are missing.
 * @returns whether all of them are loaded now
 */
export async function loadAhead(): Promise<boolean> {
  const parts = await Promise.all([
    story().then(({ loadRest }) => loadRest(), ignoreFetchFailure),
    SessionMenu.load(),
    OpenDialog.load(),
  ]);
  return !parts.flat().includes(null);
}

export function App() {
  if (pairingPrompt.value) return h(PairingPage, pairingPrompt.value);
  const inSession = route.value.page === "session";
  const isWhole = inSession && loading.value.state !== "failed";
  const place = `${inSession ? "in-story" : "in-library"} ${inTree.value ? "in-tree" : ""}`;
  const beside = isWorldOpen.value && isWhole ? "world-beside" : "";
  const look = `app ${place} ${beside} pane-${isWhole ? pane.value : "chat"}`;
  return (
    <div class={look}>
      <Header />
      <Offline />
      <Notices inDialog={false} />
      <main>{inSession ? <SessionPage /> : route.value.page === "settings" ? <Settings /> : <Library />}</main>
      <BottomBar />
      {dialog.value && <OpenDialog key={dialogCount} open={dialog.value} />}
      <p class="hidden" aria-live="polite">
        {announcement.value}
      </p>
    </div>
  );
}

/** The line that says that the page shows a stored copy, or that the connection of an open story is lost. */
function Offline() {
  const isLost = route.value.page === "session" && !online.value && loading.value.state === "ready";
  const at = offlineCopyAt.value;
  if (at === null && !isLost) return null;
  return (
    <p class="offline" role="status">
      {icon("warning")}
      {at === null
        ? t("offline")
        : t(route.value.page === "session" ? "offline.kept" : "offline.keptPage", { when: ago(at, Date.now()) })}
    </p>
  );
}

function Header() {
  const inSession = route.value.page === "session";
  const home = (event: Event) => (event.preventDefault(), navigate("/"));
  return (
    <header class="topbar">
      <a class="brand" href="/" onClick={home} aria-label={`Clotho, ${t("command.library")}`}>
        <span class="thread" aria-hidden="true" />
        <span>Clotho</span>
      </a>
      {inSession && session.value ? (
        <h1 class="title" title={session.value.title}>
          {session.value.title}
        </h1>
      ) : (
        <span class="title" />
      )}
      <button type="button" class="search-button" onClick={() => run("page.search")} aria-label={t("command.search")}>
        {icon("search")}
        <span>{t("search.short")}</span>
        <kbd>/</kbd>
      </button>
      {inSession && session.value && (
        <>
          <SessionButtons />
          <span class="wide-only">
            <CommandButton id="page.world" />
          </span>
        </>
      )}
      <Menu label={t("menu")}>
        <MenuItems />
      </Menu>
    </header>
  );
}

function MenuItems() {
  const inSession = route.value.page === "session" && session.value !== null;
  const choice = (on: boolean, label: string, act: () => unknown) => (
    <button type="button" aria-pressed={on} onClick={act}>
      {icon("check")}
      {label}
    </button>
  );
  return (
    <>
      {inSession && (
        <>
          <CommandButton id="session.model" wide />
          <CommandButton id="session.rename" wide />
          <CommandButton id="session.delete" wide />
          <SessionMenu />
          <hr />
        </>
      )}
      {(Object.keys(LOCALES) as Locale[]).map((l) => choice(locale.value === l, LOCALES[l], () => setLanguage(l)))}
      <hr />
      {(["auto", "light", "dark"] as Theme[]).map((look) =>
        choice(theme.value === look, t(`theme.${look}` as Key), () => setTheme(look)),
      )}
      {choice(tintsSpeech.value, t("command.speech"), () => run("page.speech"))}
      <hr />
      <CommandButton id="page.settings" wide />
      <CommandButton id="page.palette" wide />
    </>
  );
}

/** The tab bar of narrow screens, which show one pane at a time. Swipe gestures do not switch panes but siblings. */
function BottomBar() {
  const inSession = route.value.page === "session" && loading.value.state !== "failed";
  const tab = (on: boolean, symbol: string, label: string, act: () => unknown) => (
    <button type="button" aria-current={on ? "page" : undefined} onClick={act}>
      {icon(symbol)}
      <span>{label}</span>
    </button>
  );
  const show = (which: "chat" | "world") => {
    if (inTree.peek()) run("page.tree");
    showPane(which);
  };
  return (
    <nav class="bottom" aria-label={t("panes")}>
      {tab(route.value.page === "library", "book", t("command.library"), () => navigate("/"))}
      {inSession && tab(pane.value === "chat" && !inTree.value, "chat", t("pane.chat"), () => show("chat"))}
      {inSession && tab(pane.value === "world" && !inTree.value, "world", t("world.title"), () => show("world"))}
      {inSession && <TreeTab />}
      {tab(dialog.value?.kind === "search", "search", t("search.short"), () => run("page.search"))}
    </nav>
  );
}
