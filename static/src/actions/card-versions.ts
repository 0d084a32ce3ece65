// Versions of a card: listing, restoring, importing a newer one, and using the changed card in sessions.
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-card-versions.ts";
import cards from "../lib/strings/en-cards.ts";
import { updateSession } from "../model/library.ts";
import { dialog, notify, openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { sessions } from "../net/api.ts";
import * as api from "../net/card-versions.ts";
import { character } from "../net/cards.ts";
import { notifyImported } from "./cards.ts";
import { attempt } from "./error-text.ts";
import { readLibrary } from "./library.ts";
import { askForRequestedSettings } from "./requested-settings.ts";
import type { Id, Session } from "../lib/wire.d.ts";

addEnglish(words);
addEnglish(cards);

/** Number of versions in one page of the list. */
const PAGE_SIZE = 50;
/** The most pages of sessions that are searched for those of a character. */
const MAX_PAGES = 100;

export const readCardVersions = (cid: Id, cursor: string | null = null) =>
  api.cardVersions(cid, { limit: PAGE_SIZE, cursor });

/** Reads a version, and the current card to compare it with. */
export async function readComparison(cid: Id, n: number) {
  const [version, now] = await Promise.all([api.cardVersion(cid, n), character(cid)]);
  return { older: version.character, now };
}

/** Returns the number of the newest version of a card, or 0 without an answer. */
export const newestVersionOf = async (cid: Id) =>
  (await api.cardVersions(cid, { limit: 1 }).catch(() => null))?.items[0]?.number ?? 0;

/** Makes a version the current card, and asks where to use it. */
export async function restoreCardVersion(cid: Id, n: number) {
  const restored = await attempt(() => api.restoreCardVersion(cid, n));
  if (!restored) return;
  await readLibrary();
  await askToUseCard(cid);
  notify({ tone: "quiet", text: t("cardVersions.restored", { n }) });
}

/** Imports a file over a character, and asks where to use the new card. */
export async function importNewerCard(cid: Id, file: File) {
  const before = await newestVersionOf(cid);
  const came = await attempt(() => api.sendNewerCard(cid, file));
  if (!came) return;
  openDialog(null);
  await readLibrary();
  notifyImported(came);
  if ((await newestVersionOf(cid)) !== before) await askToUseCard(cid);
}

/** Reads all sessions that have a character. */
export async function readSessionsOf(cid: Id): Promise<Session[]> {
  const found: Session[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { items, next } = await sessions(cursor);
    found.push(...items.filter(({ characterIds }) => characterIds.includes(cid)));
    if (!next) break;
    cursor = next;
  }
  return found;
}

/** Asks in which sessions a changed card is used, if any session has the character. Otherwise closes the dialog. */
export async function askToUseCard(cid: Id) {
  const found = (await attempt(() => readSessionsOf(cid))) ?? [];
  openDialog(found.length ? { kind: "useCard", characterId: cid, sessionIds: found.map(({ id }) => id) } : null);
}

/** Uses the newest card of a character in sessions. Returns whether that worked in all of them. */
export async function useNewestCard(characterId: Id, sessionIds: Id[]) {
  for (const sid of sessionIds) {
    const changed = await attempt(() => api.applyNewestCard(sid, characterId));
    if (!changed) return false;
    updateSession(changed);
    if (store.session.peek()?.id === sid) store.updateSession(changed);
  }
  if (dialog.peek()?.kind === "useCard") openDialog(null);
  if (store.session.peek() && sessionIds.includes(store.session.peek()?.id ?? "")) askForRequestedSettings();
  notify({ tone: "quiet", text: t("cardVersions.used", { n: sessionIds.length }) });
  return true;
}

/** The newer cards that a notice was shown for, each once. */
const shown = new Set<string>();

/** Shows a notice if a card of the open session has a newer version. */
export async function offerNewerCard() {
  const open = store.session.peek();
  const newer = open?.cards?.find(({ hasNewer }) => hasNewer);
  if (!open || !newer) return;
  const key = `${open.id} ${newer.characterId} ${newer.newestVersion}`;
  if (shown.has(key)) return;
  shown.add(key);
  const found = await character(newer.characterId).catch(() => null);
  if (!found || store.session.peek()?.id !== open.id) return void shown.delete(key);
  notify({
    tone: "quiet",
    stays: true,
    text: t("cardVersions.newer", { name: found.name }),
    action: { label: "cardVersions.useNewer", run: () => void useNewestCard(newer.characterId, [open.id]) },
  });
}
