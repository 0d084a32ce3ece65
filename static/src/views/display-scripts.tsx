// Displayed texts, changed by regex scripts of cards, presets and the user.
import { Fragment, h, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { displayScripts, displayResult } from "../model/display-scripts.ts";
import type { Key } from "../lib/i18n.ts";
import type { ChatNode } from "../lib/wire.d.ts";
import type { LeftOutScript, TextPart, DisplayResult } from "../model/display-scripts.ts";

/** A displayed text. `isLoading`: no result has arrived yet, and nothing was shown before. */
type DisplayedText = DisplayResult & { isChanged: boolean; isLoading: boolean };

/**
 * Returns a text as changed by the scripts, outside a component but inside a signal effect.
 * @returns null if no result has arrived yet
 */
export function displayedTextNow(node: ChatNode, part: TextPart, text: string): DisplayResult | null {
  const by = displayScripts.value;
  const request = by?.requestFor(node, part, text);
  if (!by || !request) return { text, left: [] };
  by.process(request);
  return displayResult(request);
}

export function useDisplayedText(node: ChatNode, part: TextPart, text: string): DisplayedText {
  const by = displayScripts.value;
  const request = by?.requestFor(node, part, text) ?? null;
  const isSeen = useRef(false);
  useLayoutEffect(() => {
    if (request) by?.process(request);
  }, [by, request?.key]);
  const shown = request ? displayResult(request) : { text, left: [] };
  if (shown) isSeen.current = true;
  return {
    text: shown?.text ?? text,
    left: shown?.left ?? [],
    isChanged: shown !== null && shown.text !== text,
    isLoading: !isSeen.current,
  };
}

const LEFT_OUT_TEXTS: Record<`${LeftOutScript["why"]} ${LeftOutScript["scope"]}`, Key> = {
  "slow card": "scripted.slowCard",
  "slow preset": "scripted.slowPreset",
  "slow global": "scripted.slowOwn",
  "large card": "scripted.largeCard",
  "large preset": "scripted.largePreset",
  "large global": "scripted.largeOwn",
};

/** Lists the scripts that were not applied to a text. */
export const LeftOutScripts = ({ left }: { left: LeftOutScript[] }) => (
  <>
    {left.map(({ name, scope, why }, i) => (
      <p key={i} class="aside skipped">
        {t(LEFT_OUT_TEXTS[`${why} ${scope}`], { name: name || t("scripted.nameless") })}
      </p>
    ))}
  </>
);
