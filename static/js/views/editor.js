// A text of code with the numbers of its lines; those where something is wrong are marked, and can be jumped to.
import { html, useLayoutEffect, useRef } from "../../vendor/preact.js";

/** A place in the text, counted from 1. `n` differs with each jump, so that one can jump to the same place again. @typedef {{line: number, column: number, n: number}} Place */

/** Where a line begins, and where it ends. @param {string} text @param {number} line */
function lineAt(text, line) {
  const lines = text.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return { start: Math.min(start, text.length), end: Math.min(start + (lines[line - 1] ?? "").length, text.length) };
}

/**
 * @param {object} props
 * @param {string} props.label
 * @param {string} props.text
 * @param {(text: string) => void} props.put
 * @param {Map<number, "bad" | "odd">} props.marks by line
 * @param {Place | null} props.at where the keyboard goes
 */
export function Editor({ label, text, put, marks, at }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const gutter = useRef(/** @type {HTMLElement | null} */ (null));
  const follow = () => {
    if (gutter.current && field.current) gutter.current.scrollTop = field.current.scrollTop;
  };
  useLayoutEffect(follow, [text]);
  useLayoutEffect(() => {
    const box = field.current;
    if (!box || !at) return;
    const { start, end } = lineAt(box.value, at.line);
    const from = Math.min(start + Math.max(0, at.column - 1), end);
    box.focus({ preventScroll: true });
    // Without a column the whole line is meant.
    box.setSelectionRange(at.column > 0 ? from : start, at.column > 0 ? wordEnd(box.value, from) : end);
    const tall = parseFloat(getComputedStyle(box).lineHeight);
    box.scrollTop = Math.max(0, (at.line - 1) * tall - box.clientHeight / 2);
    box.scrollIntoView({ block: "nearest" });
    follow();
  }, [at?.n]);
  const count = text.split("\n").length;
  return html`<div class="editor"><ol ref=${gutter} class="gutter" aria-hidden="true">${Array.from({ length: count }, (_, i) => html`<li key=${i} class=${marks.get(i + 1) ?? ""}>${i + 1}</li>`)}</ol>
    <textarea ref=${field} class="code" aria-label=${label} wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off" rows="18" value=${text}
      onScroll=${follow} onInput=${(/** @type {Event} */ event) => put(/** @type {HTMLTextAreaElement} */ (event.target).value)}></textarea></div>`;
}

/** The end of the word at a place, so that it is seen. @param {string} text @param {number} from */
const wordEnd = (text, from) => from + (/^[\w:]*/.exec(text.slice(from))?.[0].length ?? 0);
