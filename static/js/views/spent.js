// What the replies of a story took: tokens, time and money. Loaded when first opened.
import { h, html, useSignal } from "../../vendor/preact.js";
import { wordsFor } from "../actions/failure.js";
import { addEnglish, locale, t } from "../lib/i18n.js";
import cards from "../lib/strings/en-cards.js";
import words from "../lib/strings/en-spent.js";
import { ApiError } from "../net/api.js";
import { spent } from "../net/arrange.js";
import { Blank, Modal, Waiting } from "./parts.js";
import { useLatest } from "./reading.js";

/** @import { Id, Spent as Sums } from "../lib/wire.d.ts" */

addEnglish(cards);
addEnglish(words);

/** @param {{sid: Id}} props */
export function Spent({ sid }) {
  const answer = useSignal(/** @type {Sums | ApiError | null} */ (null));
  useLatest(() => spent(sid).catch((/** @type {ApiError} */ error) => error), (found) => (answer.value = found), [sid]);
  const known = answer.value;
  return h(Modal, { title: t("command.spent") }, known === null ? h(Waiting, { rows: 3 }) : known instanceof ApiError ? h(Blank, { symbol: "warning", title: wordsFor(known).text, hint: wordsFor(known).hint }) : h(Table, { sums: known }));
}

/** @param {{sums: Sums}} props */
function Table({ sums: { replies, summaries = 0, tokenCount, cachedTokens, latencyMs, cost, saved, withoutCost, beyondCost } }) {
  const number = new Intl.NumberFormat(locale.value);
  const money = new Intl.NumberFormat(locale.value, { maximumSignificantDigits: 12 });
  const unpriced = withoutCost === replies + summaries ? t("spent.noPrice") : withoutCost > 0 ? t("spent.without", { n: withoutCost }) : "";
  const beyond = beyondCost > 0 ? t("spent.beyond", { n: beyondCost }) : "";
  const rows = [
    [t("spent.replies"), number.format(replies)],
    ...(summaries > 0 ? [[t("spent.summaries"), number.format(summaries)]] : []),
    [t("spent.prompt"), number.format(tokenCount.prompt)],
    ...(cachedTokens > 0 ? [[t("spent.cached"), number.format(cachedTokens)]] : []),
    [t("spent.completion"), number.format(tokenCount.completion)],
    [t("spent.time"), t("spent.seconds", { n: number.format(Math.round(latencyMs / 1000)) })],
    [t("spent.cost"), [cost === null ? "" : money.format(cost), unpriced, beyond].filter(Boolean).join(", ")],
    ...(saved === null ? [] : [[t("spent.saved"), money.format(saved)]]),
  ];
  return html`<div class="why-view"><dl>${rows.map(([what, sum]) => html`<div key=${what}><dt>${what}</dt><dd>${sum}</dd></div>`)}</dl><p class="aside">${t("spent.text")}</p></div>`;
}
