// Whole stories as files: taken along, brought in.
import { t, wordFor } from "../lib/i18n.js";
import { download } from "../lib/download.js";
import { sentence } from "../lib/text.js";
import { sessions } from "../model/library.js";
import { tell } from "../model/page.js";
import * as story from "../model/story.js";
import { dropIncoming, putIncoming } from "../model/transfers.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/transfers.js";
import { bringCards, isCard } from "./cards.js";
import { register } from "./commands.js";
import { wordsFor } from "./failure.js";
import { readLibrary } from "./library.js";
import { navigate } from "./travel.js";

/** @import { Id, Job } from "../lib/wire.d.ts" */
/** @import { Incoming } from "../model/transfers.js" */
/** @typedef {(changes: Partial<Incoming>) => void} Put */

/** @param {Id} sid */
export const takeAlong = (sid) => download(api.storyFile(sid));

let counted = 0;

/** Brings what some files hold in, one after the other: stories, and characters. @param {File[]} files */
export async function bringIn(files) {
  const cards = files.filter(isCard);
  if (cards.length) void bringCards(cards);
  files = files.filter((file) => !isCard(file));
  const all = files.map((file) => ({ file, n: ++counted }));
  const put = (/** @type {{file: File, n: number}} */ { file, n }, /** @type {Partial<Incoming>} */ changes) => putIncoming({ n, name: file.name, phase: "waiting", share: 0, fault: null, ...changes });
  all.forEach((one) => put(one, {}));
  for (const one of all) {
    try {
      const sid = await takeIn(one.file, (changes) => put(one, changes));
      dropIncoming(one.n);
      await readLibrary();
      const name = sessions.peek().find(({ id }) => id === sid)?.title ?? one.file.name;
      const isCopy = sessions.peek().some(({ id, title }) => id !== sid && title === name);
      tell({ tone: "quiet", text: t(isCopy ? "notice.importedBeside" : "notice.imported", { name }), act: { label: "notice.open", run: () => navigate(`/s/${sid}`) } });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      put(one, { phase: "failed", fault: faultOf(error) });
    }
  }
}

/** @param {File} file @param {Put} put @returns {Promise<Id>} the story that is there now */
async function takeIn(file, put) {
  put({ phase: "sending" });
  const { jobId } = await api.sendStory(file, (bytes) => put({ phase: "sending", share: bytes / Math.max(1, file.size) }));
  for (;;) {
    const { state, done, total, result, error } = await api.job(jobId).catch(whileOffline);
    if (state === "failed" || state === "interrupted") throw new ApiError(422, error ?? {});
    if (state === "done" && result) return result.sessionId;
    put(state === "running" ? { phase: "reading", share: done / Math.max(1, total) } : { phase: "waiting" });
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
}

/** The file is on the server: a connection that is lost stops nothing. @param {unknown} error @returns {Omit<Job, "id">} */
function whileOffline(error) {
  if (error instanceof ApiError && error.status === 0) return { state: "queued", done: 0, total: 0 };
  throw error;
}

/** Milliseconds. */
const LOOK_EVERY = 300;

/** A file that is broken says where. @param {ApiError} error */
function faultOf(error) {
  const { line, flaw } = error.details;
  if (typeof line !== "number") return wordsFor(error);
  const own = wordFor(`import.flaw.${flaw}`);
  return { text: own || t("import.broken", { line }), hint: own ? t("import.line", { line }) : sentence(error.message.replace(/^line \d+: /, "")) };
}

/** It is kept until it was used: the browser forgets one that nothing leads to. */
const chooser = document.createElement("input");
chooser.type = "file";
chooser.accept = ".clotho";
chooser.multiple = true;
chooser.addEventListener("change", () => {
  const files = [...(chooser.files ?? [])];
  chooser.value = "";
  void bringIn(files);
});

register({
  id: "page.import",
  label: "command.import",
  icon: "upload",
  scope: "page",
  run: () => {
    navigate("/");
    chooser.click();
  },
});

register({
  id: "session.export",
  label: "command.export",
  icon: "download",
  scope: "page",
  enabled: () => story.session.value !== null,
  run: () => {
    const sid = story.session.peek()?.id;
    if (sid) takeAlong(sid);
  },
});
