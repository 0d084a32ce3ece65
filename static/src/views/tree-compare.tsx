// The comparison of two branches, beside the tree. Loaded when first used.
import { h, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { swapCompared } from "../actions/overview.ts";
import { t } from "../lib/i18n.ts";
import { Comparison } from "./branches.tsx";
import { icon } from "./common.tsx";
import type { Id } from "../lib/wire.d.ts";

export function ComparisonPanel({ from, to, back }: { from: Id; to: Id; back: () => void }) {
  const box = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => box.current?.focus({ preventScroll: true }), [from, to]);
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || document.querySelector(":popover-open")) return;
    event.preventDefault();
    back();
  };
  return (
    <section ref={box} class="tree-compared" tabindex={-1} aria-label={t("command.compare")} onKeyDown={keys}>
      <header>
        {icon("compare")}
        <h2>{t("command.compare")}</h2>
        <button
          type="button"
          class="round"
          aria-label={t("tree.turnCompared")}
          title={t("tree.turnCompared")}
          onClick={swapCompared}
        >
          {icon("sides")}
        </button>
        <button
          type="button"
          class="round"
          aria-label={t("tree.closeCompared")}
          title={`${t("tree.closeCompared")} (Esc)`}
          onClick={back}
        >
          {icon("close")}
        </button>
      </header>
      <div class="tree-text" tabindex={0} role="group" aria-label={t("tree.compared")}>
        <Comparison from={from} to={to} />
      </div>
    </section>
  );
}
