// Characters as files: cards of other programs come in, are changed, and are taken along.
import { download } from "../lib/download.js";
import { t } from "../lib/i18n.js";
import { openDialog, tell } from "../model/page.js";
import { dropIncoming, putIncoming } from "../model/transfers.js";
import { ApiError } from "../net/api.js";
import * as api from "../net/cards.js";
import { register } from "./commands.js";
import { attempt, wordsFor } from "./failure.js";
import { readLibrary } from "./library.js";
import { navigate } from "./travel.js";

/** @import { CharacterChanges, Id, ImportedCharacter } from "../lib/wire.d.ts" */

/** What a card may be called. */
export const CARDS = ".png,.json,.charx,.yaml,.yml";

/** Whether a file is a card, by its name. @param {File} file */
export const isCard = (file) => CARDS.split(",").some((ending) => file.name.toLowerCase().endsWith(ending));

let counted = 0;

/** Brings cards in, one after the other. @param {File[]} files */
export async function bringCards(files) {
  for (const file of files) {
    // Numbers of their own: stories count upwards.
    const put = { n: --counted, name: file.name, share: 0, fault: null };
    putIncoming({ ...put, phase: "sending" });
    try {
      const came = await api.sendCard(file);
      dropIncoming(put.n);
      await readLibrary();
      tellOf(came);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      putIncoming({ ...put, phase: "failed", fault: wordsFor(error) });
    }
  }
}

/** Says that a character is there, and leads to what is to say of it. @param {ImportedCharacter} came */
function tellOf({ id, name, report }) {
  const hasMore = report.items.some(({ findings }) => findings.length > 0);
  const more = { label: /** @type {const} */ ("report.open"), run: () => openDialog({ kind: "report", report, characterId: id }) };
  const start = { label: /** @type {const} */ ("notice.play"), run: () => openDialog({ kind: "start", characterId: id }) };
  tell({ tone: "quiet", stays: hasMore, text: t("notice.cameIn", { name }), act: hasMore ? more : start });
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

/** It is kept until it was used: the browser forgets one that nothing leads to. */
const chooser = document.createElement("input");
chooser.type = "file";
chooser.accept = CARDS;
chooser.multiple = true;
chooser.addEventListener("change", () => {
  const files = [...(chooser.files ?? [])];
  chooser.value = "";
  void bringCards(files);
});

register({
  id: "page.importCard",
  label: "command.importCard",
  icon: "upload",
  scope: "page",
  run: () => {
    navigate("/");
    chooser.click();
  },
});
