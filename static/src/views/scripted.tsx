// Texts as scripts of cards, presets and the reader show them.
import { Fragment, h, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { scripting, shownFor } from "../model/scripted.ts";
import type { Key } from "../lib/i18n.ts";
import type { ChatNode } from "../lib/wire.d.ts";
import type { Left, Part, Shown } from "../model/scripted.ts";

/** A text as it is shown. `isComing`: it has not been made yet, and nothing of it was seen. */
type Seen = Shown & { isChanged: boolean; isComing: boolean };

/**
 * Outside of a component, where what it reads is followed.
 * @returns null: it has not been made yet
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

/** Which scripts had no part in a text. */
export const LeftOut = ({ left }: { left: Left[] }) => (
  <>
    {left.map(({ name, scope, why }, i) => (
      <p key={i} class="aside skipped">
        {t(WORDS[`${why} ${scope}`], { name: name || t("scripted.nameless") })}
      </p>
    ))}
  </>
);
