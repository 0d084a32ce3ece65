// The page of a story: the chat and the state panel beside it. Loaded separately from the first page.
import { Fragment, h, useEffect } from "../../vendor/preact.js";
import { askForRequestedSettings } from "../actions/requested-settings.ts";
import { askForPermissions } from "../actions/session-plugins.ts";
import { updateDisplayScripts } from "../actions/display-scripts.ts";
import { addEnglish } from "../lib/i18n.ts";
import edits from "../lib/strings/en-edit.ts";
import words from "../lib/strings/en-story.ts";
import { deltaOf } from "../model/deltas.ts";
import { inTree, route } from "../model/page.ts";
import { scriptsVersion } from "../model/display-scripts.ts";
import { head, loading, session } from "../model/session-store.ts";
import { Chat } from "./chat.tsx";
import { MessageItems } from "./message-menu.tsx";
import { lazyView } from "./common.tsx";
import { SessionButtons, TreeTab } from "./session-buttons.tsx";

addEnglish(words);
addEnglish(edits);

const PageDropArea = lazyView(() => import("./transfers.tsx").then((module) => module.PageDropArea), 0);
const NewerCardNotice = lazyView(() => import("./newer-card-notice.tsx").then((module) => module.NewerCardNotice), 0);
const World = lazyView(() => import("./world.tsx").then((module) => module.World), 0);
const Overview = lazyView(() => import("./overview.tsx").then((module) => module.Overview), 0);

/** Renders the page of a story. A story that failed to load has no state either. */
export const SessionPage = () =>
  loading.value.state === "failed" ? (
    <Chat />
  ) : (
    <>
      <Chat />
      <World />
      <PermissionQuestion />
      <NewerCards />
      <DisplayScriptLoader />
      <PageDropArea />
      {inTree.value && <Overview />}
    </>
  );

/**
 * Asks about what an imported file wants; otherwise about new permissions that an updated plugin wants. It does so when
 * the story is opened, and when a permission was denied.
 */
function PermissionQuestion() {
  const id = loading.value.state === "ready" ? session.value?.id : null;
  const denied = (deltaOf(head.value ?? "")?.problems ?? []).some(
    ({ code }) => code === "plugin_permission" || code === "rule_permission",
  )
    ? head.value
    : null;
  useEffect(() => {
    if (id && !askForRequestedSettings()) void askForPermissions();
  }, [id, denied]);
  return null;
}

/** Loads the notice about newer cards if the story has one. */
function NewerCards() {
  const cards = loading.value.state === "ready" ? session.value?.cards : null;
  return cards?.some(({ hasNewer }) => hasNewer) ? <NewerCardNotice /> : null;
}

/** Loads the scripts that change displayed texts, while the story is still loading. */
function DisplayScriptLoader() {
  const sid = route.value.page === "session" ? route.value.sid : null;
  const open = session.value?.id === sid ? session.value : null;
  const on =
    open &&
    JSON.stringify([
      open.presetId,
      open.model,
      open.regexScripts,
      open.characterIds,
      open.cards,
      open.personaId,
      scriptsVersion.value,
    ]);
  useEffect(() => void updateDisplayScripts(sid, on), [sid, on]);
  useEffect(() => () => void updateDisplayScripts(null, null), []);
  return null;
}

/** Loads the state panel and the menu of messages. */
export const loadRest = () => Promise.all([World.load(), MessageItems.load()]);

export { SessionButtons, TreeTab };
