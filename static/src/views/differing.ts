// Marks the words in which messages beside each other differ, where they are versions of one text. Nothing of the text
// is touched: the browser paints the marks over it.
import { differing } from "../lib/differ.ts";
import type { Range } from "../lib/differ.ts";

/** The name that the style sheet knows them by. */
const NAME = "differs";

/** The texts in an element, one behind the other. */
function textsIn(box: Element) {
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  const found = [];
  let [text, at] = ["", 0];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const words = node.nodeValue ?? "";
    found.push({ node, at });
    text += words;
    at += words.length;
  }
  return { found, text };
}

function rangeOf({ found }: ReturnType<typeof textsIn>, { start, end }: Range) {
  const of = (place: number) => found.findLast(({ at }) => at <= place);
  const [first, last] = [of(start), of(end - 1)];
  const range = new Range();
  if (first) range.setStart(first.node, start - first.at);
  if (last) range.setEnd(last.node, end - last.at);
  return range;
}

/** Of each list the n-th message with the n-th of the other one. */
function rangesIn(one: Element, two: Element) {
  const texts = (list: Element) => [...list.querySelectorAll(":scope > li .prose")].map(textsIn);
  const others = texts(two);
  return texts(one).flatMap((mine, i) => {
    const other = others[i];
    const found = other && mine.text !== other.text ? differing(mine.text, other.text) : null;
    return found && other
      ? [...found[0].map((part) => rangeOf(mine, part)), ...found[1].map((part) => rangeOf(other, part))]
      : [];
  });
}

/**
 * @param box with two lists of messages
 * @returns takes the marks away
 */
export function markDiffering(box: Element | null): () => void {
  const [one, two] = box?.querySelectorAll("ol.contents") ?? [];
  if (!one || !two || !("highlights" in CSS)) return () => {};
  CSS.highlights.set(NAME, new Highlight(...rangesIn(one, two)));
  return () => void CSS.highlights.delete(NAME);
}
