// Types of vendor/codemirror.js: the packages' own, found through the paths of static/tsconfig.json.
export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, snippet, startCompletion } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentWithTab, toggleComment } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting, syntaxTree } from "@codemirror/language";
export { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
export { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from "@codemirror/search";
export { Compartment, EditorSelection, EditorState, Prec, Transaction } from "@codemirror/state";
export { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
export { tags } from "@lezer/highlight";
export type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
export type { StreamParser, StringStream } from "@codemirror/language";
export type { Diagnostic } from "@codemirror/lint";
export type { Extension } from "@codemirror/state";
