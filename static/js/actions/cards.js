// Characters, lorebooks, personas and presets as files: cards of other programs come in, are changed, and are taken along.
import { download } from "../lib/download.js";
import { t } from "../lib/i18n.js";
import { openDialog, tell } from "../model/page.js";
import { addIncoming, dropIncoming } from "../model/transfers.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/cards.js";
import { sendPresets } from "../net/presets.js";
import { attempt, wordsFor } from "./failure.js";
import { readLibrary } from "./library.js";

/** @import { CharacterChanges, Id, Report } from "../lib/wire.d.ts" */

/** What a card may be called. */
export const CARDS = ".png,.json,.charx,.yaml,.yml";

/** Where each kind of file goes, and what is told of it. A character has an id. @type {Record<string, (file: File) => Promise<{id: Id | null, name: string, report: Report}>>} */
const WAYS = {
  card: api.sendCard,
  book: async (file) => ({ ...(await api.sendBook(file)), id: null }),
  persona: async (file) => {
    const { items, report } = await api.sendPersonas(file);
    return { id: null, name: namesOf(items) || file.name, report };
  },
  preset: async (file) => {
    const { items, report } = await sendPresets(file);
    return { id: null, name: namesOf(items), report };
  },
};

/** @param {{name: string}[]} items */
const namesOf = (items) => items.map(({ name }) => name).join(", ");

/** Brings cards, lorebooks, personas and presets in, one after the other. @param {{file: File, to: string}[]} files */
export async function bringCards(files) {
  for (const { file, to } of files) {
    const { n, put } = addIncoming({ name: file.name, phase: "sending" });
    try {
      const came = await WAYS[to]?.(file);
      dropIncoming(n);
      await readLibrary();
      if (came) tellOf(came);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      put({ phase: "failed", fault: { ...wordsFor(error), isEmpty: true } });
    }
  }
}

/** Says that it is there, and leads to what is to say of it. @param {{id: Id | null, name: string, report: Report}} came */
export function tellOf({ id, name, report }) {
  const hasMore = report.items.some(({ findings }) => findings.length > 0);
  const more = { label: /** @type {const} */ ("report.open"), run: () => openDialog({ kind: "report", report, characterId: id }) };
  const start = id && { label: /** @type {const} */ ("notice.play"), run: () => openDialog({ kind: "start", characterId: id }) };
  const act = hasMore ? more : start;
  tell({ tone: "quiet", stays: hasMore, text: t("notice.cameIn", { name }), ...(act && { act }) });
}

/** @param {Id} cid @param {"png" | "json" | "charx"} format */
export const takeCard = (cid, format) => download(api.cardFile(cid, format));

/** The whole character, for changing it. @param {Id} cid */
export const readCharacter = (cid) => attempt(() => api.character(cid));

/**
 * Changes a character, and its picture if there is another.
 * @param {Id} cid @param {CharacterChanges} changes @param {File | null} picture
 */
export async function changeCharacter(cid, changes, picture) {
  const changed = await attempt(async () => {
    if (picture) await api.sendPicture(cid, picture);
    return api.changeCharacter(cid, changes);
  });
  if (!changed) return;
  openDialog(null);
  await readLibrary();
}
