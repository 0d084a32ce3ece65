// Starts the page: language, appearance, keys, route; then renders it.
import { h, effect, render, untracked } from "../vendor/preact.js";
import { runKeys } from "./actions/commands.ts";
import { readModelsAndPlugins, readLibrary } from "./actions/library.ts";
import { followRoute } from "./actions/navigation.ts";
import { messageOf } from "./lib/focus.ts";
import { chooseLocale, setLocale, t } from "./lib/i18n.ts";
import { ignoreFetchFailure } from "./lib/modules.ts";
import { readStored } from "./lib/storage.ts";
import { deltasVersion } from "./model/deltas.ts";
import {
  pairingPrompt,
  acceptDevice,
  route,
  setRoute,
  setSpeech,
  setTheme,
  setOfflineCopyAt,
  requirePairing,
  notify,
  theme,
  tintsSpeech,
} from "./model/page.ts";
import { changeNodes, stateNode, branch, peekNode, session, unread } from "./model/session-store.ts";
import { me, setOnOfflineCopy, setOnRefused } from "./net/api.ts";
import { App, loadAhead } from "./views/app.tsx";

setTheme(theme.peek());
setSpeech(tintsSpeech.peek());
await setLocale(chooseLocale([readStored("language") ?? "", ...navigator.languages]));

// Keys during the composition of an input method belong to the input method. None of them sends, selects or closes
// anything, and Enter accepts a word. The code editor handles this itself.
addEventListener(
  "keydown",
  (event) => {
    const isInCode = event.target instanceof Element && event.target.closest(".cm-editor") !== null;
    if ((event.isComposing || event.keyCode === 229) && !isInCode) event.stopImmediatePropagation();
  },
  { capture: true },
);
/** Whether everything that keys can do is loaded. */
let areKeysLoaded = false;

addEventListener("keydown", (event) => {
  const node = peekNode(messageOf(event.target));
  // A key pressed before everything is loaded runs its command after loading.
  if (!runKeys(event, node) && !areKeysLoaded) void loadAhead().then(() => runKeys(event, node));
});

// The code must not stay in the history or in the visible address.
const isPairing = location.pathname === "/pair";
const code = isPairing ? location.hash.slice(1) : "";
if (isPairing) {
  history.replaceState(null, "", "/");
  setRoute("/");
}
// The server sends the page for unknown addresses too.
const isPageAddress = /^\/(s\/.*|settings)?$/.test(location.pathname);
if (!isPageAddress) history.replaceState(null, "", "/");
setOnOfflineCopy(setOfflineCopyAt);
setOnRefused(() => requirePairing(code));

// A failed first request is reported by the next read, of the library or the session.
await me().then(
  (who) => {
    acceptDevice(who);
    if (isPairing) notify({ tone: "quiet", stays: true, text: t("door.needless") });
  },
  () => null,
);

if (!isPageAddress) notify({ tone: "quiet", stays: true, text: t("page.nowhere") });

// A session's WebSocket reports when this device was removed. Elsewhere, the page asks when the user comes back to it.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && pairingPrompt.peek() === null && route.peek().page !== "session")
    void me().catch(() => null);
});

/** The session that the user was in. */
let lastSession: string | null = null;

effect(() => {
  const to = route.value;
  const isShut = pairingPrompt.value !== null;
  untracked(() => {
    if (isShut) return void followRoute({ page: "library" });
    void followRoute(to);
    // Opening the tree or a message of the same session does not count as coming from elsewhere.
    const isIn = to.page === "session" ? to.sid : null;
    if (isIn === null || isIn !== lastSession) void readLibrary();
    lastSession = isIn;
    if (to.page !== "session") void readModelsAndPlugins();
  });
});

let wasWorldRead = false;

/** Reads the state at a node. Its module is loaded with the first session, not with the first page. */
async function followWorld(nid: string | null) {
  if (!nid && !wasWorldRead) return;
  wasWorldRead = true;
  const world = await import("./actions/world.ts").catch(ignoreFetchFailure);
  await world?.readWorld(nid);
}

effect(() => {
  const nid = stateNode();
  // A changed branch can have messages with unknown deltas, or another state at the same node.
  void branch.value;
  void changeNodes.value;
  void deltasVersion.value;
  untracked(() => void followWorld(nid));
});

effect(() => {
  const title = route.value.page === "session" ? session.value?.title : null;
  const waiting = unread.value.length;
  document.title = title ? `${waiting ? `(${waiting}) ` : ""}${title} · Clotho` : t("title");
});

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
  setTimeout(async () => {
    areKeysLoaded = await loadAhead();
    const offline = await import("./net/offline.ts").catch(ignoreFetchFailure);
    await offline?.keepForOffline();
  }, 300);
}
