// Marks the words in which messages side by side differ, if they are versions of one text. The DOM stays unchanged: the
// browser paints the marks as highlights.
import { diffWords } from "../lib/word-diff.ts";
import type { Range } from "../lib/word-diff.ts";

/** Name of the highlight in the style sheet. */
const NAME = "differs";

/** Returns the text of an element, and its text nodes with their offsets in it. */
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

/** Returns the ranges that differ. The n-th message of one list is compared with the n-th of the other. */
function rangesIn(one: Element, two: Element) {
  const texts = (list: Element) => [...list.querySelectorAll(":scope > li .prose")].map(textsIn);
  const others = texts(two);
  return texts(one).flatMap((mine, i) => {
    const other = others[i];
    const found = other && mine.text !== other.text ? diffWords(mine.text, other.text) : null;
    return found && other
      ? [...found[0].map((part) => rangeOf(mine, part)), ...found[1].map((part) => rangeOf(other, part))]
      : [];
  });
}

/**
 * Marks the differing words.
 * @param box the element with two lists of messages
 * @returns a function that removes the marks
 */
export function highlightDifferences(box: Element | null): () => void {
  const [one, two] = box?.querySelectorAll("ol.contents") ?? [];
  if (!one || !two || !("highlights" in CSS)) return () => {};
  CSS.highlights.set(NAME, new Highlight(...rangesIn(one, two)));
  return () => void CSS.highlights.delete(NAME);
}
