// Texts as scripts of cards, presets and the reader show them.
import { html, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { t } from "../lib/i18n.js";
import { scripting, shownFor } from "../model/scripted.js";

/** @import { Key } from "../lib/i18n.js" */
/** @import { ChatNode } from "../lib/wire.d.ts" */
/** @import { Left, Part, Shown } from "../model/scripted.js" */

/** A text as it is shown. `isComing`: it has not been made yet, and nothing of it was seen. @typedef {Shown & {isChanged: boolean, isComing: boolean}} Seen */

/** Outside of a component, where what it reads is followed. @param {ChatNode} node @param {Part} part @param {string} text @returns {Shown | null} null: it has not been made yet */
export function scriptedNow(node, part, text) {
  const by = scripting.value;
  const wish = by?.wish(node, part, text);
  if (!by || !wish) return { text, left: [] };
  by.ask(wish);
  return shownFor(wish);
}

/** @param {ChatNode} node @param {Part} part @param {string} text @returns {Seen} */
export function useScripted(node, part, text) {
  const by = scripting.value;
  const wish = by?.wish(node, part, text) ?? null;
  const isSeen = useRef(false);
  useLayoutEffect(() => {
    if (wish) by?.ask(wish);
  }, [by, wish?.key]);
  const shown = wish ? shownFor(wish) : { text, left: [] };
  if (shown) isSeen.current = true;
  return { text: shown?.text ?? text, left: shown?.left ?? [], isChanged: shown !== null && shown.text !== text, isComing: !isSeen.current };
}

/** @type {Record<`${Left["why"]} ${Left["scope"]}`, Key>} */
const WORDS = {
  "slow card": "scripted.slowCard",
  "slow preset": "scripted.slowPreset",
  "slow global": "scripted.slowOwn",
  "large card": "scripted.largeCard",
  "large preset": "scripted.largePreset",
  "large global": "scripted.largeOwn",
};

/** Which scripts had no part in a text. @param {{left: Left[]}} props */
export const LeftOut = ({ left }) => html`${left.map(({ name, scope, why }, i) => html`<p key=${i} class="aside skipped">${t(WORDS[`${why} ${scope}`], { name: name || t("scripted.nameless") })}</p>`)}`;
