// Displayed texts, changed by regex scripts of cards, presets and the user.
import { Fragment, h, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { scripting, shownFor } from "../model/scripted.ts";
import type { Key } from "../lib/i18n.ts";
import type { ChatNode } from "../lib/wire.d.ts";
import type { Left, Part, Shown } from "../model/scripted.ts";

/** A displayed text. `isComing`: no result has arrived yet, and nothing was shown before. */
type Seen = Shown & { isChanged: boolean; isComing: boolean };

/**
 * Returns a text as changed by the scripts, outside a component but inside a signal effect.
 * @returns null if no result has arrived yet
 */
export function scriptedNow(node: ChatNode, part: Part, text: string): Shown | null {
  const by = scripting.value;
  const wish = by?.wish(node, part, text);
  if (!by || !wish) return { text, left: [] };
  by.ask(wish);
  return shownFor(wish);
}

export function useScripted(node: ChatNode, part: Part, text: string): Seen {
  const by = scripting.value;
  const wish = by?.wish(node, part, text) ?? null;
  const isSeen = useRef(false);
  useLayoutEffect(() => {
    if (wish) by?.ask(wish);
  }, [by, wish?.key]);
  const shown = wish ? shownFor(wish) : { text, left: [] };
  if (shown) isSeen.current = true;
  return {
    text: shown?.text ?? text,
    left: shown?.left ?? [],
    isChanged: shown !== null && shown.text !== text,
    isComing: !isSeen.current,
  };
}

const WORDS: Record<`${Left["why"]} ${Left["scope"]}`, Key> = {
  "slow card": "scripted.slowCard",
  "slow preset": "scripted.slowPreset",
  "slow global": "scripted.slowOwn",
  "large card": "scripted.largeCard",
  "large preset": "scripted.largePreset",
  "large global": "scripted.largeOwn",
};

/** Lists the scripts that were not applied to a text. */
export const LeftOut = ({ left }: { left: Left[] }) => (
  <>
    {left.map(({ name, scope, why }, i) => (
      <p key={i} class="aside skipped">
        {t(WORDS[`${why} ${scope}`], { name: name || t("scripted.nameless") })}
      </p>
    ))}
  </>
);
