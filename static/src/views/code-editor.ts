// The element in which the text of a plugin is written: CodeMirror in a shadow root, where its styles are constructed
// and no policy forbids them. It keeps one document a file, so that each has its own undo. Loaded with the workshop's
// first file.
import * as cm from "../../vendor/codemirror.js";
import { completions, explained } from "../lib/complete.ts";
import { t } from "../lib/i18n.ts";
import { json, rhai, toml } from "../lib/rhai.ts";
import { sentence } from "../lib/text.ts";
import { look, phrases } from "./code-look.ts";
import type { CompletionContext, Diagnostic } from "../../vendor/codemirror.js";
import type { Known } from "../lib/complete.ts";
import type { ScriptError } from "../lib/wire.d.ts";
import type { HTMLAttributes } from "../../vendor/preact.js";

const LANGUAGES: Record<string, cm.Extension> = {
  rhai: cm.StreamLanguage.define(rhai),
  toml: cm.StreamLanguage.define(toml),
  json: cm.StreamLanguage.define(json),
};

const languageOf = (path: string) => LANGUAGES[path.split(".").pop() ?? ""] ?? [];

/** The part of a text that differs. */
function difference(old: string, next: string) {
  let from = 0;
  const least = Math.min(old.length, next.length);
  while (from < least && old[from] === next[from]) from += 1;
  let end = 0;
  while (end < least - from && old[old.length - 1 - end] === next[next.length - 1 - end]) end += 1;
  return { from, to: old.length - end, insert: next.slice(from, next.length - end) };
}

/**
 * What is typed over a selection. Left to the browser, it keeps the look of what was there in a style that the policy
 * forbids.
 */
