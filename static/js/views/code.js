// The editor as a part of the page: a file's text, what is wrong with it, and where the keyboard goes.
import { html, useLayoutEffect, useRef } from "../../vendor/preact.js";
import "./code-editor.js";

/** @import { CodeEditor } from "./code-editor.js" */
/** @import { Known } from "../lib/complete.js" */
/** @import { ScriptError } from "../lib/wire.d.ts" */

/** A place in the text, counted from 1. `n` differs with each jump, so that one can jump to the same place again. @typedef {{line: number, column: number, n: number}} Place */

/**
 * @param {object} props
 * @param {CodeEditor["states"]} props.states the documents of before
 * @param {string} props.path
 * @param {string} props.label
 * @param {string} props.text
 * @param {(path: string, text: string) => void} props.put
 * @param {() => void} props.save
 * @param {ScriptError[]} props.faults of this file
 * @param {ScriptError | null} props.bad the one for which it cannot run
 * @param {Known | null} props.known
 * @param {Place | null} props.at where the keyboard goes
 */
export function Code({ states, path, label, text, put, save, faults, bad, known, at }) {
  const ref = useRef(/** @type {CodeEditor | null} */ (null));
  useLayoutEffect(() => {
    const editor = ref.current;
    if (editor) Object.assign(editor, { states, onText: put, onSave: save, known });
  });
  useLayoutEffect(() => ref.current?.show(path, text, label), [path, text]);
  const marks = faults.map((one) => [one.line, one.column, one.message, one === bad].join(" ")).join("\n");
  useLayoutEffect(() => ref.current?.mark(faults, bad), [path, marks]);
  useLayoutEffect(() => {
    if (at) ref.current?.go(at.line, at.column);
  }, [at?.n, path]);
  return html`<code-editor ref=${ref}></code-editor>`;
}

