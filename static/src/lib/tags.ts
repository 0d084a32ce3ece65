// What models and cards write for machines (`<think>`, `<UpdateVariable>`…): not shown to readers. Pure. The server
// leaves the same out of what is complete (`display`); here it is left out of a text that still grows, and of what is
// quoted. The page is not told which tags a host set (`hide_tags`), so these are the documented ones.
import { plain } from "./text.ts";

const TAGS = ["think", "thinking", "UpdateVariable", "JSONPatch", "json_patch", "initvar", "StatusBlock"];
const PANEL = "StatusPlaceHolderImpl";

/** The place of a status panel. */
const PLACES = new RegExp(`</?${PANEL}[ /]*>`, "gi");
/** What may become a place. */
const HALF_PLACE = new RegExp(`^</?${PANEL}[ /]*$`, "i");

/** A text without the blocks of these tags; a block that is not closed is left out to the end. */
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

/** Whether a text may be the beginning of a tag that is not shown. */
function isHalf(end: string) {
  const name = end.slice(end.startsWith("</") ? 2 : 1).toLowerCase();
  return (
    HALF_PLACE.test(end) ||
    PANEL.toLowerCase().startsWith(name) ||
    (end[1] !== "/" && TAGS.some((tag) => tag.toLowerCase().startsWith(name)))
  );
}

/** What is shown of a text that still grows: nothing that would be gone at its end. What is shown once stays. */
export function growing(text: string) {
  const shown = withoutBlocks(text);
  const last = shown.lastIndexOf("<");
  const whole = last >= 0 && isHalf(shown.slice(last)) ? shown.slice(0, last) : shown;
  const left = whole.replace(PLACES, "");
  return shown === text && left === whole ? left : left.trimStart();
}

/** The words of a message, on one line, as a quotation begins with them; the quoted text may end within a tag. */
export const quoted = (text: string) => plain(growing(text)).trim();
