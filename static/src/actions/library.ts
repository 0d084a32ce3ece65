// Sessions and characters: listing, creating, opening, renaming, deleting.
import { locale, t } from "../lib/i18n.ts";
import { openDialog, notify } from "../model/page.ts";
import * as model from "../model/library.ts";
import { isFiltered, sessionFilter, sessionOrder } from "../model/session-list.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/api.ts";
import { ApiError } from "../net/api.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { openSession } from "./session-sync.ts";
import { navigate } from "./navigation.ts";
import type { Character, Id, CharacterChanges, NewSession, PluginChoice, Session } from "../lib/wire.d.ts";

/** Number of the last read of all characters; only its result is used. */
let lastRead = 0;

/** Reads a page of the sessions that the filter of the list shows. */
async function sessionPage(cursor?: string) {
  const wanted = { filter: sessionFilter.peek(), order: sessionOrder.peek(), cursor };
  if (!isFiltered(wanted.filter) && wanted.order === "updated") return api.sessions(cursor);
  const { filteredSessions } = await import("../net/session-list.ts");
  return filteredSessions(wanted);
}

/** Reads everything that the first page shows. */
export async function readLibrary() {
  if (model.loading.peek().state === "idle") model.setLoading({ state: "loading" });
  try {
    const [page, { items, next }] = await Promise.all([sessionPage(), api.characters()]);
    model.setSessions(page.items, page.next);
    // The first characters appear at once. Known characters stay while the others are read again.
    if (next === null || model.characters.peek().length === 0) model.setCharacters(items);
    model.setLoading({ state: "ready" });
    if (next === null) return;
    const read = (lastRead += 1);
    const others = await api.otherCharacters(next);
    if (read === lastRead) model.setCharacters([...items, ...others]);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    model.setLoading({ state: "failed", error });
  }
}

/**
 * Reads models and plugins. Model servers can be slow, so nothing waits for this. Without an answer, the known list
 * stays.
 */
export async function readModelsAndPlugins() {
  const none = { items: [], problems: [] };
  const [models, plugins] = await Promise.all([
    api.models().catch(() => model.models.peek() ?? none),
    api.plugins().catch(() => model.plugins.peek()),
  ]);
  model.setModelsAndPlugins(models, plugins);
}

export async function readMoreSessions() {
  const cursor = model.moreSessions.peek();
  const page = cursor && (await attempt(() => sessionPage(cursor)));
  if (page) model.addSessions(page.items, page.next);
}

/** Returns the narrator plugin that a character names, or null. A card cannot choose a model, because that may cost. */
const narratorOf = (character: Character) => {
  const model = character.metadata?.clotho?.model;
  return model?.startsWith("plugin:") ? model : null;
};

/** Returns whether a character defines its own session, with a narrator. */
export const isReadyToPlay = (character: Character) => narratorOf(character) !== null;

/** Returns the language of a ready character, if it names one. */
const languageOf = (character: Character) =>
  character.metadata?.clotho?.plugins
    ?.map((plugin) => plugin.config?.language)
    .find((language) => language !== undefined);

/**
 * Returns whether a character is offered. If its story exists in several languages, only the user's language is
 * offered.
 */
function isOffered(character: Character) {
  const language = languageOf(character);
  return language === undefined || language === locale.value || !hasTranslation(character);
}

/** Returns whether the story of this character exists in the user's language. */
function hasTranslation(character: Character) {
  const same = (other: Character) => other.metadata?.clotho?.model === character.metadata?.clotho?.model;
  return (
    isReadyToPlay(character) &&
    model.characters.value.some((other) => same(other) && languageOf(other) === locale.value)
  );
}

/** Returns the characters on the first page, without translations of the same story. */
export const offeredCharacters = () => model.characters.value.filter(isOffered);

/**
 * Starts a session with a character and opens it.
 * @param choice overrides what the character asks for
 */
