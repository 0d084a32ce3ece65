// Which lore entries were activated and which were stopped, with the reasons.
import { Fragment, h } from "../../vendor/preact.js";
import { messageText } from "../lib/coded-message.ts";
import { addEnglish, optionalText, t } from "../lib/i18n.ts";
import { modelFailureText } from "../lib/model-failure.ts";
import storyTexts from "../lib/strings/en-story.ts";
import { sentence } from "../lib/text.ts";
import type { LoreTrace, LoreVerdict } from "../lib/wire.d.ts";

addEnglish(storyTexts);

/** What a scan of lorebooks tells. `silent`: the number of entries that did not match. */
export type LoreScan = Pick<LoreTrace, "books" | "fired" | "stopped" | "overflowed" | "notes"> &
  Partial<Pick<LoreTrace, "similar" | "problems">> & { silent: number };

export function LoreVerdicts({ scan }: { scan: LoreScan }) {
  const { books, fired, stopped, silent, overflowed, similar, notes, problems } = scan;
  const bookOf = ({ book }: LoreVerdict) => books.find(({ id }) => id === book)?.name ?? "";
  const reasonOf = ({ why, key, problem, failure, score, plugin }: LoreVerdict) => {
    const error = failure ? messageText("why.condition", failure) : problem;
    return [optionalText(`why.lore.${why}`) || why, key, error, score, plugin].filter(Boolean).join(": ");
  };
  const row = (one: LoreVerdict, isIn: boolean) => (
    <li key={`${one.book}.${one.uid}`} class={isIn ? "" : "dropped"}>
      <b>{one.title || t("lore.nameless", { uid: one.uid })}</b>{" "}
      <small>
        {[bookOf(one), one.tokens === undefined ? "" : t("why.tokens", { n: one.tokens })].filter(Boolean).join(" · ")}
      </small>{" "}
      <small>{reasonOf(one)}</small>
    </li>
  );
  const noteTexts = problems?.map((one) => messageText("why.loreNote", one)) ?? notes.map((note) => sentence(note));
  return (
    <>
      {fired.length === 0 && <p class="aside">{t("why.noLore")}</p>}
      {fired.length + stopped.length > 0 && (
        <ol class="blocks">
          {fired.map((one) => row(one, true))}
          {stopped.map((one) => row(one, false))}
        </ol>
      )}
      {silent > 0 && <p class="aside">{t("why.loreSilent", { n: silent })}</p>}
      {overflowed && <p class="aside">{t("why.loreFull")}</p>}
      {similar?.problem && (
        <p class="aside bad">
          {t("why.loreNoVectors")} {modelFailureText(similar.failure ?? similar.problem)}
        </p>
      )}
      {noteTexts.map((note) => (
        <p key={note} class="aside bad">
          {note}
        </p>
      ))}
    </>
  );
}
