// Characters, lorebooks, personas and presets as files: import, changes and export.
import { download } from "../lib/download.ts";
import { t } from "../lib/i18n.ts";
import { openDialog, notify } from "../model/page.ts";
import { addImport, removeImport } from "../model/transfers.ts";
import { ApiError } from "../net/api.ts";
import * as api from "../net/cards.ts";
import { sendPresets } from "../net/presets.ts";
import { attempt, errorText } from "./error-text.ts";
import { readLibrary } from "./library.ts";
import { askToUse } from "./use-imported.ts";
import type { UsableItem } from "../model/dialog.d.ts";
import type { CharacterChanges, Id, Report } from "../lib/wire.d.ts";

/** File extensions of cards. */
export const CARD_EXTENSIONS = ".png,.json,.charx,.jpg,.jpeg,.byaf,.yaml,.yml";

/** What was imported, for the user. */
interface Imported {
  /** The character, if it is one. */
  id: Id | null;
  name: string;
  report: Report;
  /** What the open session can use of it. A session has one persona and one preset, so several are not offered. */
  usable?: UsableItem[];
}

/** The import function for each kind of file. */
const IMPORTERS: Record<string, (file: File) => Promise<Imported>> = {
  card: api.sendCard,
  book: async (file) => {
    const { id, name, report } = await api.sendBook(file);
    return { id: null, name, report, usable: [{ what: "book", id, name }] };
  },
  persona: async (file) => {
    const { items, report } = await api.sendPersonas(file);
    return { id: null, name: namesOf(items) || file.name, report, usable: onlyOne("persona", items) };
  },
  preset: async (file) => {
    const { items, report } = await sendPresets(file);
    return {
      id: null,
      name: namesOf(items),
      report,
      usable: onlyOne(
        "preset",
        items.filter(({ kind }) => kind === "openai"),
      ),
    };
  },
};

const onlyOne = (what: UsableItem["what"], items: { id: Id; name: string }[]): UsableItem[] =>
  items.length === 1 ? items.map(({ id, name }) => ({ what, id, name })) : [];

const namesOf = (items: { name: string }[]) => items.map(({ name }) => name).join(", ");

/**
 * Imports cards, lorebooks, personas and presets, one after the other. If a session is open, the user is asked whether
 * it uses them.
 */
export async function importCards(files: { file: File; to: string }[]) {
  const usable: UsableItem[] = [];
  for (const { file, to } of files) {
    const { n, put } = addImport({ name: file.name, phase: "sending" });
    try {
      const result = await IMPORTERS[to]?.(file);
      removeImport(n);
      await readLibrary();
      if (result) notifyImported(result);
      usable.push(...(result?.usable ?? []));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      put({ phase: "failed", failure: { ...errorText(error), isEmpty: true } });
    }
  }
  askToUse(usable);
}

/**
 * Shows a notice about an import. It has a button for the report if there are findings. Otherwise, a character gets a
 * button to start a session.
 */
export function notifyImported({ id, name, report }: { id: Id | null; name: string; report: Report }) {
  const hasMore = report.items.some(({ findings }) => findings.length > 0);
  const more = { label: "report.open" as const, run: () => openDialog({ kind: "report", report, characterId: id }) };
  const start = id && { label: "notice.play" as const, run: () => openDialog({ kind: "start", characterId: id }) };
  const act = hasMore ? more : start;
  notify({ tone: "quiet", stays: hasMore, text: t("notice.cameIn", { name }), ...(act && { action: act }) });
}

export const downloadCard = (cid: Id, format: "png" | "json" | "charx") => download(api.cardFile(cid, format));

/** Reads the whole character, to edit it. */
export const readCharacter = (cid: Id) => attempt(() => api.character(cid));

/** Changes a character and, if there is a new one, its picture. */
export async function changeCharacter(cid: Id, changes: CharacterChanges, picture: File | null) {
  // Loaded here, because the first page does not need it.
  const { askToUseCard, newestVersionOf } = await import("./card-versions.ts");
  const before = await newestVersionOf(cid);
  const changed = await attempt(async () => {
    if (picture) await api.sendPicture(cid, picture);
    return api.changeCharacter(cid, changes);
  });
  if (!changed) return;
  openDialog(null);
  await readLibrary();
  if ((await newestVersionOf(cid)) !== before) await askToUseCard(cid);
}
