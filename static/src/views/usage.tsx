// The cost of a story's replies: tokens, time and money. Loaded when first opened.
import { h, useSignal } from "../../vendor/preact.js";
import { errorText } from "../actions/error-text.ts";
import { addEnglish, locale, t } from "../lib/i18n.ts";
import cards from "../lib/strings/en-cards.ts";
import words from "../lib/strings/en-usage.ts";
import { ApiError } from "../net/api.ts";
import { usage } from "../net/arrange.ts";
import { EmptyState, Modal, LoadingRows } from "./common.tsx";
import { useLatestResult } from "./use-query.tsx";
import type { Id, UsageTotals as Sums } from "../lib/wire.d.ts";

addEnglish(cards);
addEnglish(words);

export function UsageDialog({ sid }: { sid: Id }) {
  const answer = useSignal<Sums | ApiError | null>(null);
  useLatestResult(
    () => usage(sid).catch((error: ApiError) => error),
    (found) => (answer.value = found),
    [sid],
  );
  const known = answer.value;
  return (
    <Modal title={t("command.spent")}>
      {known === null ? (
        <LoadingRows rows={3} />
      ) : known instanceof ApiError ? (
        <EmptyState symbol="warning" title={errorText(known).text} hint={errorText(known).hint} />
      ) : (
        <Table sums={known} />
      )}
    </Modal>
  );
}

function Table({
  sums: { replies, summaries = 0, tokenCount, cachedTokens, latencyMs, cost, saved, withoutCost, beyondCost },
}: {
  sums: Sums;
}) {
  const number = new Intl.NumberFormat(locale.value);
  const money = new Intl.NumberFormat(locale.value, { maximumSignificantDigits: 12 });
  const unpriced =
    withoutCost === replies + summaries
      ? t("spent.noPrice")
      : withoutCost > 0
        ? t("spent.without", { n: withoutCost })
        : "";
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
  return (
    <div class="why-view">
      <dl>
        {rows.map(([what, sum]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{sum}</dd>
          </div>
        ))}
      </dl>
      <p class="aside">{t("spent.text")}</p>
    </div>
  );
}
