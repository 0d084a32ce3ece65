// Begins the page: language, looks, keys, the route; then draws it.
import { h, effect, render, untracked } from "../vendor/preact.js";
import { runKeys } from "./actions/commands.ts";
import { readHosts, readLibrary } from "./actions/library.ts";
import { arrive } from "./actions/travel.ts";
import { messageOf } from "./lib/focus.ts";
import { chooseLocale, setLocale, t } from "./lib/i18n.ts";
import { notFetched } from "./lib/modules.ts";
import { recall } from "./lib/storage.ts";
import { age } from "./model/deltas.ts";
import {
  door,
  enter,
  route,
  setRoute,
  setSpeech,
  setTheme,
  showKept,
  shutDoor,
  tell,
  theme,
  tintsSpeech,
} from "./model/page.ts";
import { byHand, here, line, peekNode, session, unread } from "./model/story.ts";
import { me, whenKept, whenShut } from "./net/api.ts";
import { App, loadAhead } from "./views/app.tsx";

setTheme(theme.peek());
setSpeech(tintsSpeech.peek());
await setLocale(chooseLocale([recall("language") ?? "", ...navigator.languages]));

// What an input method still composes is its own: none of its keys sends, chooses or closes anything here, and Enter
// takes a word. The editor of code knows its own way about it.
addEventListener(
  "keydown",
  (event) => {
    const isInCode = event.target instanceof Element && event.target.closest(".cm-editor") !== null;
    if ((event.isComposing || event.keyCode === 229) && !isInCode) event.stopImmediatePropagation();
  },
  { capture: true },
);
/** Whether everything is there that keys can mean. */
let isWhole = false;

addEventListener("keydown", (event) => {
  const node = peekNode(messageOf(event.target));
  // What is pressed early means what it means a moment later.
  if (!runKeys(event, node) && !isWhole) void loadAhead().then(() => runKeys(event, node));
});

// A code stays in no history, and in no address that is shown.
const isPairing = location.pathname === "/pair";
const code = isPairing ? location.hash.slice(1) : "";
if (isPairing) {
  history.replaceState(null, "", "/");
  setRoute("/");
}
// Where nothing is, the server sends the page too.
const isAnywhere = /^\/(s\/.*|settings)?$/.test(location.pathname);
if (!isAnywhere) history.replaceState(null, "", "/");
whenKept(showKept);
whenShut(() => shutDoor(code));

// A failed first question is told by the reading of the library or the story that follows it.
await me().then(
  (who) => {
    enter(who);
    if (isPairing) tell({ tone: "quiet", stays: true, text: t("door.needless") });
  },
  () => null,
);

if (!isAnywhere) tell({ tone: "quiet", stays: true, text: t("page.nowhere") });

// A story has a line that tells when this device was removed; elsewhere it is asked when somebody looks again.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && door.peek() === null && route.peek().page !== "story")
    void me().catch(() => null);
});

/** The story that the reader was in. */
let wasIn: string | null = null;

effect(() => {
  const to = route.value;
  const isShut = door.value !== null;
  untracked(() => {
    if (isShut) return void arrive({ page: "library" });
    void arrive(to);
    // Going to its tree and back, or to a message, is no coming from elsewhere.
    const isIn = to.page === "story" ? to.sid : null;
    if (isIn === null || isIn !== wasIn) void readLibrary();
    wasIn = isIn;
    if (to.page !== "story") void readHosts();
  });
});

let wasInWorld = false;

/** The world is no part of the first page: it comes with the first story. */
async function followWorld(nid: string | null) {
  if (!nid && !wasInWorld) return;
  wasInWorld = true;
  const world = await import("./actions/world.ts").catch(notFetched);
  await world?.readWorld(nid);
}

effect(() => {
  const nid = here();
  // A line that changed has messages whose doings nobody knows yet, or carries another world to the same place.
  void line.value;
  void byHand.value;
  void age.value;
  untracked(() => void followWorld(nid));
});

effect(() => {
  const title = route.value.page === "story" ? session.value?.title : null;
  const waiting = unread.value.length;
  document.title = title ? `${waiting ? `(${waiting}) ` : ""}${title} · Clotho` : t("title");
});

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
  setTimeout(async () => {
    isWhole = await loadAhead();
    const offline = await import("./net/offline.ts").catch(notFetched);
    await offline?.keepForOffline();
  }, 300);
}
