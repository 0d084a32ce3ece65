// Characters, lorebooks, personas and presets as files: cards of other programs come in, are changed, and are taken
// along.
import { download } from "../lib/download.ts";
import { t } from "../lib/i18n.ts";
import { openDialog, tell } from "../model/page.ts";
import { addIncoming, dropIncoming } from "../model/transfers.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/cards.ts";
import { sendPresets } from "../net/presets.ts";
import { attempt, wordsFor } from "./failure.ts";
import { readLibrary } from "./library.ts";
import type { CharacterChanges, Id, Report } from "../lib/wire.d.ts";

/** What a card may be called. */
export const CARDS = ".png,.json,.charx,.yaml,.yml";

/** Where each kind of file goes, and what is told of it. A character has an id. */
const WAYS: Record<string, (file: File) => Promise<{ id: Id | null; name: string; report: Report }>> = {
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

const namesOf = (items: { name: string }[]) => items.map(({ name }) => name).join(", ");

/** Brings cards, lorebooks, personas and presets in, one after the other. */
export async function bringCards(files: { file: File; to: string }[]) {
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

/** Says that it is there, and leads to what is to say of it. */
export function tellOf({ id, name, report }: { id: Id | null; name: string; report: Report }) {
  const hasMore = report.items.some(({ findings }) => findings.length > 0);
  const more = { label: "report.open" as const, run: () => openDialog({ kind: "report", report, characterId: id }) };
  const start = id && { label: "notice.play" as const, run: () => openDialog({ kind: "start", characterId: id }) };
  const act = hasMore ? more : start;
  tell({ tone: "quiet", stays: hasMore, text: t("notice.cameIn", { name }), ...(act && { act }) });
}

export const takeCard = (cid: Id, format: "png" | "json" | "charx") => download(api.cardFile(cid, format));

/** The whole character, for changing it. */
export const readCharacter = (cid: Id) => attempt(() => api.character(cid));

/** Changes a character, and its picture if there is another. */
export async function changeCharacter(cid: Id, changes: CharacterChanges, picture: File | null) {
  const changed = await attempt(async () => {
    if (picture) await api.sendPicture(cid, picture);
    return api.changeCharacter(cid, changes);
  });
  if (!changed) return;
  openDialog(null);
  await readLibrary();
}
