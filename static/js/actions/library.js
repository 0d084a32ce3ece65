// Sessions and characters: list, create, open, rename, delete.
import { locale, t } from "../lib/i18n.js";
import { openDialog, tell } from "../model/page.js";
import * as model from "../model/library.js";
import * as story from "../model/story.js";
import * as api from "../net/api.js";
import { ApiError } from "../net/api.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";
import { openStory } from "./follow.js";
import { navigate } from "./travel.js";

/** @import { Character, Id, NewCharacter, NewSession, PluginChoice, Session } from "../lib/wire.d.ts" */

/** Counts the readings of many characters: the last one is right. */
let reading = 0;

/** Reads everything the first page shows. */
export async function readLibrary() {
  if (model.loading.peek().state === "idle") model.setLoading({ state: "loading" });
  try {
    const [page, { items, next }] = await Promise.all([api.sessions(), api.characters()]);
    model.putSessions(page.items, page.next);
    // The first are shown at once; whom the page knows already does not go while the others are read again.
    if (next === null || model.characters.peek().length === 0) model.putCharacters(items);
    model.setLoading({ state: "ready" });
    if (next === null) return;
    const read = (reading += 1);
    const others = await api.otherCharacters(next);
    if (read === reading) model.putCharacters([...items, ...others]);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    model.setLoading({ state: "failed", error });
  }
}

/** A model server may take its time to say what it has: nothing waits for this. Without an answer what was known stands. */
export async function readHosts() {
  const none = { items: [], problems: [] };
  const [models, plugins] = await Promise.all([api.models().catch(() => model.models.peek() ?? none), api.plugins().catch(() => model.plugins.peek())]);
  model.putHosts(models, plugins);
}

export async function readMoreSessions() {
  const cursor = model.moreSessions.peek();
  const page = cursor && (await attempt(() => api.sessions(cursor)));
  if (page) model.addSessions(page.items, page.next);
}

/** Whether a character says by itself what its session is made of. @param {Character} character */
export const isReady = (character) => Boolean(character.metadata?.clotho?.model);

/** The language a ready character is written in, where it says so. @param {Character} character */
const languageOf = (character) =>
  character.metadata?.clotho?.plugins?.map((plugin) => plugin.config?.["language"]).find((language) => language !== undefined);

/** The same story may be there in several languages: the one for this reader, if there is one. @param {Character} character */
function isForReader(character) {
  const language = languageOf(character);
  return language === undefined || language === locale.value || !hasTwin(character);
}

/** Whether the story of this character exists in the reader's language. @param {Character} character */
function hasTwin(character) {
  const same = (/** @type {Character} */ other) => other.metadata?.clotho?.model === character.metadata?.clotho?.model;
  return isReady(character) && model.characters.value.some((other) => same(other) && languageOf(other) === locale.value);
}

/** What the first page offers: no story twice in two languages. */
export const offered = () => model.characters.value.filter(isForReader);

/**
 * Starts a story with a character and opens it.
 * @param {Character} character
 * @param {{model?: string, plugins?: PluginChoice[], personaId?: Id}} [choice] over what the character asks for
 */
export async function begin(character, choice = {}) {
  const wish = character.metadata?.clotho ?? {};
  /** @type {NewSession} */
  const wanted = { characterIds: [character.id], plugins: choice.plugins ?? (wish.plugins ?? []).map(hasTwin(character) ? asIs : inLanguage) };
  const chosen = choice.model || wish.model;
  if (chosen) wanted.model = chosen;
  if (choice.personaId) wanted.personaId = choice.personaId;
  const session = await attempt(() => api.createSession(wanted));
  if (session) navigate(`/s/${session.id}`);
  return session?.id;
}

/** @param {PluginChoice} choice @returns {PluginChoice} */
const asIs = ({ id, config = {} }) => ({ id, config });

/** A plugin that declares a language is told the reader's. @param {PluginChoice} choice @returns {PluginChoice} */
function inLanguage({ id, config = {} }) {
  return { id, config: "language" in config ? { ...config, language: locale.peek() } : config };
}

/** @param {NewCharacter} character */
export async function createCharacter(character) {
  const created = await attempt(() => api.createCharacter(character));
  if (!created) return false;
  await readLibrary();
  openDialog({ kind: "start", characterId: created.id });
  return true;
}

/** @param {Id} sid @param {string} title */
export async function rename(sid, title) {
  const changed = await attempt(() => api.changeSession(sid, { title }));
  if (!changed) return;
  openDialog(null);
  model.putSession({ ...changed, title });
  if (story.session.peek()?.id === sid) story.putSession({ title });
}

/** @param {Id} sid */
export async function remove(sid) {
  const gone = await attempt(async () => {
    await api.deleteSession(sid);
    return true;
  });
  if (!gone) return;
  const title = model.sessions.peek().find(({ id }) => id === sid)?.title ?? story.session.peek()?.title ?? "";
  model.dropSession(sid);
  openDialog(null);
  if (story.session.peek()?.id === sid) navigate("/");
  tellTrashed(sid, title);
}

/** @param {Character} character */
export async function removeCharacter({ id, name }) {
  const gone = await attempt(async () => {
    await api.deleteCharacter(id);
    return true;
  });
  if (!gone) return;
  await readLibrary();
  tellTrashed(id, name);
}

/** Puts a character before the others, or back among them. @param {Character} character */
export async function favour({ id, isFavourite }) {
  const { changeCharacter } = await import("../net/cards.js");
  if (await attempt(() => changeCharacter(id, { isFavourite: !isFavourite }))) await readLibrary();
}

/** @param {Id} id @param {string} name */
function tellTrashed(id, name) {
  tell({ tone: "quiet", text: t("notice.trashed", { name }), act: { label: "command.restore", run: () => void restore(id) } });
}

/** Brings back what was deleted; a story that is waited for is opened. @param {Id} id */
export async function restore(id) {
  const back = await attempt(async () => {
    await api.restore(id);
    return true;
  });
  if (back) await readLibrary();
  if (story.trashed.peek()?.id === id) void openStory(id);
  return back === true;
}

/** Lets another model go on with a story. @param {Id} sid @param {string} name */
export async function changeModel(sid, name) {
  const changed = await attempt(() => api.changeSession(sid, { model: name }));
  if (!changed) return;
  openDialog(null);
  if (story.session.peek()?.id === sid) story.putSession({ model: name });
}

/** @param {Session | null} session @param {"rename" | "delete"} kind */
export function ask(session, kind) {
  if (session) openDialog({ kind, sid: session.id, title: session.title });
}

register({
  id: "session.model",
  label: "command.model",
  icon: "plug",
  scope: "page",
  enabled: () => story.session.value !== null,
  run: () => {
    const at = story.session.peek();
    if (!at) return;
    openDialog({ kind: "model", sid: at.id, model: at.model ?? "" });
    void readHosts();
  },
});

for (const kind of /** @type {const} */ (["rename", "delete"])) {
  register({
    id: `session.${kind}`,
    label: `command.${kind}`,
    icon: kind === "rename" ? "edit" : "trash",
    scope: "page",
    enabled: () => story.session.value !== null,
    run: () => ask(story.session.peek(), kind),
  });
}

register({
  id: "page.trash",
  label: "command.trash",
  icon: "trash",
  scope: "page",
  run: () => openDialog({ kind: "trash" }),
});