function typeOver({ inputType, data, isComposing }: InputEvent, view: cm.EditorView) {
  const { from, to, empty } = view.state.selection.main;
  if (inputType !== "insertText" || !data || isComposing || empty) return false;
  const insert = () =>
    view.state.update(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
  if (!view.state.facet(cm.EditorView.inputHandler).some((handle) => handle(view, from, to, data, insert)))
    view.dispatch(insert());
  return true;
}

/** The document as the page keeps it: lines end as the file's do. */
const textOf = (state: cm.EditorState, end: string) => state.doc.toString().replaceAll("\n", end);

export class CodeEditor extends HTMLElement {
  /** The documents by path; who shows the element again may give it those that it had. */
  states: Map<string, cm.EditorState> = new Map();
  #view: cm.EditorView | null = null;
  #path = "";
  #end = "\n";
  /** Says what was typed. */
  onText: (path: string, text: string) => void = () => {};
  /** Asks to save. */
  onSave = () => {};
  /** What can be written in a script; null until the server has told. */
  known: Known | null = null;

  /** The text as it stands. */
  get text() {
    return this.#view ? textOf(this.#view.state, this.#end) : "";
  }

  /** What is selected. */
  get selected() {
    const view = this.#view;
    return view ? view.state.sliceDoc(view.state.selection.main.from, view.state.selection.main.to) : "";
  }

  connectedCallback() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.replaceChildren();
    this.#view = new cm.EditorView({ parent: root, root });
    // From outside, what is typed in here looks as if it were typed at no field: to the page it would be its shortcuts.
    root.addEventListener("keydown", (event) => event.stopPropagation());
    const hint = document.createElement("p");
    hint.id = "leave";
    hint.className = "hint";
    hint.textContent = t("workshop.leave");
    root.append(hint);
  }

  disconnectedCallback() {
    if (this.#view && this.#path) this.states.set(this.#path, this.#view.state);
    this.#view?.destroy();
    this.#view = null;
  }

  /** Shows a file. A text that is another one than the document's comes in as a change, which undo takes back. */
  show(path: string, text: string, label: string) {
    const view = this.#view;
    if (!view) return;
    if (path !== this.#path) {
      if (this.#path) this.states.set(this.#path, view.state);
      this.#path = path;
      this.#end = text.includes("\r\n") ? "\r\n" : "\n";
      view.setState(this.states.get(path) ?? this.#begin(path, text, label));
    }
    const now = view.state.doc.toString();
    const next = text.replaceAll("\r\n", "\n");
    if (now !== next)
      view.dispatch({ changes: difference(now, next), annotations: cm.Transaction.userEvent.of("restore") });
  }

  /**
   * @param faults of this file
   * @param bad the one for which it cannot run
   */
  mark(faults: ScriptError[], bad: ScriptError | null) {
    const view = this.#view;
    if (!view) return;
    const marks = faults.map((fault) => this.#mark(view.state, fault, fault === bad));
    view.dispatch(
      cm.setDiagnostics(
        view.state,
        marks.sort((one, two) => one.from - two.from),
      ),
    );
  }

  /** Takes the keyboard to a place and selects the word there, or without a column the line. */
  go(line: number, column: number) {
    const view = this.#view;
    if (!view) return;
    const { from, to } = placeOf(view.state, line, column);
    view.dispatch({
      selection: { anchor: from, head: to },
      effects: cm.EditorView.scrollIntoView(from, { y: "center" }),
    });
    view.focus();
    this.scrollIntoView({ block: "nearest" });
  }

  #mark(state: cm.EditorState, fault: ScriptError, isBad: boolean): Diagnostic {
    return {
      ...placeOf(state, fault.line ?? 1, fault.column ?? 0),
      severity: isBad ? "error" : "warning",
      message: sentence(fault.message),
    };
  }

  #begin(path: string, text: string, label: string) {
    const isScript = path.endsWith(".rhai");
    const help = isScript
      ? [
          cm.autocompletion({ override: [(context) => this.#complete(context)], icons: false }),
          cm.hoverTooltip((view, at) => this.#explain(view, at)),
        ]
      : [];
    return cm.EditorState.create({
      doc: text,
      extensions: [
        [
          cm.lineNumbers(),
          cm.lintGutter(),
          cm.history(),
          cm.drawSelection(),
          cm.indentOnInput(),
          cm.bracketMatching(),
          cm.closeBrackets(),
          cm.search({ top: true }),
        ],
        [
          cm.highlightActiveLine(),
          cm.highlightActiveLineGutter(),
          cm.highlightSelectionMatches(),
          cm.EditorState.tabSize.of(4),
          cm.indentUnit.of("    "),
        ],
        [
          languageOf(path),
          help,
          look,
          cm.EditorState.phrases.of(phrases()),
          cm.EditorView.contentAttributes.of({
            "aria-label": label,
            "aria-describedby": "leave",
            tabindex: "0",
            spellcheck: "false",
            autocapitalize: "off",
          }),
        ],
        cm.keymap.of([
          { key: "Mod-s", preventDefault: true, run: () => (this.onSave(), true) },
          ...[cm.closeBracketsKeymap, cm.completionKeymap, cm.searchKeymap, cm.historyKeymap, cm.lintKeymap].flat(),
          // The first Escape that closes nothing lets Tab go on, the second leaves what is around.
          { key: "Escape", run: (view) => this.#letGo(view) },
          ...cm.defaultKeymap.filter(({ key }) => key !== "Escape"),
          cm.indentWithTab,
        ]),
        cm.EditorView.updateListener.of((update) => {
          if (update.docChanged) this.onText(path, textOf(update.state, this.#end));
        }),
        cm.EditorView.domEventHandlers({ blur: () => void (this.#isFree = false), beforeinput: typeOver }),
      ],
    });
  }

  #isFree = false;

  #letGo(view: cm.EditorView) {
    if (this.#isFree) return false;
    this.#isFree = true;
    view.setTabFocusMode(60_000);
    return true;
  }

  #complete(context: CompletionContext) {
    if (!this.known) return null;
    const line = context.state.doc.lineAt(context.pos);
    const answer = completions(
      line.text.slice(0, context.pos - line.from),
      context.state.doc.toString(),
      this.known,
      context.explicit,
    );
    return answer && { ...answer, from: line.from + answer.from, validFor: /^[\w/-]*$/ };
  }

  #explain(view: cm.EditorView, at: number) {
    const line = view.state.doc.lineAt(at);
    const found = this.known && explained(line.text, at - line.from, this.known.reference);
    if (!found) return null;
    const create = () => {
      const dom = document.createElement("div");
      dom.className = "told";
      const code = document.createElement("code");
      code.textContent = found.signature + (found.result && ` → ${found.result}`);
      const words = document.createElement("p");
      words.textContent = found.description;
      dom.append(code, words);
      return { dom };
    };
    return { pos: line.from + found.from, end: line.from + found.to, above: true, create };
  }
}

/** Where a fault stands: its word, or without a column its line. */
function placeOf(state: cm.EditorState, line: number, column: number) {
  const { from, to, text } = state.doc.line(Math.min(Math.max(1, line), state.doc.lines));
  if (column <= 0) return { from, to };
  const start = Math.min(from + column - 1, to);
  const word = /^[\w:]*/.exec(text.slice(start - from))?.[0].length ?? 0;
  return { from: start, to: Math.min(start + word, to) };
}

customElements.define("code-editor", CodeEditor);

declare module "preact" {
  namespace JSX {
    interface IntrinsicElements {
      "code-editor": HTMLAttributes<CodeEditor>;
    }
  }
}