export async function startSession(
  character: Character,
  choice: { model?: string; plugins?: PluginChoice[]; personaId?: Id | null } = {},
) {
  const defaults = character.metadata?.clotho ?? {};
  const wanted: NewSession = {
    characterIds: [character.id],
    plugins:
      choice.plugins ??
      (defaults.plugins ?? [])
        .map(hasTranslation(character) ? withoutLanguage : withUserLanguage)
        .map((plugin) =>
          [narratorOf(character), "plugin:mvu"].includes(`plugin:${plugin.id}`) ? plugin : { ...plugin, grants: [] },
        ),
  };
  const chosen = choice.model || narratorOf(character);
  if (chosen) wanted.model = chosen;
  // Without a choice, the server takes the locked or the default persona. Null asks for none.
  if (choice.personaId !== undefined) wanted.personaId = choice.personaId;
  const session = await attempt(() => api.createSession(wanted));
  if (session) navigate(`/s/${session.id}`);
  return session?.id;
}

const withoutLanguage = ({ id, config = {} }: PluginChoice): PluginChoice => ({ id, config });

/** Sets the user's language in plugins that have a language setting. */
function withUserLanguage({ id, config = {} }: PluginChoice): PluginChoice {
  return { id, config: "language" in config ? { ...config, language: locale.peek() } : config };
}

export async function createCharacter(character: CharacterChanges) {
  const created = await attempt(() => api.createCharacter(character));
  if (!created) return false;
  await readLibrary();
  openDialog({ kind: "start", characterId: created.id });
  return true;
}

export async function renameSession(sid: Id, title: string) {
  const changed = await attempt(() => api.changeSession(sid, { title }));
  if (!changed) return;
  openDialog(null);
  model.updateSession({ ...changed, title });
  if (store.session.peek()?.id === sid) store.updateSession({ title });
}

export async function deleteSession(sid: Id) {
  const isDeleted = await attempt(async () => {
    await api.deleteSession(sid);
    return true;
  });
  if (!isDeleted) return;
  const title = model.sessions.peek().find(({ id }) => id === sid)?.title ?? store.session.peek()?.title ?? "";
  model.removeSession(sid);
  openDialog(null);
  if (store.session.peek()?.id === sid) navigate("/");
  notifyTrashed(sid, title);
}

export async function removeCharacter({ id, name }: Character) {
  const isDeleted = await attempt(async () => {
    await api.deleteCharacter(id);
    return true;
  });
  if (!isDeleted) return;
  await readLibrary();
  notifyTrashed(id, name);
}

/** Marks a character as favourite, or removes the mark. */
export async function toggleFavourite({ id, isFavourite }: Character) {
  const { changeCharacter } = await import("../net/cards.ts");
  if (await attempt(() => changeCharacter(id, { isFavourite: !isFavourite }))) await readLibrary();
}

function notifyTrashed(id: Id, name: string) {
  notify({
    tone: "quiet",
    text: t("notice.trashed", { name }),
    action: { label: "command.restore", run: () => void restore(id) },
  });
}

/** Restores something from the trash. If the page shows that this session is in the trash, opens it. */
export async function restore(id: Id) {
  const back = await attempt(async () => {
    await api.restore(id);
    return true;
  });
  if (back) await readLibrary();
  if (store.trashItem.peek()?.id === id) void openSession(id);
  return back === true;
}

/** Changes the model of a session. */
export async function changeModel(sid: Id, name: string) {
  const changed = await attempt(() => api.changeSession(sid, { model: name }));
  if (!changed) return;
  openDialog(null);
  if (store.session.peek()?.id === sid) store.updateSession({ model: name });
}

export function openSessionDialog(session: Session | null, kind: "rename" | "delete") {
  if (session) openDialog({ kind, sid: session.id, title: session.title });
}

register({
  id: "session.model",
  label: "command.model",
  icon: "plug",
  scope: "page",
  enabled: () => store.session.value !== null,
  run: () => {
    const at = store.session.peek();
    if (!at) return;
    openDialog({ kind: "model", sid: at.id, model: at.model ?? "" });
    void readModelsAndPlugins();
  },
});

for (const kind of ["rename", "delete"] as const) {
  register({
    id: `session.${kind}`,
    label: `command.${kind}`,
    icon: kind === "rename" ? "edit" : "trash",
    scope: "page",
    enabled: () => store.session.value !== null,
    run: () => openSessionDialog(store.session.peek(), kind),
  });
}

register({
  id: "page.trash",
  label: "command.trash",
  icon: "trash",
  scope: "page",
  run: () => openDialog({ kind: "trash" }),
});
