// The editor as a component: the text of a file, its faults, and the place of the focus.
import { h, useLayoutEffect, useRef } from "../../vendor/preact.js";
import "./code-editor.ts";
import type { CodeEditor } from "./code-editor.ts";
import type { PluginContext } from "../lib/completion.ts";
import type { ScriptError } from "../lib/wire.d.ts";

/** A place in the text, counted from 1. `n` differs for each jump, so that the same place can be jumped to again. */
export interface Place {
  line: number;
  column: number;
  n: number;
}

interface CodeProps {
  /** The documents that an earlier editor had. */
  states: CodeEditor["states"];
  path: string;
  label: string;
  text: string;
  onChange: (path: string, text: string) => void;
  onSave: () => void;
  /** The faults of this file. */
  faults: ScriptError[];
  /** The fault that stops the file from running. */
  bad: ScriptError | null;
  known: PluginContext | null;
  /** The place to move the focus to. */
  at: Place | null;
}

export function Code({ states, path, label, text, onChange, onSave, faults, bad, known, at }: CodeProps) {
  const ref = useRef<CodeEditor | null>(null);
  useLayoutEffect(() => {
    const editor = ref.current;
    if (editor) Object.assign(editor, { states, onText: onChange, onSave, known });
  });
  useLayoutEffect(() => ref.current?.show(path, text, label), [path, text]);
  const marks = faults.map((one) => [one.line, one.column, one.message, one === bad].join(" ")).join("\n");
  useLayoutEffect(() => ref.current?.mark(faults, bad), [path, marks]);
  useLayoutEffect(() => {
    if (at) ref.current?.go(at.line, at.column);
  }, [at?.n, path]);
  return <code-editor ref={ref} />;
}
