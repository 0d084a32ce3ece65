// Text that models and cards write for machines (`<UpdateVariable>`…) and that is not displayed. Pure. The server
// removes it from complete texts (`display`). This file removes it from growing texts and quotes. The page does not
// know the configured tags (`hide_tags`), so these are the documented defaults. Thoughts (`<think>`) are not among
// them: the server parts them from growing texts too.
import { plainText } from "./text.ts";

const TAGS = ["UpdateVariable", "JSONPatch", "json_patch", "initvar", "StatusBlock"];
const PANEL = "StatusPlaceHolderImpl";

/** Placeholders of a status panel. */
const PLACES = new RegExp(`</?${PANEL}[ /]*>`, "gi");
/** The start of a possible placeholder. */
const HALF_PLACE = new RegExp(`^</?${PANEL}[ /]*$`, "i");

/** Removes the blocks of these tags. An unclosed block is removed to the end of the text. */
function withoutBlocks(text: string) {
  const opening = new RegExp(`<(${TAGS.join("|")})(?=[\\s>])`, "gi");
  let out = "";
  let at = 0;
  for (let found = opening.exec(text); found; found = opening.exec(text)) {
    out += text.slice(at, found.index);
    const closing = new RegExp(`</${found[1]}>`, "gi");
    closing.lastIndex = found.index;
    at = closing.exec(text) ? closing.lastIndex : text.length;
    opening.lastIndex = at;
  }
  return at === 0 ? text : out + text.slice(at);
}

/** Whether a text may be the start of a hidden tag. */
function isHalf(end: string) {
  const name = end.slice(end.startsWith("</") ? 2 : 1).toLowerCase();
  return (
    HALF_PLACE.test(end) ||
    PANEL.toLowerCase().startsWith(name) ||
    (end[1] !== "/" && TAGS.some((tag) => tag.toLowerCase().startsWith(name)))
  );
}

/**
 * Returns the displayed part of a growing text. It never contains what is removed at the end, so displayed text stays.
 */
export function visiblePart(text: string) {
  const shown = withoutBlocks(text);
  const last = shown.lastIndexOf("<");
  const whole = last >= 0 && isHalf(shown.slice(last)) ? shown.slice(0, last) : shown;
  const left = whole.replace(PLACES, "");
  return shown === text && left === whole ? left : left.trimStart();
}

/** Returns the text of a message on one line, for a quote. The quoted text may end inside a tag. */
export const quoteText = (text: string) => plainText(visiblePart(text)).trim();
