// The element that edits the files of a plugin: CodeMirror in a shadow root. There its styles are constructed style
// sheets, which the content security policy does not forbid. Each file has its own document, so that each has its own
// undo. Loaded with the first file of the workshop.
import * as cm from "../../vendor/codemirror.js";
import { completions, explanationAt } from "../lib/completion.ts";
import { t } from "../lib/i18n.ts";
import { json, rhai, toml } from "../lib/rhai.ts";
import { scriptErrorText } from "../lib/script-error-text.ts";
import { codeTheme, phrases } from "./code-theme.ts";
import type { CompletionContext, Diagnostic } from "../../vendor/codemirror.js";
import type { PluginContext } from "../lib/completion.ts";
import type { ScriptError } from "../lib/wire.d.ts";
import type { HTMLAttributes } from "../../vendor/preact.js";

const LANGUAGES: Record<string, cm.Extension> = {
  rhai: cm.StreamLanguage.define(rhai),
  toml: cm.StreamLanguage.define(toml),
  json: cm.StreamLanguage.define(json),
};

const languageOf = (path: string) => LANGUAGES[path.split(".").pop() ?? ""] ?? [];

/** Returns the one change that turns the old text into the new one. */
function difference(old: string, next: string) {
  let from = 0;
  const least = Math.min(old.length, next.length);
  while (from < least && old[from] === next[from]) from += 1;
  let end = 0;
  while (end < least - from && old[old.length - 1 - end] === next[next.length - 1 - end]) end += 1;
  return { from, to: old.length - end, insert: next.slice(from, next.length - end) };
}

/**
 * Replaces the selection by the typed text. The browser would keep the look of the old text in an inline style, which
 * the content security policy forbids.
 * @returns whether the input is handled
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

/** Returns the text of a document with the line ends of its file. */
const textOf = (state: cm.EditorState, end: string) => state.doc.toString().replaceAll("\n", end);

export class CodeEditor extends HTMLElement {
  /** The documents by path. Whoever shows the element again can pass its previous ones. */
  states: Map<string, cm.EditorState> = new Map();
  #view: cm.EditorView | null = null;
  #path = "";
  #end = "\n";
  /** Called with the whole text after each change. */
  onText: (path: string, text: string) => void = () => {};
  /** Called when the user wants to save. */
  onSave = () => {};
  /** The names that a script can use, for completion and help; null until the server has sent them. */
  known: PluginContext | null = null;

  /** The current text. */
  get text() {
    return this.#view ? textOf(this.#view.state, this.#end) : "";
  }

  /** The selected text. */
  get selected() {
    const view = this.#view;
    return view ? view.state.sliceDoc(view.state.selection.main.from, view.state.selection.main.to) : "";
  }

  connectedCallback() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.replaceChildren();
    this.#view = new cm.EditorView({ parent: root, root });
    // Outside the shadow root, the target of a key press is not a text field. The page would take it for a shortcut.
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

  /** Shows a file. A text that differs from the document is put in as a change, which the user can undo. */
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
   * Marks the faults of the file.
   * @param bad the fault that stops it from running
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

  /** Moves the focus to a place and selects the word there; without a column, the line. */
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
      message: scriptErrorText(fault),
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
          codeTheme,
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
          // The first Escape that closes nothing lets Tab move the focus. The second one reaches the dialog around.
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
    const found = this.known && explanationAt(line.text, at - line.from, this.known.reference);
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

/** Returns the range of a fault: its word; without a column, its line. */
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
